// What the EXTOLL R1 paper (002_b7c7371ed2ee2981.txt) measured with two applications, and what it made of it.
#include <fmt/format.h>

#include <cmath>

#include "measure/lab/workload_file.hpp"
#include "measure/predict/predict.hpp"
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

void random_access(Trial& trial) {
  lab::RandomUpdates how = lab::random_access_workload();
  if (trial.quick) how.updates /= 4;
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
  lab::HaloExchange how = lab::weather_workload();
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

Prediction predicted(const Trial& trial, const char* vary, std::vector<double> beyond) {
  PredictOptions options;
  options.machine = trial.machine_name();
  options.settings = trial.settings();
  options.vary = vary;
  options.beyond = std::move(beyond);
  options.run_beyond = false;
  for (const char* name : {"random-access", "weather"}) options.workloads.push_back(built_in_workload(name));
  return predict(options);
}

/// Run time over what was varied, in its parts.
Plot parts_plot(const char* title, const char* x_label, const char* about, const WorkloadPrediction& w) {
  Plot plot{title,
            "extoll-r1",
            about,
            x_label,
            "% of the run time as it is",
            false,
            false,
            {{"communication", Series::Look::Ours, {}}, {"computation", Series::Look::Ours, {}}}};
  for (const auto& p : w.points) {
    plot.series[0].points.emplace_back(100 * p.factor, 100 * p.library_share / p.relative);
    plot.series[1].points.emplace_back(100 * p.factor, 100 * (1 - p.library_share) / p.relative);
  }
  return plot;
}

struct Published {
  double base, rate_fpga, rate_asic, frequency_fpga, frequency_asic;
};

/// Both fits of the paper, and the rings of its table IV.
Plot fits_plot(const char* title, const char* unit, const WorkloadPrediction& by_rate,
               const WorkloadPrediction& by_frequency, const Published& table) {
  Plot plot{title,
            "extoll-r1",
            "An exponential through the time in MPI, drawn to 1600%. What gets faster with 1/x, as time "
            "does, gives "
            "less: the third line.",
            "message rate or frequency, % of today's",
            unit,
            false,
            false,
            {{"by message rate", Series::Look::Ours, {}},
             {"by frequency", Series::Look::Ours, {}},
             {"time with 1/x, by frequency", Series::Look::Fit, {}}}};
  for (double factor = 1; factor <= 16; factor += 0.5) {
    auto exponential = [&](const WorkloadPrediction& w) {
      return w.base / (1 - w.library_share + w.library_share * std::exp(-w.exponent * (factor - 1)));
    };
    plot.series[0].points.emplace_back(100 * factor, exponential(by_rate));
    plot.series[1].points.emplace_back(100 * factor, exponential(by_frequency));
    plot.series[2].points.emplace_back(
        100 * factor, by_frequency.base / (1 - by_frequency.share + by_frequency.share / factor));
  }
  plot.series.push_back({"published, table IV",
                         Series::Look::Published,
                         {{100, table.base},
                          {400, table.rate_fpga},
                          {1000, table.rate_asic},
                          {384, table.frequency_fpga},
                          {1538, table.frequency_asic}}});
  return plot;
}

double relative_at(const WorkloadPrediction& w, double factor) {
  for (const auto& p : w.points)
    if (std::abs(p.factor - factor) < 1e-9) return p.relative;
  WEFT_CHECK(false, "a point that was asked for was run");
}

void extrapolation(Trial& trial) {
  Prediction clock =
      predicted(trial, "frequency=117MHz,125MHz,140MHz,156MHz", {300.0 * 64 / (156 * 32), 2400.0 / 156});
  Prediction rate = predicted(trial, "message-rate=70%,80%,90%,95%", {4, 10});
  const WorkloadPrediction &updates = clock.workloads[0], &weather = clock.workloads[1],
                           &updates_by_rate = rate.workloads[0], &weather_by_rate = rate.workloads[1];
  auto give = [&](const char* id, const char* point, const WorkloadPrediction& w, std::size_t beyond,
                  const char* what) {
    trial.give(
        id, point, w.base * w.beyond[beyond].exponential,
        fmt::format("an exponential fit of the time in MPI over {}, as in the paper; time that goes with 1/x "
                    "gives {:.4g}",
                    what, w.base * w.beyond[beyond].mechanistic));
  };
  give("V-EX1-09", "", updates, 0, "four clocks");
  give("V-EX1-10", "by frequency", updates, 1, "four clocks");
  give("V-EX1-11", "", weather, 0, "four clocks");
  give("V-EX1-12", "by frequency", weather, 1, "four clocks");
  give("V-EX1-09", "by message rate", updates_by_rate, 0, "pauses");
  give("V-EX1-10", "by message rate", updates_by_rate, 1, "pauses");
  give("V-EX1-11", "by message rate", weather_by_rate, 0, "pauses");
  give("V-EX1-12", "by message rate", weather_by_rate, 1, "pauses");
  trial.give("V-EX1-14", "70%", 100 * relative_at(updates_by_rate, 0.7) / relative_at(updates_by_rate, 0.95));
  trial.give("V-EX1-14", "first step", 100 - 100 * relative_at(updates_by_rate, 0.95),
             "published is a lower bound: more than the message rate loses");
  trial.plots.push_back(parts_plot("RandomAccess over message rate", "message rate, % of the highest",
                                   "64 processes on 8 nodes; pauses after each send.", updates_by_rate));
  trial.plots.push_back(parts_plot("RandomAccess over frequency", "core clock, % of 156 MHz",
                                   "64 processes on 8 nodes; another clock of the chip.", updates));
  trial.plots.push_back(fits_plot("RandomAccess extrapolated", "GUPS", updates_by_rate, updates,
                                  {0.20853, 1.452, 1.895, 1.538, 1.896}));
  trial.plots.push_back(fits_plot("WRF extrapolated", "GFLOP/s", weather_by_rate, weather,
                                  {48.50262, 81.833, 88.161, 79.319, 88.180}));
}

std::vector<Figure> extrapolation_figures() {
  std::vector<Figure> out;
  auto add = [&](const char* id, const char* point, const char* what, const char* unit, double published,
                 const char* method, const std::vector<std::string>& from) {
    out.push_back({id, point, what, unit, published, percent_off(12), Basis::Predicted, false,
                   fmt::format("table IV, {} variation", method), from});
  };
  add("V-EX1-09", "", "RandomAccess extrapolated to 300 MHz and 64 bit", "GUPS", 1.538, "frequency",
      kUpdates);
  add("V-EX1-09", "by message rate", "the same to four times the message rate", "GUPS", 1.452, "message rate",
      kUpdates);
  add("V-EX1-10", "by frequency", "RandomAccess extrapolated to 1538% of the frequency", "GUPS", 1.896,
      "frequency", kUpdates);
  add("V-EX1-10", "by message rate", "the same to ten times the message rate", "GUPS", 1.895, "message rate",
      kUpdates);
  add("V-EX1-11", "", "WRF extrapolated to 300 MHz and 64 bit", "GFLOP/s", 79.319, "frequency", kWeather);
  add("V-EX1-11", "by message rate", "the same to four times the message rate", "GFLOP/s", 81.833,
      "message rate", kWeather);
  add("V-EX1-12", "by frequency", "WRF extrapolated to 1538% of the frequency", "GFLOP/s", 88.180,
      "frequency", kWeather);
  add("V-EX1-12", "by message rate", "the same to ten times the message rate", "GFLOP/s", 88.161,
      "message rate", kWeather);
  out.push_back(
      {"V-EX1-14", "70%", "RandomAccess at 70% of the message rate, of that at 95%", "%", 100 * 70 / 95.0,
       points_off(5), Basis::Predicted, false, "section VI.B, figure 5: proportional from 95% to 70%",
       kUpdates,
       Figure::Open{"a third is lost in the first step, which the paper left out as unexplained; of what "
                    "is left, a part is waiting for others and does not follow the rate",
                    "how the paper's pauses were made, and its curve in numbers"}});
  out.push_back({"V-EX1-14", "first step", "RandomAccess lost from 100% to 95% of the message rate", "%", 5,
                 at_least(), Basis::Predicted, false, "section VI.B, figure 5: a sharp drop", kUpdates});
  return out;
}

WEFT_REGISTER(ExperimentKind,
              {"extoll-r1/extrapolation", 27, "extoll-r1", extrapolation_figures(), extrapolation});

}  // namespace

}  // namespace weft::measure
