#include "measure/predict/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/networks.hpp"
#include "measure/predict/clock_scaling.hpp"
#include "measure/predict/fit.hpp"

namespace weft::measure {

double scaling_share(const std::vector<double>& factors, const std::vector<double>& times,
                     bool more_is_better) {
  // T - 1 = s (1/x - 1): one unknown, through the machine as it is.
  double up = 0, down = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    double x = (more_is_better ? 1 / factors[i] : factors[i]) - 1;
    up += x * (times[i] - 1);
    down += x * x;
  }
  return down > 0 ? up / down : 0;
}

namespace {

double mechanistic_time(double share, double factor, bool more_is_better) {
  return 1 - share + share * (more_is_better ? 1 / factor : factor);
}

/// b of a time of communication that goes as exp(-b (x - 1)), least squares of its logarithm. Pauses leave
/// the machine as it is out, as the paper does: the first pause takes the processor's time where the wire was
/// the limit.
double exponent_of(const std::vector<WorkloadPrediction::Point>& points, double library_share, bool pauses) {
  std::vector<std::array<double, 2>> rows;
  std::vector<double> logs;
  for (const auto& p : points) {
    if (pauses && p.factor == 1 && points.size() > 2) continue;
    double communication = 1 / p.relative - (1 - library_share);
    if (communication <= 0) continue;
    rows.push_back({1, p.factor});
    logs.push_back(std::log(communication));
  }
  return rows.size() < 2 ? 0 : -least_squares(rows, logs)[1];
}

double exponential_time(const WorkloadPrediction& w, double factor) {
  return 1 - w.library_share + w.library_share * std::exp(-w.exponent * (factor - 1));
}

class Predictor {
 public:
  explicit Predictor(const PredictOptions& o)
      : o_(o),
        base_(machine::build(machine::describe(o.machine, o.settings))),
        variation_(read_variation(o.vary, base_.description)) {
    machine::refuse_networks(base_.description, "weft predict");
    factors_ = variation_.factors;
    if (std::find(factors_.begin(), factors_.end(), 1.0) == factors_.end()) factors_.push_back(1);
    std::sort(factors_.begin(), factors_.end());
    steps_ = (o.benchmarks ? factors_.size() : 0) +
             o.workloads.size() * (factors_.size() + (can_run_beyond() ? o.beyond.size() : 0));
  }

  Prediction run() {
    Prediction out;
    out.machine = base_.description.identity.name;
    out.variation = variation_;
    if (o_.benchmarks) run_benchmarks(out);
    for (const PredictWorkload& workload : o_.workloads) out.workloads.push_back(run_workload(workload));
    return out;
  }

 private:
  bool can_run_beyond() const { return o_.run_beyond && variation_.property != Property::MessageRate; }

  machine::Machine at(double factor, unsigned per_node) const {
    std::vector<std::string> settings = o_.settings;
    for (std::string& s : settings_for(variation_, base_, factor, per_node)) settings.push_back(std::move(s));
    return machine::build(machine::describe(o_.machine, settings));
  }

  void done(const std::string& what) {
    ++done_;
    if (o_.progress) o_.progress(what, done_, steps_);
  }

  void run_benchmarks(Prediction& out) {
    ClockScaling base = clock_scaling(base_, false);
    std::vector<double> factors, times[3];
    for (double factor : factors_) {
      std::array<double, 3> relative{1, 1, 1};
      if (factor != 1) relative = compared(clock_scaling(at(factor, 8), false), base);
      out.benchmarks.push_back({factor, relative[0], relative[1], relative[2]});
      factors.push_back(factor);
      for (std::size_t i = 0; i < 3; ++i) times[i].push_back(1 / relative[i]);
      done("benchmarks");
    }
    for (std::size_t i = 0; i < 3; ++i)
      out.shares[i] = scaling_share(factors, times[i], variation_.more_is_better());
  }

  WorkloadPrediction run_workload(const PredictWorkload& workload) {
    WorkloadPrediction out;
    out.name = workload.name;
    out.unit = workload.unit;
    auto performance = [](const WorkloadResult& r) { return (r.work > 0 ? r.work : 1) / r.seconds; };
    WorkloadResult base = workload.run(base_);
    double base_performance = performance(base);
    out.base = workload.unit.empty() ? base.seconds : base_performance * workload.unit_factor;
    out.library_share = base.library_share;
    out.bound = base.library_share < 1 ? 1 / (1 - base.library_share) : 0;
    std::vector<double> times;
    for (double factor : factors_) {
      WorkloadResult r = factor == 1 ? base : workload.run(at(factor, workload.per_node));
      out.points.push_back({factor, performance(r) / base_performance, r.library_share});
      times.push_back(base_performance / performance(r));
      done(workload.name);
    }
    bool more = variation_.more_is_better();
    // Computing does not follow the network, however well a fit over a narrow range would say so.
    out.share = std::min(scaling_share(factors_, times, more), out.library_share);
    double squares = 0;
    for (std::size_t i = 0; i < times.size(); ++i)
      squares += std::pow(mechanistic_time(out.share, factors_[i], more) / times[i] - 1, 2);
    out.residual = std::sqrt(squares / static_cast<double>(times.size()));
    out.exponent = exponent_of(out.points, out.library_share, variation_.property == Property::MessageRate);
    for (double factor : o_.beyond) {
      Extrapolation e{factor, 1 / mechanistic_time(out.share, factor, more),
                      1 / exponential_time(out, factor)};
      if (can_run_beyond()) {
        e.simulated = performance(workload.run(at(factor, workload.per_node))) / base_performance;
        done(workload.name);
      }
      out.beyond.push_back(e);
    }
    return out;
  }

  const PredictOptions& o_;
  machine::Machine base_;
  Variation variation_;
  std::vector<double> factors_;
  std::size_t done_ = 0, steps_ = 0;
};

}  // namespace

Prediction predict(const PredictOptions& options) { return Predictor(options).run(); }

}  // namespace weft::measure
