// A compute accelerator: memory of its own, kernels over blocks that share its bandwidth, copies over the
// bus, and work on the network by itself.
//
// Commands are registers and a doorbell, and are carried out one after the other:
//
//   kernel   launch + max(operations / (blocks * block_rate),
//                         bytes / min(blocks * block_bandwidth, memory_bandwidth))
//   copy     copy_startup, then bursts over the bus, several at a time, at most at copy_rate
//   put, get, send are posted on a port that its owner has handed to the device; a wait ends with events of
//   it, a receive with a message
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "node/backing.hpp"
#include "node/compute_parameters.hpp"
#include "node/compute_registers.hpp"
#include "node/device.hpp"
#include "node/kernels.hpp"
#include "node/kind.hpp"

namespace weft::node {

namespace {

class Compute final : public Device {
 public:
  Compute(const ComputeParameters& p, const Slot& slot)
      : Device(slot),
        p_(p),
        memory_(static_cast<std::uint64_t>(p.memory.value)),
        bytes_(static_cast<std::size_t>(p.burst.value) * p.buffers),
        bursts_(p.buffers),
        use_(p.blocks) {
    for (unsigned i = p.buffers; i > 0; --i) free_.push_back(i - 1);
    own_ = {memory().add_space(node(), memory_.bytes(), memory_.size()), memory_.size(), memory_.file(),
            p.path == DevicePath::Peer};
    if (own_.space != kNoSpace && own_.is_peer) bus().add_peer(own_.space, p.peer());
  }

  const OwnMemory* own_memory() const override { return &own_; }

  std::uint64_t read_register(std::uint64_t offset) override {
    switch (offset) {
      case kComputeStatus:
        return status_;
      case kComputeDone:
        return done_;
      case kComputeTime:
        return static_cast<std::uint64_t>(kernel_time_.value);
      case kComputeMemory:
        return memory_.size();
      case kComputeSpace:
        return own_.space;
      case kComputeBlocks:
        return p_.blocks;
      case kComputeUse:
        return use_;
      default:
        break;
    }
    if (offset == kComputeCommand) return next_.what;
    std::uint64_t* argument = argument_at(offset);
    return argument ? *argument : kNoRegister;
  }

  void write_register(std::uint64_t offset, std::uint64_t value) override {
    if (offset == kComputeCommand) {
      next_.what = value;
    } else if (offset == kComputeUse) {
      use_ = static_cast<unsigned>(std::clamp<std::uint64_t>(value, 1, p_.blocks));
    } else if (offset == kComputeDoorbell) {
      next_.interrupts = value & 1;
      next_.asked = false;
      take(next_);
    } else if (std::uint64_t* argument = argument_at(offset)) {
      *argument = value;
    }
  }

  /// What the driver asks for waits its turn as others do, and is never refused for want of room: its caller
  /// stands there until it has ended.
  bool copy(const Copy& copy) override {
    Command command;
    command.what = copy.to_device ? kComputeCopyIn : kComputeCopyOut;
    command.argument = {copy.offset, copy.space, copy.address, copy.length};
    command.asked = true;
    command.token = copy.token;
    waiting_.push_back(command);
    if (!busy_) begin();
    return true;
  }

  void port_event(std::uint32_t port, const nic::Event& event) override {
    (void)port;
    if (event.kind == nic::EventKind::Failed) {
      failed_ = true;
    } else if (auto kind = static_cast<unsigned>(event.kind); kind < seen_.size()) {
      ++seen_[kind];
    }
    if (busy_ && started_) look_again();
  }

  /// It lies in the ring until a command takes it.
  void port_message(std::uint32_t port, const nic::Message& message) override {
    inbox_.push_back({port, message});
    if (busy_ && started_) look_again();
  }

  void port_closed(std::uint32_t port) override {
    std::erase_if(inbox_, [&](const Received& received) { return received.port == port; });
  }

