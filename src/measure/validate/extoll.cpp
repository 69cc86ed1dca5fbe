// The figures of the EXTOLL R1 paper (002_b7c7371ed2ee2981.txt).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/lab/benchmarks.hpp"
#include "measure/predict/clock_scaling.hpp"
#include "measure/validate/osu_rates.hpp"

namespace weft::measure {

namespace {

using lab::PairSetup;

// ---- message rate and bandwidth

void message_rate(Trial& trial) {
  std::vector<PairsRate> rates = rates_over_pairs(trial, {1, 2, 3, 4, 5, 6, 7, 8}, {{4, 9.73}, {8, 9.73}});
  const double most = highest(rates);
  const unsigned enough = saturating(rates);
  double unanswered = run_pairs(trial, {.pairs = 4}, {"rate", "512", "2"}, {8}).front().second * 1e-6;
  trial.give("V-EX1-01", "", rates[3].rate,
             fmt::format("four pairs; {:.2f} M/s with windows of 512", unanswered));
  trial.give("V-EX1-01", "highest", most, "up to eight pairs");
  trial.give("V-EX1-03", "saturated", enough, "fewest pairs with 97% of the highest rate");
  double least = most;
  for (const PairsRate& r : rates)
    if (r.pairs >= enough) least = std::min(least, r.rate);
  trial.give("V-EX1-03", "beyond", 100 * least / most, "the lowest rate with that many pairs or more");
  machine::Machine m = trial.machine();
  trial.give("C1", "", static_cast<double>(lab::wire_bytes(m, 8)));
  PairSetup four;
  four.pairs = 4;
  trial.give("C3", "", static_cast<double>(m.description.core.clock.value) / lab::message_rate(m, four, 8),
             "of the interface, without MPI's answers");
  show_rate_anatomy(trial, "EXTOLL", most);
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/message-rate",
                               20,
                               "extoll-r1",
                               {{"V-EX1-01",
                                 "",
                                 "message rate of MPI, 8 B, four pairs",
                                 "M/s",
                                 9.73,
                                 percent_off(2),
                                 Basis::Predicted,
                                 true,
                                 "table I, section V.A",
                                 {"V-EX1-02"},
                                 kPairsInStep},
                                {"V-EX1-01",
                                 "highest",
                                 "message rate of MPI, 8 B, the highest",
                                 "M/s",
                                 9.73,
                                 percent_off(2),
                                 Basis::Predicted,
                                 true,
                                 "table I, section V.A",
                                 {"V-EX1-02"}},
                                {"V-EX1-03",
                                 "saturated",
                                 "pairs needed to saturate the message rate",
                                 "pairs",
                                 4,
                                 points_off(0),
                                 Basis::Predicted,
                                 true,
                                 "section V.A, figure 4",
                                 {"V-EX1-02"},
                                 kPairsInStep},
                                {"V-EX1-03",
                                 "beyond",
                                 "message rate with more pairs, of the highest",
                                 "%",
                                 100,
                                 points_off(3),
                                 Basis::Predicted,
                                 true,
                                 "section V.A, figure 4",
                                 {"V-EX1-02"}},
                                {"C1", "", "wire taken by an MPI message of 8 B", "B", 64, points_off(0),
                                 Basis::Structure, true, "table I"},
                                {"C3", "", "cycles of the core for each message at that rate", "cycles",
                                 16.03, percent_off(2), Basis::Calibrated, true, "table I"}},
                               message_rate});

void bandwidth(Trial& trial) {
  trial.give(
      "V-EX1-02", "",
      peak_over_sizes(trial,
                      "Up to 2 KiB they travel in small messages of 64 B, beyond that they are fetched in "
                      "packets of 128 B.",
                      {8, 9.73}, {{1 << 14, 480}, {1 << 18, 480}}));
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/bandwidth",
                               21,
                               "extoll-r1",
                               {{"V-EX1-02", "", "peak bandwidth in the message rate test", "MB/s", 480,
                                 percent_off(5), Basis::Calibrated, true, "section V.A"}},
                               bandwidth});

// ---- faster chips

void faster_chips(Trial& trial) {
  auto rate = [&](std::vector<std::string> settings) {
    return run_pairs(trial, {.pairs = 8, .settings = std::move(settings)}, {"rate", "64", "4"}, {8})
        .front()
        .second;
  };
  double now = rate({});
  trial.give("V-EX1-13", "Virtex-6", 100 * rate({"core.clock=300MHz", "core.width=8B"}) / now,
             "300 MHz, 64 bit");
  trial.give("V-EX1-13", "ASIC", 100 * rate({"core.clock=800MHz", "core.width=16B"}) / now,
             "800 MHz, 128 bit");
}

