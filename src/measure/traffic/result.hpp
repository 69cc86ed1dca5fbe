// What a run of synthetic traffic found, as plain data: `result.json`, the CSV tables and the report are
// written from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::measure {

/// A distribution of times, in cycles.
struct Latency {
  std::uint64_t packets = 0;
  double mean = 0, p50 = 0, p99 = 0, p999 = 0, max = 0;
  /// Past saturation it grows as long as one looks: these are not figures of the network then, and not shown.
  bool growing = false;
  /// Packets by time: bucket i counts times in [bucket_start(i), bucket_start(i + 1)), see
  /// measure/histogram.hpp.
  std::vector<std::uint64_t> histogram;
};

/// Flits on the link a port sends to, over the measured time.
struct LinkUse {
  std::uint32_t port = 0;  // global number of the sending port
  double utilisation = 0;  // of what the cable can carry
};

/// Where flits stood waiting, averaged over the measured time.
struct WaitingPlace {
  std::string place;  // "input buffers of leaf", "source queues"
  double flits = 0;
  double fullest_share = 0;  // of the fullest one's capacity
};

/// Something that happened to the machine during a run.
struct FaultNote {
  std::uint64_t cycle = 0;
  std::string what;
};

/// What a cable that can fail has been through, both directions together.
struct CableErrors {
  std::uint32_t port = 0;          // global number, one end
  std::uint64_t bits_damaged = 0;  // on the wire
  std::uint64_t errors = 0;        // flits found damaged
  std::uint64_t sent = 0, sent_again = 0;
  std::uint64_t timeouts = 0, trainings = 0, deaths = 0;
  unsigned lanes_up = 0;
  unsigned fullest_told = 0;  // flits in an end's buffer, as its control frames told the other
  unsigned ill_told = 0;      // dead links of an end's node, as they told
  double effective = 0;       // of its full rate: lanes that are up, less what went again
};

/// A slice of a run with faults.
struct FaultSlice {
  std::uint64_t until = 0;  // cycle
  double accepted = 0;      // flits per sender and cycle
  double mean_latency = 0;  // of packets that arrived, in cycles
};

/// What faults did to a run.
struct FaultOutcome {
  bool link_layer = false;  // cables could fail, and had one
  std::vector<FaultNote> timeline;
  std::vector<CableErrors> cables;
  std::vector<FaultSlice> slices;                                // only with a script
  std::uint64_t undeliverable = 0, taken_back = 0, damaged = 0;  // packets
  std::vector<std::string>
      cut_off;          // pairs with undeliverable packets, the first few: "e3 -> e7: 12 packets"
  std::string routing;  // in force at the end
};

/// One load of a sweep.
struct TrafficPoint {
  double offered = 0;    // flits per endpoint and cycle, asked for
  double generated = 0;  // ... made by the sources in the measured time
  double accepted = 0;   // ... delivered
  double refused = 0;    // ... made by sources whose queue was full
  double injected = 0;   // ... that went into the network
  bool filling = false;  // more went in than came out: buffers were not full yet, and throughput may change
  std::uint64_t completion_cycles =
      0;                       // of a batch: when its last packet arrived; 0 where sources have no end
  Latency packet;              // from creation to the last flit's arrival
  double mean_half_width = 0;  // of the 95% confidence interval of its mean, in cycles
  Latency network;             // from the first flit's leaving the source
  double mean_routers = 0;     // crossed
  bool saturated = false;      // sources make more than the network takes
  bool stalled = false;        // nothing moved any more; `stall` says who waits for whom
  std::vector<std::string> stall;
  std::string unmeasured;  // why there are no figures, and what to ask for; empty: there are
  std::uint64_t warmup_cycles = 0, measured_cycles = 0;
  bool steady = true;                        // the warm-up test was passed before its limit
  double fairness = 1;                       // Jain's index over what each source got through
  double least_source = 0, most_source = 0;  // flits per cycle accepted of the worst and the best source
  std::vector<LinkUse> links;                // every router-to-router link, by port
  std::vector<float> use_of_slices;          // by link: in equal slices of the measured time; or of none
  std::vector<WaitingPlace> waiting;
  FaultOutcome faults;
  std::uint64_t flit_hops = 0;
  double seconds = 0;  // it took to find this out

  /// Of a link of `links`: its utilisation in slices of the measured time.
  std::span<const float> over_time(const LinkUse& link) const {
    if (use_of_slices.empty()) return {};
    const std::size_t slices = use_of_slices.size() / links.size();
    return std::span(use_of_slices).subspan(static_cast<std::size_t>(&link - links.data()) * slices, slices);
  }
};

struct TrafficResult {
  std::string machine, pattern, source, packet_flits, command, version;
  std::uint64_t seed = 1;
  std::uint64_t batch = 0;                   // packets each source makes in all; 0: no end
  std::uint32_t endpoints = 0, senders = 0;  // senders: those the pattern lets send; loads are per sender
  unsigned threads = 1;                      // of each engine, in each process
  unsigned ranks = 1;                        // processes that ran the machine together
  double cycle_ns = 0;                       // length of a cycle
  double flit_bytes = 0;
  std::vector<std::pair<std::string, std::string>> settings;  // the effective configuration
  std::vector<TrafficPoint> points;                           // in order of load
  std::vector<double> loads;  // asked for; points stop short of them past saturation or where interrupted
  bool stopped_past_saturation = false;
  bool interrupted = false;
  double seconds = 0;
};

}  // namespace weft::measure
