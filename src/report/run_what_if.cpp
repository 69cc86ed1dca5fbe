#include "report/run_what_if.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_axis.hpp"
#include "report/svg.hpp"

namespace weft::report {

namespace {

constexpr double kNothing = 0.005;  // a change that is none

std::string change_text(const measure::WhatIf& answer, const measure::Alternative& a) {
  if (!a.failure.empty()) return a.failure;
  const double change = answer.change(a);
  if (std::abs(change) < kNothing) return "no difference";
  return fmt::format("{} {}", percent(std::abs(change)), change < 0 ? "less" : "more");
}

}  // namespace

std::vector<std::string> what_if_lines(const measure::WhatIf& answer) {
  std::vector<std::string> out;
  for (const measure::Alternative& a : answer.alternatives)
    out.push_back(fmt::format("what if {}: {}", a.what, change_text(answer, a)));
  return out;
}

Json what_if_json(const measure::WhatIf& answer) {
  Json out{{"as_it_was_ps", answer.as_it_was.value}, {"alternatives", Json::array()}};
  for (const measure::Alternative& a : answer.alternatives) {
    Json one{{"what", a.what}};
    if (a.failure.empty()) {
      one["completion_ps"] = a.completion.value;
      one["change"] = answer.change(a);
    } else {
      one["failure"] = a.failure;
    }
    out["alternatives"].push_back(one);
  }
  return out;
}

std::string what_if_section(const measure::WhatIf& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const measure::Alternative& a : answer.alternatives)
    rows.push_back({escape_xml(a.what), a.failure.empty() ? rounded(a.completion) : "",
                    escape_xml(change_text(answer, a))});
  return html_section("what-if", "What if",
                      fmt::format("The recorded traffic, run again with one thing changed. As it was it "
                                  "takes {}, without the hosts' and "
                                  "interfaces' share of latencies.",
                                  rounded(answer.as_it_was)),
                      html_table({{"What"}, {"Would take", true}, {"Against as it was"}}, rows));
}

}  // namespace weft::report
