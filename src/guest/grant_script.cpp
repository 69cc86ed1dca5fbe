#include "guest/grant_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/statement_reader.hpp"
#include "base/text.hpp"
#include "nic/backdoor.hpp"

namespace weft::guest {

namespace {

class Parser : StatementReader {
 public:
  Parser(std::string source, const GrantNames& names, Diagnostics& problems)
      : StatementReader(std::move(source), problems), names_(names) {}

  void read(const Statement& words, bool timed) {
    begin(words);
    GrantRequest request;
    if (timed) request.at = time("at 2s assign nvme.0 to node0");
    if (failed()) return;
    request.text = join(rest(), " ");
    read_action(request);
    if (complete()) requests.push_back(std::move(request));
  }

  std::vector<GrantRequest> requests;

 private:
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

  void read_packet(GrantRequest& request) {
    keyword("from");
    request.from_port = take_if("port");
    request.from = read_node(request.from_port);
    keyword("into");
    request.to = read_node(!request.from_port);
    const std::vector<std::string> words = rest();
    const Word* first = take("a packet");
    if (!first) return;
    take_rest();
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

  const GrantNames& names_;
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

std::optional<NodeQuestion> parse_node_question(std::string_view text, std::size_t node,
                                                const GrantNames& names) {
  NodeQuestion out;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, out.number);
  if (error != std::errc{} || end == last || *end != ' ') return std::nullopt;
  const std::string asked(end + 1, last);
  std::vector<std::string> words = split(asked, ' ');
  std::erase(words, "");
  static const std::vector<std::string> verbs{"list", "assign", "release"};
  if (words.empty() || std::find(verbs.begin(), verbs.end(), words[0]) == verbs.end()) {
    out.refused = fmt::format("a node may ask for one of {}, not '{}'{}", join(verbs, ", "), asked,
                              words.empty() ? "" : did_you_mean(words[0], verbs));
  } else if (words.size() != (words[0] == "list" ? 1 : 2)) {
    out.refused = words[0] == "list" ? "expected nothing after list"
                                     : fmt::format("expected {0} NAME, such as {0} nvme.0", words[0]);
  }
  if (!out.refused.empty()) return out;
  Diagnostics problems;
  const std::string request = join(words, " ");
  out.request =
      parse_grant_request(words[0] == "assign" ? fmt::format("{} to node{}", request, node) : request,
                          "request", names, problems);
  if (!problems.empty()) out.refused = problems.all().front().message;
  out.request.text = fmt::format("node{}: {}", node, request);
  return out;
}

}  // namespace weft::guest
