// What Linux nodes cost: to boot, to sleep, to send, and 64 of them at once; and to use a disk of another
// node.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "app/bench.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

std::vector<std::string> nodes(unsigned count, const std::string& script) {
  return {"boot", "extoll-tourmalet", "-n", std::to_string(count), "--quiet", "--", "/bin/sh", "-c", script};
}

/// The better of two: others use the machine too.
Cost boot(unsigned count, const std::string& script, bool weigh) {
  Cost best = run_weft(nodes(count, script), weigh);
  const Cost again = run_weft(nodes(count, script), weigh);
  best.fine = best.fine && again.fine;
  best.cpu = std::min(best.cpu, again.cpu);
  best.wall = std::min(best.wall, again.wall);
  best.most_bytes = std::min(best.most_bytes, again.most_bytes);
  best.below_bytes = std::min(best.below_bytes, again.below_bytes);
  return best;
}

struct Limits {
  double seconds;
  std::uint64_t bytes = 0;  // 0: none
};

void tell(const std::string& name, double seconds, std::uint64_t bytes, bool fine, Limits limits,
          app::BenchResults& results) {
  Json figures{{"cpu_seconds", seconds}, {"limit_seconds", limits.seconds}};
  if (limits.bytes) {
    figures["memory_bytes"] = bytes;
    figures["limit_bytes"] = limits.bytes;
  }
  if (!fine) figures["error"] = "a run failed";
  results.add({name, figures, fine && seconds <= limits.seconds && (!limits.bytes || bytes <= limits.bytes)});
}

/// One node of greenice that has a disk on another node.
Cost use_disk(const std::string& node, const std::string& engine, const std::string& script) {
  return run_weft({"boot", "greenice", "-n", "1", "--quiet", "--engine", engine, "--set",
                   "node.device.ssd.kind=nvme", "--set", "node.device.ssd.nodes=[" + node + "]",
                   "--accelerators", "nvme=1", "--", "/bin/sh", "-c", script},
                  false);
}

void run_accelerators(app::BenchResults& results) {
  // Configuration is 4 KiB, which the kernel reads by four bytes.
  constexpr unsigned kTimes = 20, kReads = kTimes * 1024;
  constexpr const char* kFiveHopsAway = "22";
  auto reads = [](unsigned times) {
    return "for i in $(seq " + std::to_string(times) +
           "); do cat /sys/bus/pci/devices/0000:00:00.0/config >/dev/null; done";
  };
  for (const char* engine : {"flit", "ideal"}) {
    const std::string name = std::string("a read of a register five hops away, ") + engine + " engine";
    if (!results.wants(name)) continue;
    const Cost none = use_disk(kFiveHopsAway, engine, reads(0));
    Cost many = use_disk(kFiveHopsAway, engine, reads(kTimes));
    const Cost again = use_disk(kFiveHopsAway, engine, reads(kTimes));
    many.own_cpu = std::min(many.own_cpu, again.own_cpu);
    const double us = std::max(0.0, many.own_cpu - none.own_cpu) * 1e6 / kReads;
    const bool fine = none.fine && many.fine && again.fine;
    Json figures{{"simulator_us", us}, {"limit_us", 20.0}};
    if (!fine) figures["error"] = "a run failed";
    results.add({name, figures, fine && us <= 20.0});
  }
  for (const char* engine : {"flit", "ideal"}) {
    const std::string name =
        std::string("512 MiB written to a disk one hop away and read again, ") + engine + " engine";
    if (!results.wants(name)) continue;
    const Cost gib = use_disk("1", engine,
                              "dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=512 oflag=direct 2>/dev/null && "
                              "dd if=/dev/nvme0n1 of=/dev/null bs=1M count=512 iflag=direct 2>/dev/null");
    tell(name, gib.cpu, 0, gib.fine, {60}, results);
  }
}

void boot_and_sleep(app::BenchResults& results) {
  const std::string boots = "a node boots and turns itself off", sleeps = "an hour of sleep, beyond that";
  const bool boots_wanted = results.wants(boots), sleeps_wanted = results.wants(sleeps);
  if (!boots_wanted && !sleeps_wanted) return;
  const Cost one = boot(1, "true", true);
  tell(boots, one.cpu, one.below_bytes, one.fine, {2, 40 * kMebibyte}, results);
  if (!sleeps_wanted) return;
  const Cost hour = boot(1, "sleep 3600", false);
  tell(sleeps, std::max(0.0, hour.cpu - one.cpu), 0, one.fine && hour.fine, {1}, results);
}

void send_over_tcp(app::BenchResults& results) {
  const std::string name = "8 MiB over TCP between two nodes, beyond their boot";
  if (!results.wants(name)) return;
  const Cost two = boot(2, "sleep 20", false);
  const Cost stream = boot(
      2,
      "if [ $NODE = 1 ]; then iperf3 -s -1; else sleep 1; iperf3 -c node1 -n 8M; fi >/dev/null && sleep 10",
      false);
  tell(name, std::max(0.0, stream.cpu - two.cpu), 0, two.fine && stream.fine, {3}, results);
}

void run(app::BenchResults& results) {
  boot_and_sleep(results);
  send_over_tcp(results);
  const std::string name = "64 nodes boot, and each pings the next";
  if (!results.wants(name)) return;
  const Cost ring =
      run_weft(nodes(64, "sleep 1; ping -q -c 1 node$(((NODE + 1) % NODES)) >/dev/null && sleep 5"), true);
  tell(name, ring.cpu, ring.most_bytes, ring.fine, {90, 3 * 1024 * kMebibyte}, results);
}

WEFT_REGISTER(app::Bench, {"accelerators", "processor time of a Linux node that uses a disk of another node",
                           run_accelerators, "cpu_seconds"});

WEFT_REGISTER(app::Bench,
              {"boot", "processor time and memory of Linux nodes (needs iperf3)", run, "cpu_seconds"});

}  // namespace

}  // namespace weft::bench
