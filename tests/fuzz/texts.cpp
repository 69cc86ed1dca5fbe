// Every other text that comes from outside: its first byte says who reads it, the rest is what is read. It is
// refused with a message, or what was read can be written and read again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "app/load_list.hpp"
#include "app/run_disturbance.hpp"
#include "config/node.hpp"
#include "guest/grant_script.hpp"
#include "host/pmi_server.hpp"
#include "machine/machine.hpp"
#include "network/link/fault_script.hpp"
#include "topology/graph_draft.hpp"
#include "workload/goal.hpp"
#include "workload/packet_sizes.hpp"
#include "workload/pattern.hpp"
#include "workload/trace.hpp"

namespace weft::fuzz {

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

const machine::Machine& machine_of_all() {
  static const machine::Machine machine = machine::build_graph(machine::describe_text(
      "[topology]\nkind = \"torus\"\ndims = [2, 2]\n[routing]\nkind = \"dimension-order\"\n[cable.default]\n",
      "fuzz", {}));
  return machine;
}

template <class Q>
void quantity(std::string_view text) {
  std::string error;
  auto value = parse_quantity(quantity_kind<Q>(), text, error);
  expect(value.has_value() == error.empty());
  if (!value) return;
  std::string again = to_text(Q{*value});
  expect(parse_quantity(quantity_kind<Q>(), again, error) == value);
}

void quantities(std::string_view text) {
  quantity<Time>(text);
  quantity<Length>(text);
  quantity<DataRate>(text);
  quantity<DataSize>(text);
  quantity<Frequency>(text);
}

void fault_script(std::string_view text) {
  Diagnostics problems;
  network::link::parse_fault_script(text, "fuzz", *machine_of_all().graph, problems);
}

void program(const workload::Program& read) {
  workload::Program again = workload::parse_trace(workload::write_trace(read), "fuzz");
  expect(again.begin == read.begin && again.dependencies == read.dependencies);
  expect(again.collectives == read.collectives && again.collective_of == read.collective_of);
  workload::check(read);
}

/// With the checksum that belongs to it, which no fuzzer guesses.
void sealed_trace(char version, std::string_view body) {
  std::string bytes = std::string("WEFTRACE") + version + std::string(body);
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(sum >> (8 * i)));
  program(workload::parse_trace(bytes, "fuzz"));
}

void trace(std::string_view body) { sealed_trace(1, body); }
void trace_of_collectives(std::string_view body) { sealed_trace(2, body); }
void bare_trace(std::string_view bytes) { program(workload::parse_trace(bytes, "fuzz")); }
void goal(std::string_view text) { program(workload::parse_goal(text, "fuzz")); }

void edge_list(std::string_view text) {
  topology::GraphDraft draft("fuzz", 1, {"default", "optical"});
  topology::read_edge_list(text, draft);
}

void graphml(std::string_view text) {
  topology::GraphDraft draft("fuzz", 1, {"default", "optical"});
  topology::read_graphml(text, draft);
}

void packet_sizes(std::string_view text) {
  workload::PacketSizes sizes = workload::PacketSizes::parse(text);
  expect(sizes.mean() >= 1 && sizes.draw(1, 2, 3) <= sizes.largest());
  workload::PacketSizes::parse(sizes.text());
}

void matrix(std::string_view text) {
  static int file = memfd_create("matrix", 0);
  expect(ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) >= 0);
  const workload::PatternKind& kind = *workload::Patterns::find("matrix");
  Diagnostics problems;
  config::Node settings =
      config::parse_toml("file = \"/proc/self/fd/" + std::to_string(file) + "\"", "fuzz", problems);
  auto parameters = kind.section.make();
  std::vector<config::Setting> read;
  config::Reader reader{problems, read};
  kind.section.read(parameters.get(), &settings, "matrix", reader);
  problems.throw_if_any();
  workload::Members members(*machine_of_all().graph, *machine_of_all().faults);
  auto pattern = kind.make(parameters.get(), {members, 1});
  for (workload::Member m = 0; m < members.count(); ++m)
    if (double rate = pattern->rate(m); rate > 0)
      expect(rate <= 1 && pattern->destination(m, 1) < members.count());
}

void override(std::string_view text) {
  Diagnostics problems;
  config::parse_override(text, problems);
}

void loads(std::string_view text) {
  double last = 0;
  for (double load : app::parse_loads(std::string(text))) {
    expect(load > last && load <= 1);
    last = load;
  }
}

void disturbance(std::string_view text) {
  std::size_t line = text.find('\n');
  host::RunOptions run;
  run.ranks = 4;
  std::string noise = line == std::string_view::npos ? "" : std::string(text.substr(line + 1));
  app::read_disturbance({std::string(text.substr(0, line))}, noise, run);
  for (double slow : run.slow) expect(slow > 0);
}

/// Lines of PMI-1: the first character is the rank's.
void pmi(std::string_view text) {
  host::PmiAnswers answers(3, "(vector,(0,3,1))");
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    unsigned rank = line.empty() ? 0 : static_cast<unsigned char>(line[0]) % 3;
    for (const auto& [to, words] : answers.to(rank, line.empty() ? line : line.substr(1))) {
      expect(to < 3);
      expect(words.find('\n') == std::string::npos);
    }
  }
}

/// What a program of a Linux node asks of its agent, who passes on anything.
void node_question(std::string_view text) {
  static const std::vector<guest::PooledDevice> pool{{"nvme.0", 2}, {"nvme.1", 3}};
  static const std::vector<network::EndpointId> place{0, 1};
  const auto question = guest::parse_node_question(text, 1, {pool, place});
  if (!question || !question->refused.empty()) return;
  const guest::GrantRequest& request = question->request;
  using Kind = guest::GrantRequest::Kind;
  expect(request.kind == Kind::List || request.kind == Kind::Assign || request.kind == Kind::Release);
  expect(request.kind != Kind::Assign || request.host == 1);
  expect(request.device < pool.size() || request.device == guest::GrantRequest::kAny);
}

constexpr void (*kReaders[])(std::string_view) = {
    quantities, fault_script,         trace,        bare_trace, goal,  edge_list,
    graphml,    packet_sizes,         matrix,       override,   loads, disturbance,
    pmi,        trace_of_collectives, node_question};

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  unsigned reader = data[0] % (sizeof fuzz::kReaders / sizeof *fuzz::kReaders);
  try {
    fuzz::kReaders[reader](text);
  } catch (const UserError&) {
  }
  return 0;
}
