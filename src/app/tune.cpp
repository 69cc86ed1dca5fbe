// `weft tune`: up to which size the interfaces run collectives faster than software.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "machine/networks.hpp"
#include "measure/run/collective_table.hpp"
#include "measure/validate/mpi_pairs.hpp"

namespace weft::app {

namespace {

struct Options {
  MachineOptions machine;
  unsigned ranks = 64;
  std::string engine = "flit", out;
};

const std::vector<std::string> kSizes{"8", "64", "256", "512", "1024", "2048", "4096"};

/// By collective and bytes: nanoseconds.
using Times = std::map<std::pair<std::string, std::int64_t>, double>;

Times measure_times(const Options& o, unsigned ranks, const std::string& how) {
  std::vector<std::string> words{o.machine.machine, "-n", std::to_string(ranks), "--engine", o.engine,
                                 "--collectives",   how};
  for (const std::string& setting : o.machine.settings) words.insert(words.end(), {"--set", setting});
  std::istringstream lines(measure::run_validation_program(words, "collectives", kSizes));
  Times out;
  std::string name;
  std::int64_t bytes = 0;
  for (double time = 0; lines >> name >> bytes >> time;) out[{name, bytes}] = time;
  return out;
}

int run(const Options& o) {
  machine::Description d = o.machine.describe();
  machine::refuse_networks(d, "weft tune");
  if (!d.nic.triggers)
    throw UserError({{d.origin("nic.triggers"), "nic.triggers",
                      fmt::format("is 0: the interfaces of {} run no collectives, there is nothing to tune",
                                  d.identity.name)}});
  std::string table =
      fmt::format("# weft tune {} --ranks {}: bytes up to which the interfaces are faster\n{}\n",
                  o.machine.machine, o.ranks, measure::kCollectiveTableHead);
  fmt::print("{:<12} {:>8} {:>12} {:>14} {:>14}\n", "collective", "members", "bytes", "software, ns",
             "offload, ns");
  for (unsigned ranks = 2; ranks <= o.ranks; ranks *= 2) {
    const Times software = measure_times(o, ranks, "software"), offload = measure_times(o, ranks, "offload");
    for (unsigned i = 0; i < abi::kOffloaded; ++i) {
      std::int64_t most = -1;
      bool faster = true;
      for (const auto& [key, time] : software) {
        auto other = offload.find(key);
        if (key.first != measure::kCollectiveNames[i] || other == offload.end()) continue;
        fmt::print("{:<12} {:>8} {:>12} {:>14.0f} {:>14.0f}\n", key.first, ranks, key.second, time,
                   other->second);
        faster = faster && other->second < time;
        if (faster) most = key.second;
      }
      table += measure::collective_table_line(static_cast<abi::Offloaded>(i), ranks, most);
    }
  }
  const std::string path = o.out.empty() ? d.identity.name + ".collectives.csv" : o.out;
  write_file(path, table);
  fmt::print("{}: for weft run --collectives auto --table {}\n", path, path);
  return 0;
}

std::function<int()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("-n,--ranks", o->ranks, "Most members; 2, 4, 8 and so on are measured up to it")
      .option_text("N [64]")
      .range(2, 16'384);
  app.add_option("--engine", o->engine, "How the network is simulated, as for `weft run`")
      .option_text("NAME [flit]");
  app.add_option("--out", o->out, "File for the table").option_text("FILE [MACHINE.collectives.csv]");
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb,
              {"tune", "measure which collectives the interfaces run faster than software", 7, declare});

}  // namespace

}  // namespace weft::app
