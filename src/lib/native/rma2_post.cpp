// The functions of rma2.h that post work, and those that prepare it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/native/rma2_state.hpp"

namespace nic = weft::nic;
namespace lib = weft::lib;
using lib::rma2::LockTag;
using lib::rma2::Tag;
using lib::rma2::Work;

namespace {

/// The mode of notifications: what connection and command were asked to do.
unsigned mode_of(unsigned options, unsigned modifier) {
  unsigned mode = 0;
  if (options & RMA2_CONN_RRA) mode |= RMA2_NOTI_RRA;
  if (options & RMA2_CONN_IRQ) mode |= RMA2_NOTI_IRQ;
  if (options & RMA2_CONN_TE) mode |= RMA2_NOTI_TE;
  if (modifier & RMA2_CMD_EWA) mode |= RMA2_NOTI_EWA;
  if (modifier & RMA2_CMD_NTR) mode |= RMA2_NOTI_NTR;
  if (modifier & RMA2_CMD_ERA) mode |= RMA2_NOTI_ERA;
  return mode;
}

/// Without translation addresses are physical; the interface decides whether the port may use such.
nic::Descriptor start(const Work& work, bool has_address) {
  nic::Descriptor d;
  d.node = work.node;
  d.port = work.vpid;
  d.flags = !has_address || (work.options & RMA2_CONN_TE) ? nic::kLogical : nic::kPhysical;
  if (work.options & RMA2_CONN_IRQ) d.flags |= nic::kInterrupt;
  if (work.spec & RMA2_REQUESTER_NOTIFICATION) d.flags |= nic::kNotifyLocal;
  return d;
}

/// Over a connection to registers an address names a chip and a register of it; nobody is there to be told.
void make_register_access(const Work& work, nic::Descriptor& d) {
  d.flags &= static_cast<std::uint16_t>(~(nic::kPhysical | nic::kInterrupt | nic::kNotifyRemote));
  d.flags |= nic::kLogical | nic::kRegisters;
  if (work.spec & RMA2_COMPLETER_NOTIFICATION) d.flags |= nic::kNotifyDone;
  d.compare = d.remote_offset;
  d.remote_key = d.remote_offset >> lib::rma2::kRegisterBits;
  d.remote_offset &= (std::uint64_t{1} << lib::rma2::kRegisterBits) - 1;
}

RMA2_ERROR post(RMA2_Port port, nic::Descriptor& d) {
  switch (lib::post_when_room(port->port, d)) {
    case 0:
      return RMA2_SUCCESS;
    case -ETIMEDOUT:  // the processor stood before a full queue for too long
      return RMA2_ERR_POLL_EXCEEDED;
    default:
      return RMA2_ERR_ERROR;
  }
}

/// Of a put, an immediate put, a get or a notification put; commands there are none of go to the interface,
/// which refuses them.
RMA2_ERROR post_work(RMA2_Port port, const Work& work, std::uint32_t class_number) {
  nic::Descriptor d = start(work, work.command != RMA2_NOTIFICATION_PUT);
  d.tag = Tag::pack(work.command, mode_of(work.options, work.modifier), class_number);
  d.length = work.count;
  d.remote_offset = work.get() ? work.read : work.write;
  d.local_offset = work.get() ? work.write : work.read;
  d.context = d.local_offset;
  d.operand = d.remote_offset;
  const std::uint16_t at_target = work.get() ? RMA2_RESPONDER_NOTIFICATION : RMA2_COMPLETER_NOTIFICATION;
  if (work.spec & at_target) d.flags |= nic::kNotifyRemote;
  switch (work.command) {
    case RMA2_BT_PUT:
    case RMA2_QW_PUT:
      d.operation = nic::Operation::Put;
      break;
    case RMA2_BT_GET:
    case RMA2_QW_GET:
      d.operation = nic::Operation::Get;
      if (work.spec & RMA2_COMPLETER_NOTIFICATION) d.flags |= nic::kNotifyDone;
      break;
    case RMA2_IMMEDIATE_PUT:
      d.operation = nic::Operation::ImmediatePut;
      memcpy(d.data, &work.read, sizeof work.read);
      d.context = 0;
      d.local_offset = 0;
      break;
    case RMA2_NOTIFICATION_PUT:
      d.operation = nic::Operation::ImmediatePut;
      d.length = 0;
      d.remote_offset = 0;
      d.context = d.operand = work.read;
      break;
    default:
      d.operation = nic::Operation{};
  }
  if ((work.options & RMA2_CONN_RRA) && work.command != RMA2_NOTIFICATION_PUT) make_register_access(work, d);
  // Nobody would hear of it: there is nothing to do.
  if (work.command == RMA2_NOTIFICATION_PUT && !(d.flags & nic::kNotifyRemote)) {
    if (!(d.flags & nic::kNotifyLocal)) return RMA2_SUCCESS;
    d.flags |= nic::kNotifyRemote;
    d.tag |= lib::rma2::kSilentAtTarget;
  }
  return post(port, d);
}

RMA2_ERROR post_lock(RMA2_Port port, const Work& work, std::uint32_t number, std::uint32_t compare,
                     std::uint32_t add) {
  auto extended = [](std::uint32_t value) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  };
  nic::Descriptor d = start(work, false);
  d.operation = nic::Operation::BoundedAdd;
  d.tag =
      LockTag::pack(number, mode_of(work.options, work.modifier), work.spec & RMA2_COMPLETER_NOTIFICATION);
  d.length = 8;
  d.remote_key = nic::kLocksKey;
  d.remote_offset = std::uint64_t{number} * 8;
  d.compare = extended(compare);
  d.operand = extended(add);
  d.spare[0] = d.operand;
  if (work.spec & RMA2_RESPONDER_NOTIFICATION) d.flags |= nic::kNotifyRemote;
  return post(port, d);
}

