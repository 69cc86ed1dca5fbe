#include "workload/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::workload {

namespace {

/// `key=value` settings of one component as a section, with messages that name the option they came from.
config::Node section_node(const std::vector<std::string>& settings, const std::string& section,
                          Diagnostics& problems) {
  config::Node all;
  all.value = config::Table{};
  for (const std::string& setting : settings) {
    Origin origin{fmt::format("--{}-set {}", section, setting)};
    std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      problems.add(origin, "", "expected key=value");
      continue;
    }
    config::Node tree = config::parse_override(section + "." + setting, problems);
    config::Node* table = tree.table()->find(section);
    if (!table) continue;
    for (auto& [key, node] : table->table()->entries) node.origin = origin;
    config::merge(*all.table(), *table->table());
  }
  return all;
}

template <class Kind>
const Kind* read_component(const std::string& section, const std::string& name,
                           const std::vector<std::string>& settings, config::Reader& reader,
                           std::shared_ptr<void>& parameters) {
  const Kind* kind = config::Registry<Kind>::find(name);
  if (!kind) {
    auto names = config::Registry<Kind>::names();
    reader.problems.add({"--" + section + " " + name}, "",
                        fmt::format("there is no {} '{}'{}; there are {}", section, name,
                                    did_you_mean(name, names), join(names, ", ")));
    return nullptr;
  }
  reader.settings.push_back({section + ".kind", config::quote(name), {}});
  config::Node node = section_node(settings, section, reader.problems);
  parameters = kind->section.make();
  kind->section.read(parameters.get(), &node, section, reader);
  return kind;
}

}  // namespace

Workload read_workload(const WorkloadText& text) {
  Workload out;
  Diagnostics problems;
  config::Reader reader{problems, out.settings};
  out.pattern = read_component<PatternKind>("pattern", text.pattern, text.pattern_settings, reader,
                                            out.pattern_parameters);
  out.source =
      read_component<SourceKind>("source", text.source, text.source_settings, reader, out.source_parameters);
  problems.throw_if_any();
  out.sizes = PacketSizes::parse(text.packet);
  return out;
}

SyntheticTraffic::SyntheticTraffic(const Workload& workload, const Members& members, const Pattern& pattern,
                                   double load, const network::Ranks* ranks)
    : members_(members),
      pattern_(pattern),
      sizes_(workload.sizes),
      source_(workload.source->make(workload.source_parameters.get(), load, workload.seed)),
      endpoints_(members.graph->endpoints(), {network::part_of(*members.graph, ranks).endpoints}),
      batch_(workload.batch),
      size_seed_(stream_seed(workload.seed, Stream::Size)),
      packet_rate_(load / workload.sizes.mean()),
      message_class_(workload.message_class) {
  for (Member m = 0; m < members.count(); ++m) {
    const double rate = pattern.rate(m);
    senders_ += rate > 0;
    const network::EndpointId e = members.endpoint[m];
    if (endpoints_.has(e)) endpoints_[e].member = m, endpoints_[e].relative_rate = rate;
  }
}

double SyntheticTraffic::relative_rate(network::EndpointId source) const {
  if (endpoints_.has(source)) return endpoints_[source].relative_rate;
  const auto& all = members_.endpoint;  // in order
  const auto at = std::lower_bound(all.begin(), all.end(), source);
  return at != all.end() && *at == source ? pattern_.rate(static_cast<Member>(at - all.begin())) : 0;
}

network::Cycle SyntheticTraffic::next_time(network::EndpointId source, network::Cycle from) {
  Endpoint& endpoint = endpoints_[source];
  return source_->next(source, packet_rate_ * endpoint.relative_rate, endpoint.state, from);
}

network::Cycle SyntheticTraffic::first(network::EndpointId source) {
  return endpoints_[source].relative_rate > 0 ? next_time(source, 0) : network::kNever;
}

bool SyntheticTraffic::create(network::EndpointId source, network::Cycle now, network::NewPacket& packet,
                              network::Cycle& next) {
  Endpoint& endpoint = endpoints_[source];
  std::uint64_t number = endpoint.state.packets++;
  packet.destination = members_.endpoint[pattern_.destination(endpoint.member, number)];
  packet.flits = sizes_.draw(size_seed_, source, number);
  packet.message_class = message_class_;
  endpoint.flits += packet.flits;
  next = batch_ != 0 && endpoint.state.packets == batch_ ? network::kNever : next_time(source, now + 1);
  return true;
}

std::uint64_t SyntheticTraffic::flits_made() const {
  std::uint64_t sum = 0;
  for (const Endpoint& endpoint : endpoints_) sum += endpoint.flits;
  return sum;
}

}  // namespace weft::workload
