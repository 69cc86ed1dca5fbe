#include "mpi/long_operations.hpp"

#include <algorithm>

namespace weft::mpi {

void LongOperations::keep_data(Port& port, Request& r, const Buffer& from) {
  r.has_bounce = true;
  r.bounce.resize(r.length);
  from.read(0, r.bounce.data(), r.length);
  costs_.copied(port, r.length, r.protocol);
}

void LongOperations::begin(Port& port, Request& r, nic::Operation operation, const Remote& remote,
                           std::uint64_t local_key, std::uint64_t local_offset, unsigned flags) {
  nic::Descriptor& d = r.whole;
  d.operation = operation;
  d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | flags);
  d.node = remote.owner.node;
  d.port = remote.owner.port;
  d.remote_key = remote.key;
  d.remote_offset = remote.offset;
  d.local_key = local_key;
  d.local_offset = local_offset;
  d.operand = remote.operand;
  d.context = r.id;
  r.left = r.length;
  const unsigned most = r.protocol == Protocol::RendezvousGet ? model_.gets : ~0u;
  while (r.left && r.pieces < most) next_piece(port, r);
}

void LongOperations::next_piece(Port& port, Request& r) {
  std::uint64_t most = longest_;
  if (r.protocol == Protocol::RendezvousGet) most = std::min(most, model_.get_size);
  nic::Descriptor d = r.whole;
  d.length = std::min<std::uint64_t>(most, r.left);
  d.remote_offset += r.length - r.left;
  d.local_offset += r.length - r.left;
  r.left -= d.length;
  ++r.pieces;
  port.post(d);
}

}  // namespace weft::mpi