RMA2_ERROR check(RMA2_Port port, RMA2_Handle handle) {
  if (!port) return RMA2_ERR_INV_PORT;
  return handle ? RMA2_SUCCESS : RMA2_ERR_INV_HANDLE;
}

Work work_for(RMA2_Handle handle, RMA2_Command command, std::uint32_t count, unsigned spec,
              unsigned modifier) {
  return {command, count, spec, modifier, 0, 0, handle->node, handle->vpid, handle->options};
}

RMA2_ERROR transfer(RMA2_Port port, RMA2_Handle handle, RMA2_Command command, RMA2_NLA local,
                    std::uint32_t size, RMA2_NLA remote, unsigned spec, unsigned modifier) {
  if (RMA2_ERROR error = check(port, handle); error != RMA2_SUCCESS) return error;
  if (size == 0) {
    fputs("rma2: a transfer of 0 bytes\n", stderr);
    abort();
  }
  if (size > lib::rma2::kMostBytes || (modifier & RMA2_CMD_MC)) return RMA2_ERR_WRONG_ARG;
  const bool words = command == RMA2_QW_PUT || command == RMA2_QW_GET;
  if (words && (size % 8 || local % 8 || remote % 8)) return RMA2_ERR_WRONG_ARG;
  Work work = work_for(handle, command, size, spec, modifier);
  work.read = work.get() ? remote : local;
  work.write = work.get() ? local : remote;
  return post_work(port, work, 0);
}

/// A region's fields are read when the work is posted: clients change them.
RMA2_ERROR transfer(RMA2_Port port, RMA2_Handle handle, RMA2_Command command, const RMA2_Region* region,
                    std::uint32_t offset, std::uint32_t size, RMA2_NLA remote, unsigned spec,
                    unsigned modifier) {
  if (!region) return RMA2_ERR_WRONG_ARG;
  return transfer(port, handle, command, region->nla + region->offset + offset, size, remote, spec, modifier);
}

