#include "workload/goal.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "base/input_file.hpp"
#include "base/text.hpp"

namespace weft::workload {

namespace {

using Kind = Operation::Kind;

constexpr std::size_t kMostMistakes = 20;
constexpr Rank kMostRanks = 1u << 24;

struct Token {
  std::string_view text;
  std::uint32_t line;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : text_(text) {
    program_.source = source;
    program_.name = source;
    split();
  }

  Program run() {
    if (word("num_ranks")) {
      auto ranks = number("a number of ranks", 1, kMostRanks);
      if (ranks) ranks_ = static_cast<Rank>(*ranks);
    } else {
      wrong("expected num_ranks at the beginning");
    }
    problems_.throw_if_any();
    ranks_seen_.resize(ranks_);
    scripts_.resize(ranks_);
    while (!at_end() && !full()) {
      if (!word("rank")) {
        wrong("expected rank");
        ++at_;
        continue;
      }
      auto rank = number("a rank", 0, ranks_ - 1);
      if (!word("{")) wrong("expected {");
      std::uint32_t line = line_here();
      if (rank && ranks_seen_[*rank]) wrong(fmt::format("rank {} has been described before", *rank));
      block(rank ? static_cast<Rank>(*rank) : 0, line);
      if (rank) ranks_seen_[*rank] = true;
    }
    for (Rank r = 0; r < ranks_ && !full(); ++r)
      if (!ranks_seen_[r]) problems_.add({program_.source}, "", fmt::format("rank {} is not described", r));
    problems_.throw_if_any();
    return finish();
  }

 private:
  struct Script {
    std::vector<Operation> operations;
    std::vector<std::uint32_t> lines;
    std::vector<std::vector<Dependency>> dependencies;  // by step
  };

  struct Wish {
    std::uint32_t line;
    std::string_view step, on;
    bool started;
  };

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  }

  void split() {
    std::uint32_t line = 1;
    for (std::size_t i = 0; i < text_.size();) {
      char c = text_[i];
      if (c == '\n') ++line;
      if (std::isspace(static_cast<unsigned char>(c))) {
        ++i;
      } else if (text_.substr(i, 2) == "//") {
        while (i < text_.size() && text_[i] != '\n') ++i;
      } else if (text_.substr(i, 2) == "/*") {
        std::size_t end = text_.find("*/", i + 2);
        if (end == std::string_view::npos) {
          problems_.add({program_.source, line, 1}, "", "a comment does not end");
          return;
        }
        for (; i < end + 2; ++i) line += text_[i] == '\n';
      } else {
        std::size_t end = i + 1;
        if (is_word(c))
          while (end < text_.size() && is_word(text_[end])) ++end;
        tokens_.push_back({text_.substr(i, end - i), line});
        i = end;
      }
    }
  }

  bool at_end() const { return at_ >= tokens_.size(); }
  bool full() const { return problems_.size() >= kMostMistakes; }
  std::string_view peek(std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : std::string_view();
  }
  std::uint32_t line_here() const {
    return tokens_.empty() ? 1 : tokens_[std::min(at_, tokens_.size() - 1)].line;
  }
  void wrong(std::string message) {
    std::string got = at_end() ? "the file ends" : fmt::format("got \"{}\"", peek());
    wrong_at(line_here(), fmt::format("{}, {}", message, got));
  }
  void wrong_at(std::uint32_t line, std::string message) {
    if (!full()) problems_.add({program_.source, line, 1}, "", std::move(message));
  }
  bool word(std::string_view expected) {
    if (peek() != expected) return false;
    ++at_;
    return true;
  }

  std::optional<std::uint64_t> number(const char* what, std::uint64_t low, std::uint64_t high,
                                      bool bytes = false) {
    std::string_view text = peek();
    if (bytes && text.ends_with('b')) text.remove_suffix(1);
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < low ||
        value > high) {
      wrong(fmt::format("expected {}, {} to {}", what, low, high));
      if (!at_end() && peek() != "}") ++at_;
      return std::nullopt;
    }
    ++at_;
    return value;
  }

