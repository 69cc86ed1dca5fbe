#include "guest/vhost_user.hpp"

#include <fmt/format.h>

#include <cstring>

namespace weft::guest {

namespace {

// Names and numbers of the vhost-user protocol.
enum Kind : std::uint32_t {
  kGetFeatures = 1,
  kSetMemoryTable = 5,
  kSetRingSize = 8,
  kSetRingPlace = 9,
  kSetRingBase = 10,
  kGetProtocolFeatures = 15,
  kSetInterruptSocket = 21,
  kGetConfig = 24,
  kKick = 35,
};
constexpr std::uint32_t kInterrupt = 4;  // the device's own request
constexpr std::uint32_t kVersion = 1, kIsReply = 4, kNeedsReply = 8;
constexpr std::uint64_t kHasProtocolFeatures = std::uint64_t{1} << 30;
// Replies, interrupts over a socket of the kernel's, configuration, and notifications as messages.
constexpr std::uint64_t kProtocolFeatures = 1u << 3 | 1u << 5 | 1u << 9 | 1u << 14;
constexpr std::uint32_t kLargestPayload = 4096;
constexpr std::size_t kMostFiles = 8;

}  // namespace

struct VhostUser::Request {
  struct Header {
    std::uint32_t kind = 0, flags = 0, size = 0;
  } header;
  static_assert(sizeof(Header) == 12);
  std::vector<std::uint8_t> payload;
  std::vector<File> files;

  template <class T>
  T word(std::size_t at) const {
    T value{};
    if (at + sizeof value <= payload.size()) std::memcpy(&value, payload.data() + at, sizeof value);
    return value;
  }
};

void VhostUser::disconnect() {
  socket_.close();
  interrupts_.close();
  for (Virtqueue& ring : rings_) ring.reset();
  memory_.clear();
  ++generation_;
}

bool VhostUser::handle(const StillWaiting& still_waiting) {
  Request request;
  if (!read_with_files(socket(), &request.header, sizeof request.header, request.files, kMostFiles,
                       still_waiting))
    return false;
  if (request.header.size > kLargestPayload)
    return refuse(fmt::format("a message of {} bytes, which no kernel sends", request.header.size));
  request.payload.resize(request.header.size);
  if (!read_all(socket(), request.payload.data(), request.payload.size(), still_waiting)) return false;
  return carry_out(request, still_waiting);
}

bool VhostUser::carry_out(Request& request, const StillWaiting& still_waiting) {
  const std::uint64_t features = features_ | kHasProtocolFeatures;
  switch (request.header.kind) {
    case kGetFeatures:
      return answer(request, &features, sizeof features, still_waiting);
    case kGetProtocolFeatures:
      return answer(request, &kProtocolFeatures, sizeof kProtocolFeatures, still_waiting);
    case kGetConfig:
      return get_config(request, still_waiting);
    case kSetMemoryTable:
      if (!set_memory(request)) return false;
      break;
    case kSetRingSize:
    case kSetRingPlace:
    case kSetRingBase:
      if (!set_ring(request)) return false;
      break;
    case kSetInterruptSocket:
      if (request.files.empty()) return refuse("no socket for interrupts");
      interrupts_ = std::move(request.files.front());
      break;
    case kKick:
      if (auto queue = request.word<std::uint32_t>(0); queue < queues_ && on_kick) on_kick(queue);
      break;
    default:  // owner, features it has taken, rings on and off: nothing follows from them here
      break;
  }
  const std::uint64_t fine = 0;
  return !(request.header.flags & kNeedsReply) || answer(request, &fine, sizeof fine, still_waiting);
}

bool VhostUser::answer(const Request& request, const void* payload, std::uint32_t bytes,
                       const StillWaiting& still_waiting) {
  std::vector<std::uint8_t> message(sizeof(Request::Header) + bytes);
  const Request::Header header{request.header.kind, kVersion | kIsReply, bytes};
  std::memcpy(message.data(), &header, sizeof header);
  std::memcpy(message.data() + sizeof header, payload, bytes);
  return write_all(socket(), message.data(), message.size(), still_waiting);
}

bool VhostUser::set_memory(Request& request) {
  const auto count = request.word<std::uint32_t>(0);
  if (count > request.files.size() || request.payload.size() < 8 + std::size_t{count} * 32)
    return refuse("a table of memory without its files");
  // Rings that were in the memory before are gone with it.
  for (Virtqueue& ring : rings_) ring.reset();
  memory_.clear();
  ++generation_;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::size_t at = 8 + std::size_t{i} * 32;
    std::string why = memory_.add(request.word<std::uint64_t>(at), request.word<std::uint64_t>(at + 8),
                                  request.files[i].number(), request.word<std::uint64_t>(at + 24));
    if (!why.empty()) return refuse(why);
  }
  return true;
}

bool VhostUser::set_ring(const Request& request) {
  const auto index = request.word<std::uint32_t>(0);
  if (index >= queues_) return refuse(fmt::format("ring {} of a device that has {}", index, queues_));
  Virtqueue& ring = rings_[index];
  ++generation_;
  if (request.header.kind == kSetRingSize) {
    if (!ring.set_size(request.word<std::uint32_t>(4)))
      return refuse(fmt::format("a ring of {} entries", request.word<std::uint32_t>(4)));
  } else if (request.header.kind == kSetRingBase) {
    ring.set_next(static_cast<std::uint16_t>(request.word<std::uint32_t>(4)));
  } else if (!ring.set_place(memory_, request.word<std::uint64_t>(8), request.word<std::uint64_t>(16),
                             request.word<std::uint64_t>(24))) {
    return refuse(fmt::format("ring {} does not lie in the guest's memory", index));
  }
  return true;
}

bool VhostUser::get_config(Request& request, const StillWaiting& still_waiting) {
  constexpr std::size_t kHead = 12;  // offset, size, flags
  if (request.payload.size() < kHead) return refuse("a question for a configuration without its place");
  const std::size_t wanted = request.payload.size() - kHead;
  for (std::size_t i = 0; i < wanted; ++i) request.payload[kHead + i] = i < config_.size() ? config_[i] : 0;
  return answer(request, request.payload.data(), static_cast<std::uint32_t>(request.payload.size()),
                still_waiting);
}

bool VhostUser::send_interrupt(unsigned queue, const StillWaiting& still_waiting) {
  const std::uint32_t message[] = {kInterrupt, kVersion | kNeedsReply, 8, queue, 0};
  return interrupts_ && write_all(interrupts_.number(), message, sizeof message, still_waiting);
}

bool VhostUser::read_interrupt_answer(const StillWaiting& still_waiting) {
  std::uint8_t answer[20];
  return read_all(interrupts_.number(), answer, sizeof answer, still_waiting);
}

}  // namespace weft::guest