std::uint64_t first_word(RMA2_Handle handle, unsigned command, unsigned spec, unsigned modifier,
                         std::uint64_t count_field) {
  return 3 | std::uint64_t{command & 15} << 2 | std::uint64_t{handle->vpid & 255u} << 8 |
         std::uint64_t{handle->node} << 16 | std::uint64_t{spec & 7} << 32 |
         std::uint64_t{modifier & 15} << 35 | (count_field & 0x7fffff) << 40;
}

RMA2_ERROR fill(RMA2_Descriptor* out, RMA2_Handle handle, std::uint64_t first, std::uint64_t second,
                std::uint64_t third) {
  out->handle = handle;
  out->value[0] = first;
  out->value[1] = second;
  out->value[2] = third;
  return RMA2_SUCCESS;
}

}  // namespace

extern "C" {

RMA2_ERROR rma2_post_put_bt(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_BT_PUT, region, offset, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_put_qw(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_QW_PUT, region, offset, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_get_bt(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_BT_GET, region, offset, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_get_qw(RMA2_Port port, RMA2_Handle handle, RMA2_Region* region, uint32_t offset,
                            uint32_t size, RMA2_NLA remote, RMA2_Notification_Spec spec,
                            RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_QW_GET, region, offset, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_put_bt_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_BT_PUT, local, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_put_qw_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_QW_PUT, local, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_get_bt_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_BT_GET, local, size, remote, spec, modifier);
}
RMA2_ERROR rma2_post_get_qw_direct(RMA2_Port port, RMA2_Handle handle, RMA2_NLA local, uint32_t size,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier) {
  return transfer(port, handle, RMA2_QW_GET, local, size, remote, spec, modifier);
}

RMA2_ERROR rma2_post_immediate_put(RMA2_Port port, RMA2_Handle handle, uint32_t count, uint64_t value,
                                   RMA2_NLA remote, RMA2_Notification_Spec spec,
                                   RMA2_Command_Modifier modifier) {
  if (RMA2_ERROR error = check(port, handle); error != RMA2_SUCCESS) return error;
  if (count < 1 || count > 8) return RMA2_ERR_WRONG_ARG;
  Work work = work_for(handle, RMA2_IMMEDIATE_PUT, count, spec, modifier);
  work.read = value;
  work.write = remote;
  return post_work(port, work, 0);
}

RMA2_ERROR rma2_post_notification(RMA2_Port port, RMA2_Handle handle, RMA2_Class class_number, uint64_t value,
                                  RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier) {
  if (RMA2_ERROR error = check(port, handle); error != RMA2_SUCCESS) return error;
  Work work = work_for(handle, RMA2_NOTIFICATION_PUT, 8, spec, modifier);
  work.read = value;
  return post_work(port, work, class_number);
}

RMA2_ERROR rma2_post_lock(RMA2_Port port, RMA2_Handle handle, uint32_t target, uint32_t number,
                          int32_t compare, int32_t add, RMA2_Notification_Spec spec,
                          RMA2_Command_Modifier modifier) {
  if (RMA2_ERROR error = check(port, handle); error != RMA2_SUCCESS) return error;
  if (target > 1 || number >= LockTag::kNumbers) return RMA2_ERR_WRONG_ARG;
  return post_lock(port, work_for(handle, RMA2_LOCK_REQ, 8, spec, modifier), number,
                   static_cast<std::uint32_t>(compare), static_cast<std::uint32_t>(add));
}

RMA2_ERROR rma2_desc_alloc(RMA2_Port port, RMA2_Descriptor** out) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!out) return RMA2_ERR_WRONG_ARG;
  RMA2_Descriptor* found = port->free_descriptors;
  if (found) {
    port->free_descriptors = reinterpret_cast<RMA2_Descriptor*>(found->list.next);
    --port->free_descriptor_count;
  } else {
    found = static_cast<RMA2_Descriptor*>(aligned_alloc(64, sizeof(RMA2_Descriptor)));
    if (!found) return RMA2_ERR_NO_DESC_MEM;
  }
  memset(found, 0, sizeof *found);
  *out = found;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_desc_free(RMA2_Port port, RMA2_Descriptor* descriptor) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!descriptor) return RMA2_ERR_WRONG_ARG;
  descriptor->list.next = reinterpret_cast<RMA2_List*>(port->free_descriptors);
  port->free_descriptors = descriptor;
  ++port->free_descriptor_count;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_desc_query_free(RMA2_Port port, int* count) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!count) return RMA2_ERR_WRONG_ARG;
  *count = port->free_descriptor_count;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_desc_set_put_get(RMA2_Descriptor* descriptor, RMA2_Handle handle, RMA2_Command command,
                                 uint32_t count, RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                                 uint64_t read_address, uint64_t write_address) {
  if (!handle) return RMA2_ERR_INV_HANDLE;
  if (!descriptor) return RMA2_ERR_WRONG_ARG;
  return fill(descriptor, handle, first_word(handle, command, spec, modifier, count - 1u), read_address,
              write_address);
}

