#include "topology/graph_draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/plain_text.hpp"
#include "base/text.hpp"

namespace weft::topology {

namespace {
constexpr std::size_t kMaxMistakes = 50;  // a file of another kind would make one on every line
constexpr Length kMaxLength{100'000'000};
}  // namespace

void GraphDraft::problem(Place place, std::string message) {
  if (problems_.size() < kMaxMistakes) {
    auto line = static_cast<std::uint32_t>(place.line), column = static_cast<std::uint32_t>(place.column);
    problems_.add({source_, line, column}, "", std::move(message));
  } else if (problems_.size() == kMaxMistakes) {
    problems_.add({source_}, "", "has more errors than these");
  }
}

RouterId GraphDraft::find(std::string_view name) const {
  auto at = numbers_.find(std::string(name));
  return at == numbers_.end() ? kNone : at->second;
}

RouterId GraphDraft::find_or_add(std::string_view name) {
  auto [at, fresh] = numbers_.emplace(name, static_cast<RouterId>(routers_.size()));
  if (!fresh) return at->second;
  routers_.push_back({std::string(name), endpoints_per_router_});
  if (auto c = control_character(name))  // which XML can write as &#27;
    problem({}, fmt::format("the name of a router has the control character 0x{:02x}", *c));
  return at->second;
}

bool GraphDraft::declare(RouterId r, Place place) {
  Router& router = routers_[r];
  if (router.declared != 0) {
    problem(place, fmt::format("router '{}' is declared on line {} already", router.name, router.declared));
    return false;
  }
  router.declared = place.line;
  return true;
}

void GraphDraft::set_endpoints(RouterId r, std::string_view text, Place place) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value > kMaxRouterPorts)
    return problem(place,
                   fmt::format("expected a number of endpoints, 0 to {}, got '{}'", kMaxRouterPorts, text));
  routers_[r].endpoints = value;
}

void GraphDraft::add(const Cable& cable, Place place) {
  Router &a = routers_[cable.a], &b = routers_[cable.b];
  if (cable.a == cable.b)
    return problem(place, fmt::format("a cable joins two routers, not '{}' to itself", a.name));
  ++a.cables;
  ++b.cables;
  cables_.push_back(cable);
}

std::optional<Length> GraphDraft::parse_length(std::string_view text, Place place) {
  std::string error;
  auto value = parse_quantity(quantity_kind<Length>(), text, error);
  if (value && *value >= 0 && *value <= kMaxLength.value) return Length{*value};
  if (value) error = fmt::format("is outside 0m to {}", to_text(kMaxLength));
  problem(place, fmt::format("length '{}': {}", text, error));
  return std::nullopt;
}

std::optional<std::uint8_t> GraphDraft::parse_type(std::string_view text, Place place) {
  if (cable_types_.empty()) return std::nullopt;
  auto at = std::find(cable_types_.begin(), cable_types_.end(), text);
  if (at != cable_types_.end()) return static_cast<std::uint8_t>(at - cable_types_.begin());
  problem(place, fmt::format("expected one of the cable types of this machine ({}), got '{}'{}",
                             join(cable_types_, ", "), text, did_you_mean(text, cable_types_)));
  return std::nullopt;
}

std::vector<std::string> GraphDraft::router_names() const {
  std::vector<std::string> names;
  names.reserve(routers_.size());
  for (const Router& router : routers_) names.push_back(router.name);
  return names;
}

}  // namespace weft::topology
