#include "app/check_faults.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "base/json.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "routing/survey.hpp"

namespace weft::app {

namespace {

using routing::FailureCase;
using routing::Survey;
using topology::Graph;

constexpr std::size_t kNamed = 6;  // endpoints or cases named in full before "and n more"

void print_line(std::string_view name, const std::string& text) {
  fmt::print("{:<11}{}\n", name, wrap(text, 110, 11));
}

std::string endpoints_text(const std::vector<topology::EndpointId>& endpoints) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNamed, endpoints.size()); ++i)
    names.push_back(fmt::format("e{}", endpoints[i]));
  std::string more =
      endpoints.size() > kNamed ? fmt::format(" and {} more", with_commas(endpoints.size() - kNamed)) : "";
  return join(names, ", ") + more;
}

/// The cases a rule picks, the first few in full.
template <class Rule, class Say>
void print_cases(const Survey& survey, Rule rule, Say say) {
  std::uint64_t picked = 0;
  for (const FailureCase& c : survey.cases)
    if (rule(c) && picked++ < kNamed) fmt::print("             {}\n", say(c));
  if (picked > kNamed) fmt::print("             and {} more\n", with_commas(picked - kNamed));
}

bool several(const FailureCase& c) { return c.failed.cables.size() + c.failed.routers.size() > 1; }

std::string cases_text(const Survey& survey) {
  std::uint64_t multiple = 0, cables = 0, routers = 0;
  for (const FailureCase& c : survey.cases)
    ++(several(c) ? multiple : c.failed.cables.empty() ? routers : cables);
  std::string text = fmt::format("{} {} and {}", survey.all_singles ? "every one of" : "a sample of",
                                 count_of(cables, "cable"), count_of(routers, "router"));
  if (!survey.all_singles)
    text += fmt::format(" (of {} parts: NO PROOF for the others)", with_commas(survey.possible_singles));
  if (multiple) text += fmt::format("; {} of several failures together, sampled", count_of(multiple, "case"));
  return text;
}

void print_survey(const machine::Machine& m, const Survey& survey, double seconds) {
  const Graph& graph = *m.graph;
  const std::uint64_t all = survey.cases.size();
  fmt::print("{}: {} on {}, routing {} over {}\n", m.description.identity.name,
             count_of(graph.endpoints(), "endpoint"), count_of(graph.routers(), "router"),
             m.description.routing->name, count_of(m.description.router.channels, "channel"));
  print_line("failures", cases_text(survey));
  std::uint64_t own = survey.count(&FailureCase::own_serves);
  print_line("as it is",
             fmt::format("{} serves every pair that has a route left after {} of {}",
                         m.description.routing->name, with_commas(own), count_of(all, "failure")));
  if (own < all) {
    auto name = [&](const FailureCase& c) {
      return fmt::format("{}: {} without a route", c.failed.text(graph), count_of(c.own_broken, "pair"));
    };
    print_cases(
        survey, [](const FailureCase& c) { return !c.own_serves; }, name);
  }
  std::map<std::string, std::uint64_t> relations;
  std::uint32_t longest = 0;
  for (const FailureCase& c : survey.cases) {
    ++relations[c.rerouted];
    longest = std::max(longest, c.longest);
  }
  std::vector<std::string> parts;
  for (const auto& [name, times] : relations)
    parts.push_back(fmt::format("{} ({})", name, with_commas(times)));
  std::uint64_t served = survey.count(&FailureCase::serves);
  print_line("re-routed",
             fmt::format("every pair that has a route left is served, without deadlock, after {} of "
                         "{}: {}; the longest route crosses {}",
                         with_commas(served), count_of(all, "failure"), join(parts, ", "),
                         count_of(longest, "cable")));
  if (served < all)
    print_cases(
        survey, [](const FailureCase& c) { return !c.serves; },
        [&](const FailureCase& c) {
          return fmt::format("{}: {} fails the proof", c.failed.text(graph), c.rerouted);
        });
  // A dead router takes its endpoints with it; what is worth naming is whoever else is cut off.
  auto beyond_own = [&](const FailureCase& c) {
    std::uint64_t expected = 0;
    for (topology::RouterId r : c.failed.routers) expected += graph.endpoint_count(r);
    return c.cut_off.size() > expected;
  };
  auto beyond =
      static_cast<std::uint64_t>(std::count_if(survey.cases.begin(), survey.cases.end(), beyond_own));
  print_line("cut off",
             beyond == 0 ? "nobody but the endpoints of dead routers"
                         : fmt::format("endpoints of living routers, by {}:", count_of(beyond, "failure")));
  print_cases(survey, beyond_own, [&](const FailureCase& c) {
    return fmt::format("{}: {}", c.failed.text(graph), endpoints_text(c.cut_off));
  });
  print_line("proof", fmt::format("{} in {:.2f} s", count_of(all, "machine"), seconds));
  fmt::print("{} {}\n", m.description.identity.name,
             served == all ? "survives every failure looked at"
                           : fmt::format("DOES NOT survive {}", count_of(all - served, "failure")));
}