 private:
  enum Kind : std::uint32_t { Start, KernelEnd, Fetch, Have, Written, Told };
  struct Command {
    std::uint64_t what = 0;
    std::array<std::uint64_t, kComputeArguments> argument{};
    bool interrupts = false;
    bool asked = false;  // by the driver, which hears of its end by a word in memory
    std::uint64_t token = 0;
  };
  struct Received {
    std::uint32_t port;
    nic::Message message;
  };
  struct Burst {
    std::uint64_t offset = 0;
    std::uint32_t length = 0,
                  copy = 0;  // of which command: what a failed one left in flight is not the next's
    Time begun{0};           // on the bus
  };

  std::uint64_t* argument_at(std::uint64_t offset) {
    const std::uint64_t index = (offset - kComputeArgument) / 8;
    return offset >= kComputeArgument && offset % 8 == 0 && index < kComputeArguments ? &next_.argument[index]
                                                                                      : nullptr;
  }

  std::span<std::uint8_t> bytes() { return {memory_.bytes(), memory_.size()}; }

  void take(const Command& command) {
    if (waiting_.size() >= p_.queue_slots) {
      status_ = kComputeQueueFull;
      return interrupt();
    }
    waiting_.push_back(command);
    if (!busy_) begin();
  }

  void begin() {
    busy_ = true;
    started_ = false;
    status_ = kComputeBusy;
    command_ = waiting_.front();
    waiting_.pop_front();
    ++number_;
    fetched_ = written_ = 0;
    const bool copies = command_.what == kComputeCopyIn || command_.what == kComputeCopyOut;
    const bool posts =
        command_.what == kComputePut || command_.what == kComputeGet || command_.what == kComputeSend;
    at(later(now(), copies                     ? p_.copy_startup
                    : is_kernel(command_.what) ? p_.launch
                    : posts                    ? p_.post
                                               : Time{0}),
       Start);
  }

  void act(std::uint32_t kind, std::uint64_t data) override {
    switch (kind) {
      case Start:
        started_ = true;
        return start();
      case KernelEnd:
        return end(run_kernel(bytes(), command_.what, command_.argument) ? kComputeDoneWell
                                                                         : kComputeBadMemory);
      case Fetch:
        fetch_planned_ = false;
        return fetch();
      case Have:
        return have(static_cast<std::uint32_t>(data));
      case Written:
        return written(static_cast<std::uint32_t>(data));
      default:
        return copied(data >> 1, data & 1);
    }
  }

  void start() {
    switch (command_.what) {
      case kComputeCopyIn:
      case kComputeCopyOut:
        return start_copy();
      case kComputePut:
      case kComputeGet:
        return start_operation();
      case kComputeSend:
        return send();
      case kComputeWait:
      case kComputeReceive:
        return look_again();
      default:
        return is_kernel(command_.what) ? start_kernel() : end(kComputeBadCommand);
    }
  }

  void start_kernel() {
    const auto work = kernel_work(bytes(), command_.what, command_.argument);
    if (!work) return end(kComputeBadMemory);
    const double blocks = use_;
    const auto memory = static_cast<double>(p_.memory_bandwidth.value);
    const double each = p_.block_bandwidth.value > 0 ? static_cast<double>(p_.block_bandwidth.value) : memory;
    const double computing = work->operations / (blocks * p_.block_gflops * 1e9);
    const double moving = work->bytes * 8 / std::min(blocks * each, memory);
    const double picoseconds = std::round(std::max(computing, moving) * 1e12);
    kernel_time_ = Time{static_cast<std::int64_t>(std::min(picoseconds, 9e18))};
    at(later(now(), kernel_time_), KernelEnd);
  }

  // --- copies: argument 0 is here, 1 the space, 2 the address there, 3 the length

  bool copies_in() const { return command_.what == kComputeCopyIn; }
  SpaceId there() const { return static_cast<SpaceId>(command_.argument[1]); }
  /// Out to addresses of the bus: over it to the interface.
  bool stores() const { return !copies_in() && command_.argument[1] == kBusSpace; }

