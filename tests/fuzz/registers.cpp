// Registers of a disk, written and read by a driver that knows nothing, over memory that holds anything: the
// disk asks for no memory that it does not wait for, answers what it is asked, and never crashes.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "node/express_kind.hpp"
#include "node/node.hpp"
#include "node/nvme_commands.hpp"

namespace weft::fuzz {

namespace {

using namespace pcie;

void expect(bool holds) {
  if (!holds) std::abort();
}

class Nowhere final : public node::Memory, public node::Processor {
 public:
  bool read(node::SpaceId, std::uint64_t, void*, std::uint64_t) override { return false; }
  bool write(node::SpaceId, std::uint64_t, const void*, std::uint64_t) override { return false; }
  bool has_space(node::NodeId, node::SpaceId) const override { return false; }
};

/// A host of 64 KiB, which repeat.
class Host final : public Upstream {
 public:
  static constexpr std::uint64_t kSize = 65'536;
  explicit Host(std::span<const std::uint8_t> seed) : memory_(kSize) {
    for (std::size_t i = 0; !seed.empty() && i < kSize; ++i) memory_[i] = seed[i % seed.size()];
  }

  void send(FunctionId, const Tlp& tlp, std::span<const std::uint8_t> data) override {
    expect(tlp.kind == TlpKind::MemoryRead || tlp.kind == TlpKind::MemoryWrite);
    expect(tlp.bytes > 0 && tlp.address % kPage + tlp.bytes <= kPage);
    if (tlp.kind == TlpKind::MemoryRead) return reads_.push_back(tlp);
    expect(data.size() == tlp.bytes);
    for (std::size_t i = 0; i < data.size(); ++i) at(tlp.address + i) = data[i];
  }

  std::uint8_t& at(std::uint64_t address) { return memory_[address % kSize]; }

  bool is_asked() const { return !reads_.empty(); }
  /// Answers the oldest read, or says that it fails.
  void answer(Function& function, bool well) {
    if (reads_.empty()) return;
    const Tlp tlp = reads_.front();
    reads_.pop_front();
    if (!well) return function.completed(failure_of(tlp, {}, CompletionStatus::Unsupported), {});
    std::vector<std::uint8_t> data(tlp.bytes);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = at(tlp.address + i);
    function.completed(completion_of(tlp, {}, 0, tlp.bytes), data);
  }

 private:
  std::vector<std::uint8_t> memory_;
  std::deque<Tlp> reads_;
};

/// The driver's deeds, one after the other.
class Deeds {
 public:
  explicit Deeds(std::span<const std::uint8_t> bytes) : left_(bytes) {}
  bool empty() const { return left_.empty(); }
  std::uint32_t take(unsigned bytes) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes && !left_.empty(); ++i, left_ = left_.subspan(1))
      value |= std::uint32_t{left_[0]} << 8 * i;
    return value;
  }

 private:
  std::span<const std::uint8_t> left_;
};

void run_events(event::EventQueue& queue, unsigned most) {
  for (unsigned i = 0; i < most && !queue.empty(); ++i) queue.step();
}

void carry_out(Deeds& deeds, Function& function, Host& host, event::EventQueue& queue) {
  const std::uint32_t deed = deeds.take(1);
  const std::uint32_t offset = deeds.take(2) % (node::kNvmeBarSize - 8);
  switch (deed % 8) {
    case 0:
    case 1:
    case 2: {
      const std::uint32_t value = deeds.take(4);
      std::uint8_t data[4];
      std::memcpy(data, &value, 4);
      return function.bar_write(0, deed % 8 == 0 ? offset : offset & ~3u,
                                std::span(data).first(1 + (deed >> 3) % 4));
    }
    case 3: {
      std::uint8_t room[8];
      return function.bar_read(0, offset, std::span(room).first(1 + (deed >> 3) % 8));
    }
    case 4:
      return host.answer(function, true);
    case 5:
      return host.answer(function, false);
    case 6:
      return run_events(queue, 64);
    default:
      if (deed >> 3 == 31) return function.reset();
      host.at(offset * 4) = static_cast<std::uint8_t>(deeds.take(1));
  }
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::size_t half = size / 2;
  fuzz::Nowhere nowhere;
  event::EventQueue queue;
  node::Node site(0, {}, Time{0}, queue, nowhere, nowhere);
  const node::DeviceKind& kind = *node::DeviceKinds::find("nvme");
  const std::shared_ptr<void> parameters = kind.section.make();
  site.add(kind.make(parameters.get(), site.next_slot("disk")));
  auto& function = dynamic_cast<pcie::Function&>(site.device(0));
  fuzz::Host host({data, half});
  function.join(host);
  fuzz::Deeds deeds({data + half, size - half});
  for (unsigned i = 0; i < 4096 && !deeds.empty(); ++i) fuzz::carry_out(deeds, function, host, queue);
  for (unsigned i = 0; i < 4096 && (host.is_asked() || !queue.empty()); ++i) {
    host.answer(function, true);
    fuzz::run_events(queue, 8);
  }
  return 0;
}