Json survey_json(const machine::Machine& m, const Survey& survey, double seconds) {
  Json out;
  out["machine"] = m.description.identity.name;
  out["routing"] = m.description.routing->name;
  out["failures"] = survey.cases.size();
  out["every_single_failure"] = survey.all_singles;
  out["served_as_it_is"] = survey.count(&FailureCase::own_serves);
  out["served_after_rerouting"] = survey.count(&FailureCase::serves);
  out["cases"] = Json::array();
  for (const FailureCase& c : survey.cases)
    out["cases"].push_back({{"failed", c.failed.text(*m.graph)},
                            {"as_it_is", c.own_serves},
                            {"pairs_without_a_way", c.own_broken},
                            {"rerouted", c.rerouted},
                            {"served", c.serves},
                            {"longest_path_cables", c.longest},
                            {"endpoints_cut_off", c.cut_off}});
  out["seconds"] = seconds;
  return out;
}

}  // namespace

void FaultCheckOptions::declare(CommandLine& app) {
  app.add_option(
         "--faults", faults,
         "Prove the routing after every failure of a single cable or router, and after sampled sets of "
         "up to N failures together")
      .range(0, 64)
      .type_name("N");
  app.add_option("--fault-cases", cases, "With --faults above 1: how many sets of failures to look at")
      .option_text("N")
      .range(0, 10'000'000);
  app.add_option("--fault-singles", singles,
                 "With --faults: look at this many single failures only; 0: all of them");
  app.add_option("--fault-seed", seed, "With --faults above 1: which sets are drawn");
}

int check_faults(const machine::Machine& machine, const FaultCheckOptions& options, unsigned threads,
                 bool json) {
  routing::SurveyOptions how;
  how.faults = options.faults;
  how.most = options.cases;
  how.most_singles = options.singles;
  how.seed = options.seed;
  how.verify.threads = threads;
  how.verify.channels = machine.description.router.channels;
  const Stopwatch start;
  auto elapsed = [&] { return start.seconds(); };
  double shown = 0;
  if (isatty(STDERR_FILENO))
    how.progress = [&](std::uint64_t done, std::uint64_t of) {
      double now = elapsed();
      if (now < 1 || now - shown < 0.2) return;
      shown = now;
      fmt::print(stderr, "\r{} of {} failures, about {:.0f} s left  ", done, of,
                 now * static_cast<double>(of - done) / static_cast<double>(done));
    };
  Survey survey = routing::survey(*machine.description.routing, machine.description.routing_parameters.get(),
                                  *machine.graph, *machine.faults, how);
  if (shown > 0) fmt::print(stderr, "\r{:60}\r", "");
  if (json)
    fmt::print("{}\n", survey_json(machine, survey, elapsed()).dump(2));
  else
    print_survey(machine, survey, elapsed());
  return survey.count(&FailureCase::serves) == survey.cases.size() ? 0 : 1;
}

}  // namespace weft::app
