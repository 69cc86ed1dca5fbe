#include "measure/validate/osu_rates.hpp"

#include <algorithm>

#include "machine/description.hpp"

namespace weft::measure {

std::vector<PairsRate> rates_over_pairs(Trial& trial, const std::vector<unsigned>& pairs,
                                        std::vector<std::pair<double, double>> published) {
  Plot plot{"Message rate over pairs",
            trial.machine_name(),
            "Messages of 8 B between two nodes, MPI, windows of 64 that are answered.",
            "pairs of processes",
            "million messages/s",
            false,
            false,
            {{"ours", Series::Look::Ours, {}}}};
  std::vector<PairsRate> rates;
  for (unsigned count : pairs) {
    rates.push_back(
        {count, run_pairs(trial, {.pairs = count}, {"rate", "64", "4"}, {8}).front().second * 1e-6});
    plot.series[0].points.emplace_back(count, rates.back().rate);
  }
  plot.series.push_back({"published", Series::Look::Published, std::move(published)});
  trial.plots.push_back(std::move(plot));
  return rates;
}

double peak_over_sizes(Trial& trial, const std::string& about, std::pair<double, double> published_rate,
                       std::vector<std::pair<double, double>> published_peak) {
  auto plot = [&](const char* title, const std::string& text, const char* unit) {
    return Plot{
        title, trial.machine_name(), text, "bytes", unit, true, false, {{"ours", Series::Look::Ours, {}}}};
  };
  Plot rate =
      plot("Message rate over size", "Four pairs of processes on two nodes, MPI.", "million messages/s");
  Plot bandwidth = plot("Bandwidth over size", "The same messages. " + about, "MB/s");
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 1; bytes <= (trial.quick ? 1u << 16 : 1u << 18); bytes *= trial.quick ? 16 : 2)
    sizes.push_back(bytes);
  double peak = 0;
  for (auto [bytes, each] : run_pairs(trial, {.pairs = 4}, {"rate", "64", trial.quick ? "1" : "2"}, sizes)) {
    rate.series[0].points.emplace_back(bytes, each * 1e-6);
    bandwidth.series[0].points.emplace_back(bytes, each * bytes * 1e-6);
    peak = std::max(peak, each * bytes * 1e-6);
  }
  rate.series.push_back({"published", Series::Look::Published, {published_rate}});
  if (!published_peak.empty())
    bandwidth.series.push_back({"published peak", Series::Look::Published, std::move(published_peak)});
  trial.plots.push_back(std::move(rate));
  trial.plots.push_back(std::move(bandwidth));
  return peak;
}

double highest(const std::vector<PairsRate>& rates) {
  return std::max_element(rates.begin(), rates.end(), [](auto& a, auto& b) { return a.rate < b.rate; })->rate;
}

unsigned saturating(const std::vector<PairsRate>& rates) {
  auto enough = std::find_if(rates.begin(), rates.end(),
                             [most = highest(rates)](const PairsRate& r) { return r.rate >= 0.97 * most; });
  return enough->pairs;
}

void show_rate_anatomy(Trial& trial, const std::string& network, double rate) {
  const double net = static_cast<double>(trial.description().cables.front().rate().value);
  trial.show(network + " net speed", net * 1e-9);
  trial.show(network + " peak rate", net / 64 * 1e-6);
  trial.show(network + " calculated overhead", net / 8 / (rate * 1e6));
}

}  // namespace weft::measure
