// What the EXTOLL R1 paper (002_b7c7371ed2ee2981.txt) measured with two applications, and what it made of it.
#include <fmt/format.h>

#include "measure/lab/benchmarks.hpp"
#include "measure/predict/predict.hpp"
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

void random_access(Trial& trial) {
  lab::RandomUpdates how;
  how.updates = trial.quick ? 2048 : 8192;
  lab::ApplicationResult r = lab::random_updates(trial.machine(), how);
  trial.give("V-EX1-07", "updates", r.per_second() * 1e-9);
  trial.give("V-EX1-07", "time in MPI", 100 * r.library_share);
  trial.give("V-EX1-10", "", r.per_second() * 1e-9 / (1 - r.library_share),
             "the paper's extrapolation to an ASIC is where no time is left in MPI");
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/random-access",
                               24,
                               "extoll-r1",
                               {{"V-EX1-07", "updates", "HPCC RandomAccess, 64 processes on 8 nodes", "GUPS",
                                 0.20853, percent_off(10), Basis::Calibrated, true, "table IV"},
                                {"V-EX1-07", "time in MPI", "share of the time spent in MPI", "%", 89,
                                 points_off(3), Basis::Calibrated, true, "section VI.B"},
                                {"V-EX1-10",
                                 "",
                                 "RandomAccess where communication takes no time",
                                 "GUPS",
                                 1.895,
                                 percent_off(10),
                                 Basis::Derived,
                                 true,
                                 "table IV, ASIC",
                                 {"V-EX1-07 updates", "V-EX1-07 time in MPI"}}},
                               random_access});

void weather(Trial& trial) {
  lab::HaloExchange how;
  lab::ApplicationResult r = lab::halo_exchange(trial.machine(), how);
  trial.give("V-EX1-08", "speed", r.per_second() * 1e-9,
             "an exchange of 4 KiB with four neighbours, assumed");
  trial.give("V-EX1-08", "time in MPI", 100 * r.library_share);
  trial.give("V-EX1-12", "", r.per_second() * 1e-9 / (1 - r.library_share),
             "the paper's extrapolation to an ASIC is where no time is left in MPI");
}

WEFT_REGISTER(ExperimentKind, {"extoll-r1/weather",
                               25,
                               "extoll-r1",
                               {{"V-EX1-08", "speed", "WRF, 64 processes on 8 nodes", "GFLOP/s", 48.50262,
                                 percent_off(5), Basis::Calibrated, true, "table IV"},
                                {"V-EX1-08", "time in MPI", "share of the time spent in MPI", "%", 45,
                                 points_off(3), Basis::Calibrated, true, "section VI.B"},
                                {"V-EX1-12",
                                 "",
                                 "WRF where communication takes no time",
                                 "GFLOP/s",
                                 88.161,
                                 percent_off(5),
                                 Basis::Derived,
                                 true,
                                 "table IV, ASIC",
                                 {"V-EX1-08 speed", "V-EX1-08 time in MPI"}}},
                               weather});

// ---- the paper's extrapolation, by its own method

const std::vector<std::string> kUpdates{"V-EX1-07 updates", "V-EX1-07 time in MPI"},
    kWeather{"V-EX1-08 speed", "V-EX1-08 time in MPI"};

void extrapolation(Trial& trial) {
  PredictOptions options;
  options.machine = trial.machine_name();
  options.settings = trial.settings();
  options.vary = "frequency=117MHz,125MHz,140MHz,156MHz";
  options.beyond = {300.0 * 64 / (156 * 32), 2400.0 / 156};
  options.run_beyond = false;
  for (const char* name : {"random-access", "weather"}) options.workloads.push_back(built_in_workload(name));
  Prediction p = predict(options);
  const WorkloadPrediction &updates = p.workloads[0], &weather = p.workloads[1];
  std::string note =
      "an exponential fit of the time in MPI over four clocks, as in the paper; what really scales gives ";
  trial.give("V-EX1-09", "", updates.base * updates.beyond[0].exponential,
             fmt::format("{}{:.3f} GUPS", note, updates.base * updates.beyond[0].mechanistic));
  trial.give("V-EX1-10", "by frequency", updates.base * updates.beyond[1].exponential);
  trial.give("V-EX1-11", "", weather.base * weather.beyond[0].exponential,
             fmt::format("{}{:.1f} GFLOP/s", note, weather.base * weather.beyond[0].mechanistic));
  trial.give("V-EX1-12", "by frequency", weather.base * weather.beyond[1].exponential);
}

WEFT_REGISTER(ExperimentKind,
              {"extoll-r1/extrapolation",
               27,
               "extoll-r1",
               {{"V-EX1-09", "", "RandomAccess extrapolated to 300 MHz and 64 bit", "GUPS", 1.538,
                 percent_off(12), Basis::Predicted, false, "table IV, frequency variation", kUpdates},
                {"V-EX1-10", "by frequency", "RandomAccess extrapolated to 1538% of the frequency", "GUPS",
                 1.896, percent_off(12), Basis::Predicted, false, "table IV, frequency variation", kUpdates},
                {"V-EX1-11", "", "WRF extrapolated to 300 MHz and 64 bit", "GFLOP/s", 79.319, percent_off(12),
                 Basis::Predicted, false, "table IV, frequency variation", kWeather},
                {"V-EX1-12", "by frequency", "WRF extrapolated to 1538% of the frequency", "GFLOP/s", 88.180,
                 percent_off(12), Basis::Predicted, false, "table IV, frequency variation", kWeather}},
               extrapolation});

}  // namespace

}  // namespace weft::measure
