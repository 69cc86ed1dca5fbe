#include "guest/grant_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "nic/backdoor.hpp"

namespace weft::guest {

namespace {

class Parser {
 public:
  Parser(std::string source, const GrantNames& names, Diagnostics& problems)
      : source_(std::move(source)), names_(names), problems_(problems) {}

  void read(const Statement& words, bool timed) {
    words_ = &words;
    next_ = 0;
    failed_ = false;
    GrantRequest request;
    if (timed) read_time(request);
    const std::size_t first = next_;
    read_action(request);
    if (!failed_ && next_ < words.size())
      fail(words[next_],
           fmt::format("'{}' is too much: the statement is complete before it", words[next_].text));
    if (failed_) return;
    std::vector<std::string> text;
    for (std::size_t i = first; i < words.size(); ++i) text.push_back(words[i].text);
    request.text = join(text, " ");
    requests.push_back(std::move(request));
  }

  std::vector<GrantRequest> requests;

 private:
  void fail(const Word& at, std::string message) {
    if (failed_) return;  // one mistake of a statement is enough
    failed_ = true;
    problems_.add({source_, at.line, at.column}, "", std::move(message));
  }

  const Word* take(std::string_view expected) {
    if (failed_) return nullptr;
    if (next_ < words_->size()) return &(*words_)[next_++];
    const Word& last = words_->back();
    fail({"", last.line, static_cast<std::uint32_t>(last.column + last.text.size())},
         fmt::format("expected {} after '{}'", expected, last.text));
    return nullptr;
  }

  void read_time(GrantRequest& request) {
    const Word* w = take("'at'");
    if (w && w->text != "at")
      fail(*w, fmt::format("expected a statement such as 'at 2s assign nvme.0 to node0', got '{}'", w->text));
    w = take("a time");
    if (!w) return;
    std::string error;
    auto value = parse_quantity(quantity_kind<Time>(), w->text, error);
    if (!value) return fail(*w, fmt::format("expected a time: {}, got '{}'", error, w->text));
    request.at = {*value};
    if (request.at < now_)
      return fail(*w,
                  fmt::format("{} is in the past: the statement before it is at {}", w->text, to_text(now_)));
    now_ = request.at;
  }

  void read_action(GrantRequest& request) {
    static const std::vector<std::string> verbs{"assign", "release", "reclaim", "inject", "list"};
    const Word* w = take(join(verbs, ", "));
    if (!w) return;
    const auto verb = std::find(verbs.begin(), verbs.end(), w->text);
    if (verb == verbs.end())
      return fail(*w, fmt::format("expected one of {}, got '{}'{}", join(verbs, ", "), w->text,
                                  did_you_mean(w->text, verbs)));
    using Kind = GrantRequest::Kind;
    static constexpr Kind kinds[] = {Kind::Assign, Kind::Release, Kind::Reclaim, Kind::Inject, Kind::List};
    request.kind = kinds[verb - verbs.begin()];
    if (request.kind == Kind::List) return;
    if (request.kind == Kind::Inject) return read_packet(request);
    read_device(request);
    if (request.kind != Kind::Assign) return;
    keyword("to");
    request.host = read_host();
  }

  void keyword(std::string_view word) {
    const Word* w = take(fmt::format("'{}'", word));
    if (w && w->text != word) fail(*w, fmt::format("expected '{}', got '{}'", word, w->text));
  }

  void read_packet(GrantRequest& request) {
    keyword("from");
    if (next_ < words_->size() && (*words_)[next_].text == "port") {
      request.from_port = true;
      ++next_;
    }
    request.from = read_node(request.from_port);
    keyword("into");
    request.to = read_node(!request.from_port);
    const Word* first = take("a packet");
    if (!first) return;
    std::vector<std::string> words;
    for (std::size_t i = next_ - 1; i < words_->size(); ++i) words.push_back((*words_)[i].text);
    next_ = words_->size();
    std::string error;
    request.packet = nic::parse_tlp(words, error);
    if (!error.empty()) fail(*first, error);
  }

  /// A node of the machine that takes part in the job: one with a root port, or any.
  network::EndpointId read_node(bool with_port) {
    const Word* w = take("a node of the machine");
    if (!w) return 0;
    network::EndpointId number = 0;
    const auto [end, error] = std::from_chars(w->text.data(), w->text.data() + w->text.size(), number);
    const bool is_number = error == std::errc{} && end == w->text.data() + w->text.size();
    const bool has_port = std::any_of(names_.pool.begin(), names_.pool.end(),
                                      [&](const PooledDevice& one) { return one.node == number; });
    const bool is_host = std::find(names_.place.begin(), names_.place.end(), number) != names_.place.end();
    if (!is_number || !(has_port || (is_host && !with_port)))
      fail(*w, fmt::format("'{}' is no node of the job {}", w->text,
                           with_port ? "with a root port" : "that runs Linux or has a root port"));
    return number;
  }

  void read_device(GrantRequest& request) {
    const Word* w = take("an accelerator such as nvme.0");
    if (!w) return;
    std::vector<std::string> known;
    for (const PooledDevice& one : names_.pool) {
      if (one.name == w->text) {
        request.device = static_cast<std::size_t>(&one - names_.pool.data());
        return;
      }
      const std::string kind = one.name.substr(0, one.name.find('.'));
      if (kind == w->text && request.kind == GrantRequest::Kind::Assign) {
        request.device = GrantRequest::kAny;
        request.device_kind = kind;
        return;
      }
      known.push_back(one.name);
    }
    if (known.empty()) return fail(*w, "the job has no accelerators");
    fail(*w, fmt::format("there is no accelerator '{}'{}; there are {} to {}", w->text,
                         did_you_mean(w->text, known), known.front(), known.back()));
  }

  std::size_t read_host() {
    const Word* w = take("a Linux node such as node0");
    if (!w) return 0;
    std::string_view text = w->text;
    if (text.starts_with("node")) text.remove_prefix(4);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number >= names_.place.size())
      fail(*w, fmt::format("'{}' is no Linux node: node0 to node{}", w->text, names_.place.size() - 1));
    return number;
  }

  std::string source_;
  const GrantNames& names_;
  Diagnostics& problems_;
  const Statement* words_ = nullptr;
  std::size_t next_ = 0;
  bool failed_ = false;
  Time now_{0};
};

}  // namespace

std::vector<GrantRequest> parse_grant_script(std::string_view text, const std::string& source,
                                             const GrantNames& names, Diagnostics& problems) {
  constexpr std::size_t kEnough = 50;  // mistakes to report
  Parser parser(source, names, problems);
  for (const Statement& statement : split_statements(text)) {
    if (problems.size() >= kEnough) break;
    parser.read(statement, true);
  }
  return std::move(parser.requests);
}

GrantRequest parse_grant_request(std::string_view text, const std::string& source, const GrantNames& names,
                                 Diagnostics& problems) {
  Parser parser(source, names, problems);
  const std::vector<Statement> statements = split_statements(text);
  if (statements.size() == 1) {
    parser.read(statements.front(), false);
  } else {
    problems.add({source}, "", "expected one request, as 'assign nvme.0 to node0'");
  }
  return parser.requests.empty() ? GrantRequest{} : std::move(parser.requests.front());
}

}  // namespace weft::guest
