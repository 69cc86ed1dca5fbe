// Scripts of what happens to a machine's power and cooling. A statement is refused, with its place and what
// was expected, or it is one that can be carried out on such a machine, and means the same when it is read
// again.
#include <cmath>
#include <cstdlib>

#include "power/operate/script.hpp"

namespace weft::fuzz {

namespace {

using power::operate::Event;
using power::operate::Names;

void expect(bool holds) {
  if (!holds) std::abort();
}

void within_machine(const Event& event, const Names& names) {
  expect(std::isfinite(event.value) && !event.text.empty());
  switch (event.kind) {
    case Event::Kind::Supply:
      return expect(event.number < names.supplies);
    case Event::Kind::Phase:
      return expect(event.number >= 1 && event.number <= 3);
    case Event::Kind::Reset:
      return expect(event.number < names.nodes);
    case Event::Kind::Pump:
    case Event::Kind::Load:
    case Event::Kind::Coil:
      return expect(event.value >= 0 && event.value <= 1);
    case Event::Kind::Leak:
      return expect(names.has_tank && event.value >= 0);
    case Event::Kind::Open:
    case Event::Kind::Valve:
      return expect(names.has_tank);
    default:
      return;
  }
}

void means_the_same_again(const Event& event, const Names& names) {
  Diagnostics none;
  const std::string again = "at " + std::to_string(event.at.value) + "ps " + event.text;
  const std::vector<Event> same = power::operate::parse_script(again, "fuzz", names, none);
  expect(none.empty() && same.size() == 1);
  expect(same[0].at == event.at && same[0].kind == event.kind && same[0].value == event.value &&
         same[0].number == event.number && same[0].name == event.name && same[0].text == event.text);
}

void read(std::string_view text, const Names& names) {
  Diagnostics problems;
  const std::vector<Event> events = power::operate::parse_script(text, "fuzz", names, problems);
  for (const Diagnostic& problem : problems.all())
    expect(problem.origin.line > 0 && problem.origin.column > 0 && !problem.message.empty());
  Time last{0};
  for (const Event& event : events) {
    expect(event.at >= last);
    last = event.at;
    within_machine(event, names);
    means_the_same_again(event, names);
  }
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const power::operate::Names tank{
      8, true, {"flow", "level", "chips0"}, 32, {"knc", "card"}, Time{1'000'000}};
  const power::operate::Names plates{1, false, {"flow"}, 1, {}, std::nullopt};
  fuzz::read(text, tank);
  fuzz::read(text, plates);
  std::string error;
  const auto time = power::operate::parse_duration(std::string(text), error);
  fuzz::expect(time.has_value() == error.empty() && (!time || time->value >= 0));
  return 0;
}
