// The networks the EXTOLL R1 paper (002_b7c7371ed2ee2981.txt) compares itself with: table I, figures 3 and 4.
#include "measure/lab/benchmarks.hpp"
#include "measure/validate/osu_rates.hpp"

namespace weft::measure {

namespace {

std::vector<PairsRate> reference(Trial& trial, const std::string& network, double published,
                                 const std::vector<unsigned>& pairs, const std::string& about) {
  std::vector<PairsRate> rates = rates_over_pairs(trial, pairs, {{4, published}});
  const double most = highest(rates);
  trial.give("C2", network + " message rate", most);
  trial.give("C2", network + " wire", static_cast<double>(lab::wire_bytes(trial.machine(), 8)));
  show_rate_anatomy(trial, network, most);
  peak_over_sizes(trial, about, {8, published}, {});
  return rates;
}

void infiniband(Trial& trial) {
  auto rates = reference(trial, "IB-QDR", 6.67,
                         trial.quick ? std::vector{3u, 4u, 6u} : std::vector{1u, 2u, 3u, 4u, 5u, 6u},
                         "Up to 8 KiB into a ring of the pair, beyond that fetched.");
  trial.give("V-EX1-03", "IB-QDR saturated", saturating(rates), "fewest pairs with 97% of the highest rate");
}
void ethernet(Trial& trial) {
  reference(trial, "10GE", 0.66, trial.quick ? std::vector{4u, 8u} : std::vector{1u, 2u, 4u, 8u},
            "Each is a system call and goes through the kernel.");
}

WEFT_REGISTER(ExperimentKind, {"infiniband-qdr/message-rate",
                               29,
                               "infiniband-qdr",
                               {{"C2", "IB-QDR message rate", "sustained message rate of MPI, 8 B", "M/s",
                                 6.67, percent_off(3), Basis::Calibrated, true, "002 table I"},
                                {"C2", "IB-QDR wire", "wire taken by an MPI message of 8 B", "B", 56,
                                 points_off(0), Basis::Structure, true, "002 table I, without gaps"},
                                {"V-EX1-03",
                                 "IB-QDR saturated",
                                 "pairs needed to saturate the message rate",
                                 "pairs",
                                 4,
                                 points_off(0),
                                 Basis::Predicted,
                                 true,
                                 "002 section V.A, figure 4",
                                 {"C2"},
                                 kPairsInStep}},
                               infiniband});

WEFT_REGISTER(ExperimentKind, {"ethernet-10g/message-rate",
                               29,
                               "ethernet-10g",
                               {{"C2", "10GE message rate", "sustained message rate of MPI, 8 B", "M/s", 0.66,
                                 percent_off(3), Basis::Calibrated, true, "002 table I"},
                                {"C2", "10GE wire", "wire taken by an MPI message of 8 B", "B", 114,
                                 points_off(0), Basis::Structure, true, "002 table I, without gaps"}},
                               ethernet});

}  // namespace

}  // namespace weft::measure
