// A DMA copy engine: copies between memory spaces of its node, one descriptor after the other, without the
// processor.
//
// A descriptor is five registers and a doorbell. The engine reads a burst over the bus into one of its
// buffers and writes it from there, several bursts at a time, so that reads and writes overlap and each goes
// at the lower of bus and engine rate:
//
//   time = startup + (length - burst) / rate + time of one burst alone, read and write latency included
#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "node/device.hpp"
#include "node/dma_registers.hpp"
#include "node/kind.hpp"

namespace weft::node {

namespace {

struct DmaParameters {
  DataRate rate{100'000'000'000};
  Time startup{300'000};
  DataSize burst{4096};
  unsigned buffers = 8;
  unsigned queue_slots = 16;
};

class DmaEngine final : public Device {
 public:
  DmaEngine(const DmaParameters& p, const Slot& slot)
      : Device(slot), p_(p), bytes_(static_cast<std::size_t>(p.burst.value) * p.buffers) {
    for (unsigned i = p.buffers; i > 0; --i) free_.push_back(i - 1);
    bursts_.resize(p.buffers);
  }

  std::uint64_t read_register(std::uint64_t offset) override {
    switch (offset) {
      case kDmaSourceSpace:
        return next_.source_space;
      case kDmaSourceAddress:
        return next_.source_address;
      case kDmaTargetSpace:
        return next_.target_space;
      case kDmaTargetAddress:
        return next_.target_address;
      case kDmaLength:
        return next_.length;
      case kDmaStatus:
        return status_;
      case kDmaDone:
        return done_;
      default:
        return kNoRegister;
    }
  }

  void write_register(std::uint64_t offset, std::uint64_t value) override {
    switch (offset) {
      case kDmaSourceSpace:
        next_.source_space = value;
        break;
      case kDmaSourceAddress:
        next_.source_address = value;
        break;
      case kDmaTargetSpace:
        next_.target_space = value;
        break;
      case kDmaTargetAddress:
        next_.target_address = value;
        break;
      case kDmaLength:
        next_.length = value;
        break;
      case kDmaDoorbell:
        ring();
        break;
      default:
        break;
    }
  }

 private:
  enum Kind : std::uint32_t { Start, Fetch, Have, Written };
  struct Copy {
    std::uint64_t source_space = 0, source_address = 0, target_space = 0, target_address = 0, length = 0;
  };
  struct Burst {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t copy = 0;  // of which descriptor: what a failed one left in flight is not the next one's
  };

  void ring() {
    if (waiting_.size() == p_.queue_slots) {
      status_ = kDmaQueueFull;
      return interrupt();
    }
    waiting_.push_back(next_);
    if (!busy_) begin();
  }

  void begin() {
    busy_ = true;
    status_ = kDmaBusy;
    copy_ = waiting_.front();
    waiting_.pop_front();
    fetched_ = written_ = 0;
    ++number_;
    at(now() + p_.startup, Start);
  }

  void act(std::uint32_t kind, std::uint64_t data) override {
    switch (kind) {
      case Start:
        if (!fits(copy_.source_space) || !fits(copy_.target_space)) return end(kDmaBadSpace);
        if (copy_.length == 0) return end(kDmaDoneWell);
        running_ = true;
        engine_free_ = now();
        return fetch();
      case Fetch:
        fetch_planned_ = false;
        return fetch();
      case Have:
        return have(static_cast<std::uint32_t>(data));
      default:
        return written(static_cast<std::uint32_t>(data));
    }
  }

  bool fits(std::uint64_t space) const {
    return space <= ~SpaceId{0} && reaches(static_cast<SpaceId>(space));
  }

  /// Requests bursts as fast as the engine goes and as long as it has buffers.
  void fetch() {
    while (running_ && fetched_ < copy_.length && !free_.empty()) {
      if (engine_free_ > now()) {
        if (!fetch_planned_) at(engine_free_, Fetch);
        fetch_planned_ = true;
        return;
      }
      std::uint32_t buffer = free_.back();
      free_.pop_back();
      auto length = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(copy_.length - fetched_, static_cast<std::uint64_t>(p_.burst.value)));
      bursts_[buffer] = {fetched_, length, number_};
      fetched_ += length;
      engine_free_ = later(std::max(engine_free_, now()), transfer_time(length, p_.rate.value));
      at(std::max(bus().from_memory(now(), length), engine_free_), Have, buffer);
    }
  }

  std::uint8_t* buffer_of(std::uint32_t buffer) {
    return bytes_.data() + static_cast<std::size_t>(buffer) * static_cast<std::size_t>(p_.burst.value);
  }

  void have(std::uint32_t buffer) {
    const Burst& b = bursts_[buffer];
    if (b.copy != number_ || !running_) return give(buffer);
    if (!memory().read(static_cast<SpaceId>(copy_.source_space), copy_.source_address + b.offset,
                       buffer_of(buffer), b.length)) {
      end(kDmaBadMemory);
      return give(buffer);
    }
    at(bus().to_memory(now(), b.length), Written, buffer);
  }

  void written(std::uint32_t buffer) {
    const Burst& b = bursts_[buffer];
    if (b.copy == number_ && running_) {
      if (!memory().write(static_cast<SpaceId>(copy_.target_space), copy_.target_address + b.offset,
                          buffer_of(buffer), b.length)) {
        end(kDmaBadMemory);
      } else if ((written_ += b.length) == copy_.length) {
        end(kDmaDoneWell);
      }
    }
    give(buffer);
  }

  void give(std::uint32_t buffer) {
    free_.push_back(buffer);
    fetch();
  }

  void end(std::uint64_t status) {
    busy_ = running_ = false;
    status_ = status;
    ++done_;
    interrupt();
    if (!waiting_.empty()) begin();
  }

  const DmaParameters p_;
  std::vector<std::uint8_t> bytes_;  // of all buffers
  std::vector<Burst> bursts_;        // by buffer
  std::vector<std::uint32_t> free_;
  std::deque<Copy> waiting_;
  Copy next_, copy_;      // as the registers say; and the one under way
  bool busy_ = false;     // a descriptor is being worked on
  bool running_ = false;  // and its startup is over
  bool fetch_planned_ = false;
  std::uint32_t number_ = 0;
  std::uint64_t fetched_ = 0, written_ = 0;  // bytes of it
  Time engine_free_{0};
  std::uint64_t status_ = kDmaIdle, done_ = 0;
};

std::unique_ptr<Device> make_dma(const DmaParameters& p, const Slot& slot) {
  return std::make_unique<DmaEngine>(p, slot);
}

using config::Range;
using P = DmaParameters;

WEFT_REGISTER(DeviceKind,
              device_kind<P>(
                  "dma", "copies between memory spaces of its node, without the processor",
                  config::Schema<P>()
                      .field(&P::rate, "rate", "What the engine moves, each way",
                             Range<DataRate>{{1'000'000}, {100'000'000'000'000}})
                      .field(&P::startup, "startup", "From a descriptor to its first request for data",
                             Range<Time>{{0}, {1'000'000'000'000}})
                      .field(&P::burst, "burst", "What is read and written at once",
                             Range<DataSize>{{64}, {1 << 20}})
                      .field(&P::buffers, "buffers", "Bursts under way at a time", Range<unsigned>{1, 64})
                      .field(&P::queue_slots, "queue_slots",
                             "Descriptors that wait behind the one being worked on", Range<unsigned>{1, 4096})
                      .section(),
                  make_dma));

}  // namespace

}  // namespace weft::node
