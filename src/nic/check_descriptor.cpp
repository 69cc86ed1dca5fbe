#include "nic/check_descriptor.hpp"

namespace weft::nic {

namespace {

/// Whole registers, of one packet, and nothing that needs a process at the other end. Memory here may be
/// named by logical addresses.
Status check_registers(const Context& context, const Registration& registration, PortNo port,
                       const Descriptor& d) {
  constexpr std::uint16_t kAllowed = kRegisters | kNotifyLocal | kNotifyDone | kFence | kLogical;
  const bool put = d.operation == Operation::Put, get = d.operation == Operation::Get;
  if ((d.flags & ~kAllowed) || !(put || get || d.operation == Operation::ImmediatePut))
    return Status::BadOperation;
  if (d.remote_offset % 8) return Status::BadRange;
  const auto most =
      put || get ? context.payload : static_cast<std::uint64_t>(context.nic.immediate_limit.value);
  if (d.length == 0 || d.length % 8 || d.length > most) return Status::BadLength;
  Place ignored;
  return put || get ? registration.find_local(port, d, ignored) : Status::Ok;
}

}  // namespace

void find_node(Context& context, Descriptor& d) {
  if (d.flags & kGlobal) d.node = node_of(d.remote_key);
  if (!(d.flags & kRegisters)) return;
  if (d.remote_key) d.node = context.chips.node_of(d.remote_key);
  if (d.node < context.nic_of_node.size() && context.interface_of(d.node) == kNobody) context.attach(d.node);
}

Status check_descriptor(const Context& context, const Registration& registration, const Port& from,
                        PortNo port, const Descriptor& d) {
  const machine::NicParameters& p = context.nic;
  if (d.operation < Operation::Message || d.operation > Operation::Leave || (d.flags & ~kAllFlags))
    return Status::BadOperation;
  if (is_triggered(d.operation) || is_of_groups(d.operation))
    return d.flags ? Status::BadOperation : Status::Ok;  // the rest there
  // A put for many is no other put besides: nobody answers it, and it is for the landings that members name.
  constexpr std::uint16_t kOfGroups = kToGroup | kNotifyLocal;
  if ((d.flags & kToGroup) && (d.operation != Operation::Put || (d.flags & ~kOfGroups)))
    return Status::BadOperation;
  if (context.interface_of(d.node) == kNobody) return Status::BadNode;
  if (d.flags & kRegisters) return check_registers(context, registration, port, d);
  if ((d.flags & kCounted) && is_atomic(d.operation)) return Status::BadOperation;
  if (d.flags & kPhysical) {
    if (!from.kernel) return Status::NoRight;
    if (d.operation == Operation::Message || (d.flags & kGlobal)) return Status::BadOperation;
  }
  if (d.flags & kGlobal) {
    // Nobody reaches beyond the domain of his port, whatever his descriptors say.
    if (d.operation == Operation::Message) return Status::BadOperation;
    if (d.port != from.domain || d.port == kNoDomain) return Status::NoRight;
    if (d.remote_offset >= kPlaces - place_of(d.remote_key)) return Status::BadRange;
  }
  if ((d.flags & kLogical) && (d.operation == Operation::Message || (d.flags & (kGlobal | kPhysical))))
    return Status::BadOperation;
  auto limit = [&](DataSize most) {
    return d.length <= static_cast<std::uint64_t>(most.value) ? Status::Ok : Status::BadLength;
  };
  switch (d.operation) {
    case Operation::Message:
      return limit(p.message_limit);
    case Operation::ImmediatePut:
      // Without data it is a notification, which nobody would notice without an event.
      return d.length == 0 && !(d.flags & kNotifyRemote) ? Status::BadLength : limit(p.immediate_limit);
    case Operation::Put:
    case Operation::Get: {
      if (d.length == 0 || limit(p.rdma_limit) != Status::Ok) return Status::BadLength;
      // A channel is a protection domain's; the kernel has its own.
      if (!(d.flags & kPhysical) && p.channels && from.domain == kNoDomain) return Status::NoRight;
      Place ignored;
      return registration.find_local(port, d, ignored);
    }
    default:
      return (d.remote_offset + (d.flags & kGlobal ? d.remote_key : 0)) % 8 ? Status::BadRange : Status::Ok;
  }
}

}  // namespace weft::nic