  void start_copy() {
    const auto& a = command_.argument;
    if (a[1] > kNoSpace || !(stores() || reaches(there()))) return end(kComputeBadSpace);
    if (a[3] > memory_.size() || a[0] > memory_.size() - a[3]) return end(kComputeBadMemory);
    if (a[3] == 0) return end(kComputeDoneWell);
    copying_ = true;
    engine_free_ = now();
    fetch();
  }

  /// Asks for bursts as fast as the device copies and as long as it has buffers.
  void fetch() {
    while (copying_ && fetched_ < command_.argument[3] && !free_.empty()) {
      if (engine_free_ > now()) {
        if (!fetch_planned_) at(engine_free_, Fetch);
        fetch_planned_ = true;
        return;
      }
      const std::uint32_t buffer = free_.back();
      free_.pop_back();
      const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(
          command_.argument[3] - fetched_, static_cast<std::uint64_t>(p_.burst.value)));
      bursts_[buffer] = {fetched_, length, number_, Time{0}};
      fetched_ += length;
      engine_free_ = later(now(), transfer_time(length, p_.copy_rate.value));
      if (copies_in())
        at(std::max(bus().from_memory(now(), length, there()), engine_free_), Have, buffer);
      else
        at(engine_free_, Have, buffer);
    }
  }

  std::uint8_t* buffer_at(std::uint32_t buffer) {
    return bytes_.data() + static_cast<std::size_t>(buffer) * static_cast<std::size_t>(p_.burst.value);
  }

  void have(std::uint32_t buffer) {
    const Burst& b = bursts_[buffer];
    if (b.copy != number_ || !copying_) return give(buffer);
    if (copies_in()) {
      if (!memory().read(there(), command_.argument[2] + b.offset, buffer_at(buffer), b.length)) {
        end(kComputeBadMemory);
        return give(buffer);
      }
      std::copy_n(buffer_at(buffer), b.length, memory_.bytes() + command_.argument[0] + b.offset);
      return landed(buffer);
    }
    std::copy_n(memory_.bytes() + command_.argument[0] + b.offset, b.length, buffer_at(buffer));
    bursts_[buffer].begun = now();
    at(stores() ? bus().to_device(bus().to_memory(now(), b.length), b.length)
                : bus().to_memory(now(), b.length, there()),
       Written, buffer);
  }

  void written(std::uint32_t buffer) {
    const Burst& b = bursts_[buffer];
    if (b.copy != number_ || !copying_) return give(buffer);
    const std::uint64_t address = command_.argument[2] + b.offset;
    if (stores() ? store(address, {buffer_at(buffer), b.length}, b.begun)
                 : memory().write(there(), address, buffer_at(buffer), b.length))
      return landed(buffer);
    end(kComputeBadMemory);
    give(buffer);
  }

  void landed(std::uint32_t buffer) {
    written_ += bursts_[buffer].length;
    if (written_ == command_.argument[3]) end(kComputeDoneWell);
    give(buffer);
  }

  void give(std::uint32_t buffer) {
    free_.push_back(buffer);
    fetch();
  }

  // --- the network

  void start_operation() {
    const auto& a = command_.argument;
    const bool put = command_.what == kComputePut;
    nic::Descriptor d;
    d.operation = put ? nic::Operation::Put : nic::Operation::Get;
    d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | (put ? nic::kNotifyRemote : 0));
    d.local_key = a[1];
    d.local_offset = a[2];
    d.node = static_cast<std::uint32_t>(a[3] >> 32);
    d.port = static_cast<std::uint32_t>(a[3]);
    d.remote_key = a[4];
    d.remote_offset = a[5];
    d.length = a[6];
    d.operand = a[7];
    d.posted = now().value;
    const bool posted = a[0] <= ~std::uint32_t{0} && post(static_cast<std::uint32_t>(a[0]), d);
    end(posted ? kComputeDoneWell : kComputeNoPort);
  }

