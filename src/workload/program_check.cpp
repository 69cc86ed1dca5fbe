// What can be said of a program before it runs.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.hpp"
#include "workload/program.hpp"

namespace weft::workload {

using Kind = Operation::Kind;

namespace {

constexpr std::size_t kMostMistakes = 20;

class Checker {
 public:
  explicit Checker(const Program& p) : p_(p) {}

  void run() {
    if (p_.ranks() == 0) problem(0, "it has no ranks");
    peers();
    for (Rank r = 0; r < p_.ranks(); ++r) cycles(r);
    if (problems_.empty()) messages();
    if (problems_.size() > kMostMistakes) {
      std::size_t more = problems_.size() - kMostMistakes;
      problems_.resize(kMostMistakes);
      problems_.push_back({{p_.source, 0, 0}, "", fmt::format("and {} more", more)});
    }
    if (!problems_.empty()) throw UserError(problems_);
  }

 private:
  void problem(std::uint64_t operation, std::string message) {
    std::uint32_t line = operation < p_.lines.size() ? p_.lines[operation] : 0;
    std::string source = !p_.source.empty() ? p_.source : p_.name.empty() ? "workload" : p_.name;
    problems_.push_back({{source, line, line ? 1u : 0u}, "", std::move(message)});
  }

  void peers() {
    for (std::uint64_t i = 0; i < p_.operations.size(); ++i) {
      const Operation& o = p_.operations[i];
      bool talks = o.kind == Kind::Send || o.kind == Kind::Receive;
      if (talks && o.peer >= p_.ranks())
        problem(i, fmt::format("{}: there are ranks 0 to {}", p_.describe(i), p_.ranks() - 1));
    }
  }

  // Steps of one rank that wait for each other can never start.
  void cycles(Rank r) {
    std::uint64_t base = p_.begin[r];
    std::uint32_t steps = p_.steps(r);
    std::vector<std::uint32_t> missing(steps), after_begin(steps + 1);
    std::vector<Step> after;
    bool in_range = true;
    for (Step s = 0; s < steps; ++s)
      for (std::uint64_t d = p_.dependency_begin[base + s]; d < p_.dependency_begin[base + s + 1]; ++d) {
        Step on = p_.dependencies[d].on;
        if (on >= steps) {
          problem(base + s, fmt::format("{}: waits for step {}, and the rank has {}", p_.describe(base + s),
                                        on, count_of(steps, "step")));
          in_range = false;
          continue;
        }
        ++missing[s];
        ++after_begin[on + 1];
      }
    if (!in_range) return;
    for (Step s = 0; s < steps; ++s) after_begin[s + 1] += after_begin[s];
    after.resize(after_begin[steps]);
    std::vector<std::uint32_t> at(after_begin.begin(), after_begin.end() - 1);
    for (Step s = 0; s < steps; ++s)
      for (std::uint64_t d = p_.dependency_begin[base + s]; d < p_.dependency_begin[base + s + 1]; ++d)
        after[at[p_.dependencies[d].on]++] = s;
    std::vector<Step> ready;
    for (Step s = 0; s < steps; ++s)
      if (missing[s] == 0) ready.push_back(s);
    for (std::size_t i = 0; i < ready.size(); ++i)
      for (std::uint32_t k = after_begin[ready[i]]; k < after_begin[ready[i] + 1]; ++k)
        if (--missing[after[k]] == 0) ready.push_back(after[k]);
    if (ready.size() == steps) return;
    // Walk back from any step left until one comes twice: that is the cycle.
    auto left = static_cast<Step>(std::find_if(missing.begin(), missing.end(), [](auto m) { return m > 0; }) -
                                  missing.begin());
    std::vector<Step> path;
    std::vector<bool> seen(steps);
    while (!seen[left]) {
      seen[left] = true;
      path.push_back(left);
      Step next = left;
      for (std::uint64_t d = p_.dependency_begin[base + left]; d < p_.dependency_begin[base + left + 1]; ++d)
        if (missing[p_.dependencies[d].on] > 0) next = p_.dependencies[d].on;
      left = next;
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), left));
    std::vector<std::string> names;
    for (Step s : path) names.push_back(std::to_string(s));
    names.push_back(std::to_string(path.front()));
    problem(base + path.front(),
            fmt::format("rank {}: its steps wait for each other: {}", r, join(names, " -> ")));
  }

  struct Message {
    Rank from, to;
    std::uint32_t tag;
    bool receive;
    std::uint64_t operation;
    auto channel() const { return std::tie(to, from, tag); }
  };

  void messages() {
    std::vector<Message> all;
    for (Rank r = 0; r < p_.ranks(); ++r)
      for (std::uint64_t i = p_.begin[r]; i < p_.begin[r + 1]; ++i) {
        const Operation& o = p_.operations[i];
        if (o.kind == Kind::Send) all.push_back({r, o.peer, o.tag, false, i});
        if (o.kind == Kind::Receive) all.push_back({o.peer, r, o.tag, true, i});
      }
    std::sort(all.begin(), all.end(), [](const Message& a, const Message& b) {
      return std::tie(a.to, a.from, a.tag, a.receive, a.operation) <
             std::tie(b.to, b.from, b.tag, b.receive, b.operation);
    });
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i, sends = 0;
      while (end < all.size() && all[end].channel() == all[i].channel()) sends += !all[end++].receive;
      std::size_t receives = end - i - sends;
      if (receives > sends)
        problem(
            all[i + 2 * sends].operation,
            fmt::format("{}: nobody sends it; rank {} sends rank {} {} with this tag, and {} are expected",
                        p_.describe(all[i + 2 * sends].operation), all[i].from, all[i].to,
                        count_of(sends, "message"), receives));
      if (sends > receives)
        problem(all[i + receives].operation,
                fmt::format("{}: nobody receives it; rank {} receives {} with this tag, and {} are sent",
                            p_.describe(all[i + receives].operation), all[i].to,
                            count_of(receives, "message"), sends));
      i = end;
    }
  }

  const Program& p_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

void check(const Program& program) { Checker(program).run(); }

}  // namespace weft::workload
