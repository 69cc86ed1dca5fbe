// Sources: when an endpoint makes its packets. Each kind registers itself from its own file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/registry.hpp"
#include "network/packet.hpp"

namespace weft::workload {

using network::Cycle;

/// What a source remembers of one endpoint.
struct SourceState {
  std::uint64_t packets = 0;  // made so far
  std::uint64_t draws = 0;    // random numbers used so far
  Cycle on_until = 0;         // end of the burst under way
  double rate = 0;            // the last rate asked for,
  double scale = 0;           // and 1 / log(1 - rate)
};

class Source {
 public:
  virtual ~Source() = default;
  /// The first cycle at or after `from` in which the endpoint makes a packet, so that it makes `rate` packets
  /// per cycle in the long run, 0 < rate <= 1. Gaps are drawn whole: an endpoint costs nothing while it is
  /// idle.
  virtual Cycle next(std::uint32_t endpoint, double rate, SourceState& state, Cycle from) const = 0;
};

struct SourceKind {
  ~SourceKind();
  std::string name, about;
  config::Section section;
  std::function<std::unique_ptr<Source>(const void* parameters, double load, std::uint64_t seed)> make;
};

using Sources = config::Registry<SourceKind>;

}  // namespace weft::workload

WEFT_DECLARE_REGISTRY(weft::workload::SourceKind);
