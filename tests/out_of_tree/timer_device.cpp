// A timer: interrupts its processor a while after it was told to.
#include "node/device.hpp"
#include "node/kind.hpp"

namespace weft::node {

namespace {

struct TimerParameters {
  Time tick{1'000'000};
};

class Timer final : public Device {
 public:
  Timer(const TimerParameters& p, const Slot& slot) : Device(slot), tick_(p.tick) {}

  // Register 0: ticks from now; register 8: how often it has gone off.
  void write_register(std::uint64_t offset, std::uint64_t value) override {
    if (offset == 0 && value <= 1'000'000)
      at(now() + Time{tick_.value * static_cast<std::int64_t>(value)}, 0);
  }
  std::uint64_t read_register(std::uint64_t offset) override { return offset == 8 ? fired_ : kNoRegister; }

 private:
  void act(std::uint32_t, std::uint64_t) override {
    ++fired_;
    interrupt();
  }

  Time tick_;
  std::uint64_t fired_ = 0;
};

std::unique_ptr<Device> make_timer(const TimerParameters& p, const Slot& slot) {
  return std::make_unique<Timer>(p, slot);
}

WEFT_REGISTER(DeviceKind,
              device_kind<TimerParameters>("timer", "interrupts its processor a while after it was told to",
                                           config::Schema<TimerParameters>()
                                               .field(&TimerParameters::tick, "tick", "Length of a tick",
                                                      config::Range<Time>{{1000}, {1'000'000'000}})
                                               .section(),
                                           make_timer));

}  // namespace

}  // namespace weft::node