  void send() {
    const auto& a = command_.argument;
    if (!has(a[1], a[2])) return end(kComputeBadMemory);
    nic::Descriptor d;
    d.operation = nic::Operation::Message;
    d.length = a[2];  // the interface says where it is too long
    std::copy_n(memory_.bytes() + a[1], std::min<std::uint64_t>(a[2], sizeof d.data), d.data);
    d.node = static_cast<std::uint32_t>(a[3] >> 32);
    d.port = static_cast<std::uint32_t>(a[3]);
    d.tag = static_cast<std::uint32_t>(a[4]);
    d.posted = now().value;
    const bool posted = a[0] <= ~std::uint32_t{0} && post(static_cast<std::uint32_t>(a[0]), d);
    end(posted ? kComputeDoneWell : kComputeNoPort);
  }

  bool has(std::uint64_t offset, std::uint64_t length) const {
    return length <= memory_.size() && offset <= memory_.size() - length;
  }

  /// What a command waits for may have come.
  void look_again() {
    if (command_.what == kComputeWait) return look_for_events();
    if (command_.what == kComputeReceive) look_for_message();
  }

  void look_for_message() {
    if (std::exchange(failed_, false)) return end(kComputeFailed);
    const auto& a = command_.argument;
    constexpr std::uint64_t kWho = 16;
    if (!has(a[1], a[2]) || !has(a[3], kWho)) return end(kComputeBadMemory);
    const auto found = std::find_if(inbox_.begin(), inbox_.end(),
                                    [&](const Received& received) { return received.port == a[0]; });
    if (found == inbox_.end()) return;
    const nic::Message& m = found->message;
    if (m.length > a[2]) return end(kComputeBadMemory);  // it stays, for a command with room
    std::copy_n(m.data, m.length, memory_.bytes() + a[1]);
    const std::uint64_t who[] = {std::uint64_t{m.node} << 32 | m.port, std::uint64_t{m.tag} << 32 | m.length};
    std::memcpy(memory_.bytes() + a[3], who, sizeof who);
    const bool damaged = m.flags & nic::kDamaged;
    taken(found->port);
    inbox_.erase(found);
    end(damaged ? kComputeFailed : kComputeDoneWell);
  }

  /// What a wait is for, if it is there.
  void look_for_events() {
    if (std::exchange(failed_, false)) return end(kComputeFailed);
    const auto& a = command_.argument;
    if (a[0] >= seen_.size()) return end(kComputeBadCommand);
    if (seen_[a[0]] < a[1]) return;
    seen_[a[0]] -= a[1];
    end(kComputeDoneWell);
  }

  void end(std::uint64_t status) {
    busy_ = copying_ = false;
    status_ = status;
    ++done_;
    if (command_.interrupts) interrupt();
    if (command_.asked)
      at(bus().to_memory(now(), 8), Told, command_.token << 1 | (status == kComputeDoneWell ? 1 : 0));
    if (!waiting_.empty()) begin();
  }

  const ComputeParameters p_;
  Backing memory_;
  OwnMemory own_;
  std::vector<std::uint8_t> bytes_;  // of all buffers
  std::vector<Burst> bursts_;        // by buffer
  std::vector<std::uint32_t> free_;
  std::deque<Command> waiting_;
  Command next_, command_;  // as the registers say; and the one under way
  bool busy_ = false, started_ = false, copying_ = false, fetch_planned_ = false;
  std::uint32_t number_ = 0;
  std::uint64_t fetched_ = 0, written_ = 0;  // bytes of the copy
  Time engine_free_{0}, kernel_time_{0};
  unsigned use_;                          // blocks that kernels are spread over
  std::array<std::uint64_t, 16> seen_{};  // events that no wait has taken, by kind
  std::deque<Received> inbox_;            // messages that no command has taken
  bool failed_ = false;
  std::uint64_t status_ = kComputeIdle, done_ = 0;
};

std::unique_ptr<Device> make_compute(const ComputeParameters& p, const Slot& slot) {
  return std::make_unique<Compute>(p, slot);
}

WEFT_REGISTER(DeviceKind,
              device_kind<ComputeParameters>(
                  "compute",
                  "computes on memory of its own: kernels over blocks, copies, puts, gets and messages",
                  compute_section(), make_compute));

}  // namespace

}  // namespace weft::node