  void block(Rank rank, std::uint32_t line) {
    Script& script = scripts_[rank];
    labels_.clear();
    while (!full()) {
      if (at_end()) return wrong_at(line, fmt::format("rank {} is not closed: the file ends", rank));
      if (word("}")) return resolve(script);
      std::uint32_t here = line_here();
      std::string label;
      if (peek(1) == ":") {
        label = peek();
        at_ += 2;
      }
      if (peek() == "calc" || peek() == "send" || peek() == "recv") {
        auto step = static_cast<Step>(script.operations.size());
        if (!label.empty() && !labels_.emplace(label, step).second)
          wrong_at(here, fmt::format("the label {} is used twice", label));
        operation(script, here);
      } else if (label.empty() && (peek(1) == "requires" || peek(1) == "irequires")) {
        dependency(here);
      } else {
        wrong("expected calc, send, recv, or LABEL requires LABEL");
        ++at_;
      }
    }
  }

  void operation(Script& script, std::uint32_t line) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50, kMostNanoseconds = 3'600'000'000'000'000;
    Operation o;
    if (word("calc")) {
      o.kind = Kind::Compute;
      o.amount = number("nanoseconds", 0, kMostNanoseconds).value_or(0) * 1000;
    } else {
      bool send = word("send");
      if (!send) word("recv");
      o.kind = send ? Kind::Send : Kind::Receive;
      o.amount = number("bytes", 0, kMostBytes, true).value_or(0);
      if (!word(send ? "to" : "from")) wrong(send ? "expected to" : "expected from");
      o.peer = static_cast<Rank>(number("a rank", 0, ranks_ - 1).value_or(0));
    }
    for (;;) {
      if (o.kind != Kind::Compute && word("tag")) {
        o.tag = static_cast<std::uint32_t>(number("a tag", 0, 0xffff'ffff).value_or(0));
      } else if (peek() == "cpu" || peek() == "nic") {
        std::string what(peek());
        ++at_;
        auto value = number("a number", 0, 0xffff'ffff);
        if (value && *value != 0)
          wrong_at(line,
                   fmt::format("{} {}: a rank has one, number 0; schedules that use more are not supported",
                               what, *value));
      } else {
        break;
      }
    }
    script.operations.push_back(o);
    script.lines.push_back(line);
    script.dependencies.emplace_back();
  }

  void dependency(std::uint32_t line) {
    Wish wish{line, peek(), {}, peek(1) == "irequires"};
    at_ += 2;
    if (at_end() || peek() == "}") return wrong("expected a label");
    wish.on = peek();
    ++at_;
    wishes_.push_back(wish);
  }

  /// At the end of a rank: a label may be used before the line that has it.
  void resolve(Script& script) {
    for (const Wish& wish : wishes_) {
      auto step = labels_.find(wish.step), on = labels_.find(wish.on);
      for (auto [at, name] : {std::pair(step, wish.step), std::pair(on, wish.on)})
        if (at == labels_.end()) wrong_at(wish.line, fmt::format("this rank has no step {}", name));
      if (step != labels_.end() && on != labels_.end())
        script.dependencies[step->second].push_back({on->second, wish.started});
    }
    wishes_.clear();
  }

  Program finish() {
    for (Script& script : scripts_) {
      for (std::size_t i = 0; i < script.operations.size(); ++i) {
        program_.operations.push_back(script.operations[i]);
        program_.lines.push_back(script.lines[i]);
        auto& own = script.dependencies[i];
        program_.dependencies.insert(program_.dependencies.end(), own.begin(), own.end());
        program_.dependency_begin.push_back(program_.dependencies.size());
      }
      program_.begin.push_back(program_.operations.size());
      script = {};
    }
    return std::move(program_);
  }

  std::string_view text_;
  Program program_;
  Diagnostics problems_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Rank ranks_ = 0;
  std::vector<bool> ranks_seen_;
  std::vector<Script> scripts_;
  std::map<std::string, Step, std::less<>> labels_;  // of the rank being read
  std::vector<Wish> wishes_;
};

}  // namespace

Program parse_goal(std::string_view text, const std::string& source) { return Parser(text, source).run(); }

Program read_goal(const std::string& path) { return parse_goal(read_file(path, kMostTraceBytes), path); }

}  // namespace weft::workload
