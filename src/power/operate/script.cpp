#include "power/operate/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/input_file.hpp"
#include "base/statements.hpp"
#include "base/text.hpp"

namespace weft::power::operate {

namespace {

using Kind = Event::Kind;

/// What one may say: its words, and what the last of them may be.
struct Form {
  const char* words;  // "stop pump"
  Kind kind;
  enum class Value : std::uint8_t {
    None,
    Share,
    LitresPerHour,
    Kelvin,
    Supply,
    Phase,
    Sensor,
    SensorValue,
    Device
  } value;
  double fixed = 0;
  bool tank = false;  // of a tank alone
};
using Value = Form::Value;

constexpr Form kForms[] = {
    {"stop pump", Kind::Pump, Value::None, 0},
    {"start pump", Kind::Pump, Value::None, 1},
    {"set pump", Kind::Pump, Value::Share},
    {"load", Kind::Load, Value::Share},
    {"wet coil", Kind::Coil, Value::Share},
    {"dry coil", Kind::Coil, Value::None, 0},
    {"leak", Kind::Leak, Value::LitresPerHour, 0, true},
    {"mend leak", Kind::Leak, Value::None, 0, true},
    {"open tank", Kind::Open, Value::None, 1, true},
    {"close tank", Kind::Open, Value::None, 0, true},
    {"block valve", Kind::Valve, Value::None, 1, true},
    {"free valve", Kind::Valve, Value::None, 0, true},
    {"fail supply", Kind::Supply, Value::Supply, 0},
    {"restore supply", Kind::Supply, Value::Supply, 1},
    {"fail phase", Kind::Phase, Value::Phase, 0},
    {"restore phase", Kind::Phase, Value::Phase, 1},
    {"hang controller", Kind::Hang, Value::None, 1},
    {"restart controller", Kind::Hang, Value::None, 0},
    {"disable watchdog", Kind::Watchdog, Value::None, 0},
    {"enable watchdog", Kind::Watchdog, Value::None, 1},
    {"stick sensor", Kind::Stick, Value::Sensor},
    {"lie sensor", Kind::Lie, Value::SensorValue},
    {"mend sensor", Kind::MendSensor, Value::Sensor},
    {"warm inlet", Kind::Inlet, Value::Kelvin},
    {"warm room", Kind::Room, Value::Kelvin},
    {"hold reset", Kind::Reset, Value::Device, 1},
    {"release reset", Kind::Reset, Value::Device, 0},
    {"power off", Kind::Power, Value::None, 0},
    {"power on", Kind::Power, Value::None, 1},
};

constexpr Time kLatest{90 * 86'400'000'000'000'000};

std::optional<double> real(const std::string& text, std::string_view suffix) {
  std::string_view number = text;
  if (!suffix.empty()) {
    if (!number.ends_with(suffix)) return std::nullopt;
    number.remove_suffix(suffix.size());
  }
  char* end = nullptr;
  const std::string copy(number);
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(std::string source, const Names& names, Diagnostics& problems)
      : source_(std::move(source)), names_(names), problems_(problems) {}

  std::vector<Event> events;

  void read(const Statement& words) {
    Event event;
    if (words.front().text != "at" || words.size() < 3)
      return fail(words.front(), fmt::format("expected a statement such as 'at 20min stop pump', got '{}'",
                                             words.front().text));
    std::string error;
    auto at = read_time(words[1].text, error);
    if (!at) return fail(words[1], error);
    event.at = *at;
    const Form* form = find(words);
    if (!form) return;
    std::size_t next = 2 + split(form->words, ' ').size();
    event.kind = form->kind;
    event.value = form->fixed;
    if (form->tank && !names_.has_tank)
      return fail(words[2],
                  fmt::format("'{}' is for machines in a tank; this one is cooled otherwise", form->words));
    if (!read_value(*form, words, next, event)) return;
    if (next < words.size())
      return fail(words[next],
                  fmt::format("'{}' is too much: the statement is complete before it", words[next].text));
    std::vector<std::string> text;
    for (std::size_t i = 2; i < words.size(); ++i) text.push_back(words[i].text);
    event.text = join(text, " ");
    events.push_back(std::move(event));
  }

 private:
  void fail(const Word& at, std::string message) {
    problems_.add({source_, at.line, at.column}, "", std::move(message));
  }

  const Form* find(const Statement& words) {
    const std::string one = words[2].text, two = words.size() > 3 ? one + " " + words[3].text : one;
    std::vector<std::string> known;
    for (const Form& form : kForms) {
      if (form.words == one || form.words == two) return &form;
      known.push_back(form.words);
    }
    std::string hint = did_you_mean(two, known);
    fail(words[2], fmt::format("there is no '{}'{}{}", two, hint,
                               hint.empty() ? "; there are " + join(known, ", ") : ""));
    return nullptr;
  }

  /// From when the machine is switched on, or "job+2s".
  std::optional<Time> read_time(const std::string& text, std::string& error) const {
    if (!text.starts_with("job")) return parse_duration(text, error);
    if (!names_.job) {
      error = fmt::format("'{}' is for `weft run`, which has a job; expected a time such as 20min", text);
      return std::nullopt;
    }
    if (text == "job") return names_.job;
    std::string wrong;
    auto after = text[3] == '+' ? parse_duration(text.substr(4), wrong) : std::nullopt;
    if (after && after->value > kLatest.value - names_.job->value) after = std::nullopt;
    if (!after) error = fmt::format("expected a time such as job+2s, within 90d, got '{}'", text);
    return after ? std::optional(*names_.job + *after) : std::nullopt;
  }

  /// "3" or "3.knc".
  bool read_device(const std::string& word, Event& event) const {
    const std::size_t dot = word.find('.');
    const auto node = real(word.substr(0, dot), "");
    if (!node || *node < 0 || *node >= names_.nodes || *node != std::floor(*node)) return false;
    event.number = static_cast<unsigned>(*node);
    if (dot == std::string::npos) return true;
    event.name = word.substr(dot + 1);
    return std::find(names_.parts.begin(), names_.parts.end(), event.name) != names_.parts.end();
  }

  bool read_value(const Form& form, const Statement& words, std::size_t& next, Event& event) {
    if (form.value == Value::None) return true;
    auto wrong = [&](const std::string& expected) {
      if (next < words.size())
        fail(words[next],
             fmt::format("expected {} after '{}', got '{}'", expected, form.words, words[next].text));
      else
        fail(words.back(), fmt::format("expected {} after '{}'", expected, form.words));
      return false;
    };
    const std::string word = next < words.size() ? words[next].text : "";
    std::optional<double> value;
    switch (form.value) {
      case Value::None:
        break;
      case Value::Share:
        value = real(word, "%");
        value = value ? std::optional(*value / 100) : real(word, "");
        if (!value || *value < 0 || *value > 1) return wrong("a share such as 50%");
        break;
      case Value::LitresPerHour:
        value = real(word, "l/h");
        if (!value || *value < 0 || *value > 1e5) return wrong("litres an hour, such as 1l/h");
        break;
      case Value::Kelvin:
        value = real(word, "");
        if (!value || std::abs(*value) > 60) return wrong("a number of kelvin up to 60");
        break;
      case Value::Supply:
      case Value::Phase: {
        const unsigned last = form.value == Value::Supply ? names_.supplies - 1 : 3;
        const unsigned first = form.value == Value::Supply ? 0 : 1;
        value = real(word, "");
        if (!value || *value < first || *value > last || *value != std::floor(*value))
          return wrong(fmt::format("a number from {} to {}", first, last));
        event.number = static_cast<unsigned>(*value);
        value = form.fixed;
        break;
      }
      case Value::Sensor:
      case Value::SensorValue:
        if (std::find(names_.sensors.begin(), names_.sensors.end(), word) == names_.sensors.end())
          return wrong(
              fmt::format("a sensor{} ({})", did_you_mean(word, names_.sensors), join(names_.sensors, ", ")));
        event.name = word;
        if (form.value == Value::Sensor) break;
        ++next;
        value = next < words.size() ? real(words[next].text, "") : std::nullopt;
        if (!value) return wrong("what it shows, a number");
        break;
      case Value::Device:
        if (!read_device(word, event))
          return wrong(fmt::format("a node from 0 to {}, or a part of one such as 3.{}{}", names_.nodes - 1,
                                   names_.parts.empty() ? "part" : names_.parts.front(),
                                   names_.parts.empty() ? "" : " (" + join(names_.parts, ", ") + ")"));
        break;
    }
    event.value = value.value_or(form.fixed);
    ++next;
    return true;
  }

  std::string source_;
  const Names& names_;
  Diagnostics& problems_;
};

}  // namespace

std::optional<Time> parse_duration(const std::string& text, std::string& error) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"min", 60}, {"h", 3600}, {"d", 86400}};
  for (const auto& [unit, seconds] : kUnits)
    if (auto value = real(text, unit)) {
      if (*value < 0 || *value * seconds > 86400 * 90) {
        error = fmt::format("{} is outside 0 to 90d", text);
        return std::nullopt;
      }
      return Time{static_cast<std::int64_t>(std::llround(*value * seconds * 1e6)) * 1'000'000};
    }
  auto value = parse_quantity(quantity_kind<Time>(), text, error);
  if (!value) {
    error = fmt::format("expected a time such as 90s, 20min or 1h, got '{}'", text);
    return std::nullopt;
  }
  if (*value < 0 || *value > kLatest.value) {
    error = fmt::format("{} is outside 0 to 90d", text);
    return std::nullopt;
  }
  return Time{*value};
}

std::vector<Event> parse_script(std::string_view text, const std::string& source, const Names& names,
                                Diagnostics& problems) {
  Parser parser(source, names, problems);
  for (const Statement& statement : split_statements(text)) parser.read(statement);
  std::stable_sort(parser.events.begin(), parser.events.end(),
                   [](const Event& a, const Event& b) { return a.at < b.at; });
  return std::move(parser.events);
}

std::vector<Event> read_script(const std::string& given, const Names& names, const std::string& option,
                               Diagnostics& problems) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(given, ignored);
  return parse_script(is_file ? read_file(given, 1 << 20) : given, is_file ? given : option, names, problems);
}

std::vector<Event> read_script(const std::string& given, const Names& names) {
  Diagnostics problems;
  std::vector<Event> events = read_script(given, names, "--fault", problems);
  problems.throw_if_any();
  return events;
}

}  // namespace weft::power::operate