RMA2_ERROR rma2_desc_set_immediate_put(RMA2_Descriptor* descriptor, RMA2_Handle handle,
                                       RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                                       uint32_t count, uint64_t write_address, uint64_t value) {
  if (!handle) return RMA2_ERR_INV_HANDLE;
  if (!descriptor) return RMA2_ERR_WRONG_ARG;
  return fill(descriptor, handle, first_word(handle, RMA2_IMMEDIATE_PUT, spec, modifier, count - 1u),
              write_address, value);
}

RMA2_ERROR rma2_desc_set_noti_put(RMA2_Descriptor* descriptor, RMA2_Handle handle,
                                  RMA2_Notification_Spec spec, RMA2_Command_Modifier modifier,
                                  RMA2_Class class_number, uint64_t value) {
  if (!handle) return RMA2_ERR_INV_HANDLE;
  if (!descriptor) return RMA2_ERR_WRONG_ARG;
  return fill(descriptor, handle, first_word(handle, RMA2_NOTIFICATION_PUT, spec, modifier, class_number),
              value, 0);
}

RMA2_ERROR rma2_desc_set_lock(RMA2_Descriptor* descriptor, RMA2_Handle handle, RMA2_Notification_Spec spec,
                              RMA2_Command_Modifier modifier, uint8_t target, uint32_t number,
                              uint32_t compare, uint32_t add) {
  if (!handle) return RMA2_ERR_INV_HANDLE;
  if (!descriptor) return RMA2_ERR_WRONG_ARG;
  return fill(descriptor, handle, first_word(handle, RMA2_LOCK_REQ, spec, modifier, target & 1u),
              std::uint64_t{compare} << 32 | number, std::uint64_t{add} << 32);
}

RMA2_ERROR rma2_post_descriptor(RMA2_Port port, RMA2_Handle handle, RMA2_Descriptor* descriptor) {
  if (RMA2_ERROR error = check(port, handle); error != RMA2_SUCCESS) return error;
  if (!descriptor) return RMA2_ERR_WRONG_ARG;
  const std::uint64_t first = descriptor->value[0], second = descriptor->value[1],
                      third = descriptor->value[2];
  const auto field = static_cast<std::uint32_t>(first >> 40 & 0x7fffff);
  Work work{static_cast<RMA2_Command>(first >> 2 & 15),
            field + 1,
            static_cast<unsigned>(first >> 32 & 7),
            static_cast<unsigned>(first >> 35 & 15),
            second,
            third,
            static_cast<RMA2_Nodeid>(first >> 16),
            static_cast<RMA2_VPID>(first >> 8 & 255),
            handle->options};
  if (work.command == RMA2_LOCK_REQ)
    return post_lock(port, work, static_cast<std::uint32_t>(second) % LockTag::kNumbers,
                     static_cast<std::uint32_t>(second >> 32), static_cast<std::uint32_t>(third >> 32));
  if (work.command == RMA2_IMMEDIATE_PUT) {
    work.read = third;
    work.write = second;
  }
  return post_work(port, work, work.command == RMA2_NOTIFICATION_PUT ? field & 255 : 0);
}
}