const Figure::Open kProcessorsLimit{
    "eight processes of this machine's processor post 26 million messages a second and no more; the paper's "
    "figure is "
    "of the chip alone",
    "a benchmark that posts without a processor's costs, or a faster processor"};

WEFT_REGISTER(ExperimentKind, {"extoll-r1/faster-chips",
                               28,
                               "extoll-r1",
                               {{"V-EX1-13",
                                 "Virtex-6",
                                 "message rate of a faster chip, of today's",
                                 "%",
                                 400,
                                 percent_off(10),
                                 Basis::Predicted,
                                 true,
                                 "table II",
                                 {"V-EX1-02"},
                                 kProcessorsLimit},
                                {"V-EX1-13",
                                 "ASIC",
                                 "message rate of an ASIC, of today's chip",
                                 "%",
                                 1000,
                                 percent_off(10),
                                 Basis::Predicted,
                                 true,
                                 "table II",
                                 {"V-EX1-02"},
                                 kProcessorsLimit}},
                               faster_chips});

// ---- one hop

void hop(Trial& trial) {
  machine::Machine m = trial.machine();
  PairSetup near, far;
  near.engine = far.engine = "flit";
  far.nodes = {{0, 3}};  // one more ring to cross
  trial.give("V-EX1-04", "", lab::message_latency_ns(m, far, 8) - lab::message_latency_ns(m, near, 8),
             "two hops less one, flit by flit");
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/hop",
                               22,
                               "extoll-r1",
                               {{"V-EX1-04", "", "latency of a further hop", "ns", 300, percent_off(2),
                                 Basis::Calibrated, true, "section V: about 300 ns"}},
                               hop});

// ---- core clock

struct ClockRow {
  int mhz;
  double rate, bandwidth, latency;
};
constexpr ClockRow kTableThree[] = {
    {140, 88.62, 92.64, 93.16}, {125, 79.21, 85.23, 87.18}, {117, 74.61, 80.89, 83.79}};

void core_clock(Trial& trial) {
  ClockScaling base = clock_scaling(trial.machine(), trial.quick);
  Plot plot{"What the core clock drives",
            "extoll-r1",
            "Message rate, bandwidth and latency (its inverse), each compared with 156 MHz and averaged over "
            "all message "
            "sizes. Dots: Table III of the paper.",
            "core clock, % of 156 MHz",
            "% of the value at 156 MHz",
            false,
            false,
            {}};
  Series ours[3] = {{"message rate", Series::Look::Ours, {{100, 100}}},
                    {"bandwidth", Series::Look::Ours, {{100, 100}}},
                    {"latency", Series::Look::Ours, {{100, 100}}}};
  Series published{"published", Series::Look::Published, {}};
  for (const ClockRow& row : kTableThree) {
    ClockScaling at = clock_scaling(trial.machine({fmt::format("core.clock={}MHz", row.mhz)}), trial.quick);
    std::array<double, 3> relative = compared(at, base);
    std::array<double, 3> paper{row.rate, row.bandwidth, row.latency};
    const char* names[3] = {"message rate", "bandwidth", "latency"};
    for (std::size_t i = 0; i < 3; ++i) {
      trial.give("V-EX1-06", fmt::format("{} at {} MHz", names[i], row.mhz), 100 * relative[i]);
      ours[i].points.emplace_back(row.mhz / 1.56, 100 * relative[i]);
      published.points.emplace_back(row.mhz / 1.56, paper[i]);
    }
  }
  plot.series = {ours[0], ours[1], ours[2], published};
  trial.plots.push_back(std::move(plot));
}

std::vector<Figure> clock_figures() {
  std::vector<Figure> out;
  for (const ClockRow& row : kTableThree) {
    auto add = [&](const char* what, double published) {
      out.push_back({"V-EX1-06",
                     fmt::format("{} at {} MHz", what, row.mhz),
                     fmt::format("{}, compared with 156 MHz", what),
                     "%",
                     published,
                     points_off(2),
                     Basis::Predicted,
                     true,
                     "table III",
                     {"V-EX1-02", "V-EX1-03 saturated", "V-EX1-04"}});
    };
    add("message rate", row.rate);
    add("bandwidth", row.bandwidth);
    add("latency", row.latency);
  }
  return out;
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/core-clock", 23, "extoll-r1", clock_figures(), core_clock});

}  // namespace

}  // namespace weft::measure
