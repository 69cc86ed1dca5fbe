// The postal model: every packet takes the same time, whatever its length and wherever it goes, and a source
// sends one after the other.
#include "event/event_queue.hpp"
#include "network/network.hpp"

namespace weft::network {

namespace {

constexpr Time kEach{100'000}, kTransit{1'000'000};

class Postal final : public Network {
 public:
  explicit Postal(const machine::Machine& machine) : free_at_(machine.graph->endpoints()) {}

  bool idle() const override { return notices_.empty(); }

 private:
  void accept(const Packet& packet, Time at) override {
    Time left = std::max(at, free_at_[packet.source]) + kEach;
    free_at_[packet.source] = left;
    push(left, packet.tag, Notice::Kind::Departed);
    push(left + kTransit, packet.tag, Notice::Kind::Delivered);
  }

  /// One batch: the notices of the first time there are any of, and what the caller cannot answer before.
  void run(Time until, std::vector<Notice>& notices) override {
    if (notices_.empty()) return;
    const Time first = notices_.top().at;
    while (!notices_.empty() && notices_.top().at <= until && in_batch(first, notices_.top().at)) {
      const event::Event told = notices_.pop();
      notices.push_back({told.data, told.at, static_cast<Notice::Kind>(told.kind)});
    }
  }

  void push(Time at, Tag tag, Notice::Kind kind) {
    notices_.push(at, 0, static_cast<std::uint32_t>(kind), tag);
  }

  std::vector<Time> free_at_;  // by endpoint
  event::EventHeap notices_;
};

WEFT_REGISTER(EngineKind,
              {"postal", "the same time for every packet",
               [](const machine::Machine& machine, const EngineOptions&) -> std::unique_ptr<Network> {
                 return std::make_unique<Postal>(machine);
               }});

}  // namespace

}  // namespace weft::network
