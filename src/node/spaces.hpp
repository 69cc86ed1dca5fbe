// All memory spaces of a machine: those of its devices, which are kept here, and those of processes and
// kernels, for which another answers.
#pragma once

#include <vector>

#include "node/memory.hpp"

namespace weft::node {

class Spaces final : public Memory {
 public:
  explicit Spaces(Memory& others) : others_(others) {}

  bool read(SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override;
  bool write(SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override;
  bool has_space(NodeId node, SpaceId space) const override;
  SpaceId add_space(NodeId node, std::uint8_t* bytes, std::uint64_t size) override;

 private:
  struct Own {
    NodeId node;
    std::uint8_t* bytes;
    std::uint64_t size;
  };
  /// Where these bytes of a device are; nothing where they are not all there.
  std::uint8_t* at(SpaceId space, std::uint64_t address, std::uint64_t length) const;

  Memory& others_;
  std::vector<Own> own_;  // by space, from kFirstDeviceSpace on
};

}  // namespace weft::node
