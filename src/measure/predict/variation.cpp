// Which settings of a machine make its message rate, clock, latency or bandwidth another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "machine/description.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/predict/predict.hpp"

namespace weft::measure {

namespace {

constexpr const char* kNames[] = {"message-rate", "frequency", "latency", "bandwidth"};

/// A setting as it is in force, parsed as a quantity; 0 where there is none.
template <class Q>
std::int64_t setting(const machine::Description& d, const std::string& key) {
  for (const config::Setting& s : d.settings)
    if (s.key == key) {
      std::string text = s.value, error;
      std::erase(text, '"');
      return parse_quantity(quantity_kind<Q>(), text, error).value_or(0);
    }
  return 0;
}

std::optional<double> percent_of(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0)) return std::nullopt;
  if (std::string(end) == "%") return value / 100;
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

std::string scaled_time(const std::string& key, Time time, double factor) {
  return fmt::format("{}={}ps", key, std::llround(static_cast<double>(time.value) * factor));
}

constexpr std::uint64_t kShortMessage = 8, kLongMessage = 4096;

/// A pause after each message of this size that lowers the rate of all processes of a node together to a
/// share of its highest.
double pause_ps(const machine::Machine& m, std::uint64_t bytes, double factor, unsigned processes_per_node) {
  lab::PairSetup setup;
  setup.pairs = std::max(1u, processes_per_node);
  double all = lab::message_rate(m, setup, bytes);
  setup.pairs = 1;
  double alone = lab::message_rate(m, setup, bytes);
  return std::max(0.0, (processes_per_node / (factor * all) - 1 / alone) * 1e12);
}

}  // namespace

std::string Variation::name() const { return kNames[static_cast<std::size_t>(property)]; }

Variation read_variation(const std::string& text, const machine::Description& d) {
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  auto at = std::find(names.begin(), names.end(), name);
  Diagnostics problems;
  if (at == names.end() || equals == std::string::npos) {
    problems.add({}, "--vary",
                 fmt::format("expected {}=VALUE,VALUE,..., got '{}'{}", join(names, "|"), text,
                             did_you_mean(name, names)));
    problems.throw_if_any();
  }
  Variation out;
  out.property = static_cast<Property>(at - names.begin());
  out.text = name;
  std::int64_t clock = setting<Frequency>(d, "core.clock");
  if (out.property == Property::Frequency && clock == 0)
    problems.add(
        d.origin("core.clock"), "core.clock",
        fmt::format("{} has no clock of its chip that could be varied; give [core] clock and nominal_clock",
                    d.identity.name));
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    std::optional<double> factor = percent_of(part);
    std::string error;
    if (!factor && out.property == Property::Frequency && clock > 0)
      if (auto hertz = parse_quantity(quantity_kind<Frequency>(), part, error); hertz && *hertz > 0)
        factor = static_cast<double>(*hertz) / static_cast<double>(clock);
    if (!factor || *factor > 1e4)
      problems.add(
          {}, "--vary",
          fmt::format("expected a share such as 80%{}, got '{}'",
                      out.property == Property::Frequency ? " or a clock such as 125MHz" : "", part));
    else if (out.property == Property::MessageRate && *factor > 1)
      problems.add({}, "--vary",
                   fmt::format("a message rate can only be lowered, by pauses; got '{}'", part));
    else
      out.factors.push_back(*factor);
  }
  problems.throw_if_any();
  std::sort(out.factors.begin(), out.factors.end());
  return out;
}

std::vector<std::string> settings_for(const Variation& v, const machine::Machine& m, double factor,
                                      unsigned processes_per_node) {
  const machine::Description& d = m.description;
  std::vector<std::string> out;
  if (factor == 1) return out;
  switch (v.property) {
    case Property::Frequency:
      out.push_back(
          fmt::format("core.clock={}Hz",
                      std::llround(static_cast<double>(setting<Frequency>(d, "core.clock")) * factor)));
      break;
    case Property::Bandwidth:
      for (const topology::CableType& cable : d.cables) {
        auto rate = setting<DataRate>(d, fmt::format("cable.{}.lane_rate", cable.name));
        out.push_back(fmt::format("cable.{}.lane_rate={}bps", cable.name,
                                  std::llround(static_cast<double>(rate) * factor)));
        out.push_back(fmt::format("cable.{}.fallback_rates=[]", cable.name));
      }
      break;
    case Property::Latency:
      for (const topology::CableType& cable : d.cables)
        out.push_back(scaled_time(fmt::format("cable.{}.delay", cable.name),
                                  {setting<Time>(d, fmt::format("cable.{}.delay", cable.name))}, factor));
      for (const char* key : {"router.latency", "nic.send_latency", "nic.receive_latency"})
        out.push_back(scaled_time(key, {setting<Time>(d, key)}, factor));
      break;
    case Property::MessageRate: {
      // A part for each message and a part for each KiB, so that short and long messages come at the share
      // asked for.
      const double small = pause_ps(m, kShortMessage, factor, processes_per_node),
                   large = pause_ps(m, kLongMessage, factor, processes_per_node);
      const double per_kib =
          std::max(0.0, (large - small) * 1024 / static_cast<double>(kLongMessage - kShortMessage));
      const double for_each = std::max(0.0, small - per_kib * static_cast<double>(kShortMessage) / 1024);
      out.push_back(fmt::format("mpi.send_delay={}ps", std::llround(for_each)));
      out.push_back(fmt::format("mpi.send_delay_per_kib={}ps", std::llround(per_kib)));
      break;
    }
  }
  return out;
}

}  // namespace weft::measure
