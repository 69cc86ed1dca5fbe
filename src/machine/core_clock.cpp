#include "machine/core_clock.hpp"

#include <algorithm>

namespace weft::machine {

namespace {

/// value * up / down, rounded to the nearest.
std::int64_t scaled(std::int64_t value, __int128 up, __int128 down) {
  return static_cast<std::int64_t>((value * up + down / 2) / down);
}

void check_core(const CoreParameters& core, const config::Complain& complain) {
  auto both = [&](std::int64_t now, std::int64_t nominal, const char* key, const char* other) {
    if (now > 0 && nominal == 0)
      complain(other, fmt::format("is not given, so nothing can follow from core.{}; expected the value at "
                                  "which the times and rates of this description hold",
                                  key));
  };
  both(core.clock.value, core.nominal_clock.value, "clock", "nominal_clock");
  both(core.width.value, core.nominal_width.value, "width", "nominal_width");
}

}  // namespace

const config::Section& core_section() {
  using P = CoreParameters;
  using config::Range;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::clock, "clock",
                 "Clock of the chip with interface, router and links; 0: the nominal one. Times of the "
                 "interface, the routers and the transceivers and the rates of cables follow it",
                 Range<Frequency>{{0}, {100'000'000'000}})
          .field(&P::nominal_clock, "nominal_clock",
                 "The clock at which the times and rates of this description hold",
                 Range<Frequency>{{0}, {100'000'000'000}})
          .field(&P::width, "width",
                 "What the chip's data path moves in a cycle; 0: the nominal width. Rates of cables and the "
                 "size of a flit follow it",
                 Range<DataSize>{{0}, {1024}})
          .field(&P::nominal_width, "nominal_width", "The width at which this description holds",
                 Range<DataSize>{{0}, {1024}})
          .check(check_core)
          .section();
  return section;
}

void apply_core(const CoreParameters& core, NicParameters& nic, RouterParameters& router,
                std::vector<topology::CableType>& cables) {
  std::int64_t clock = core.clock.value ? core.clock.value : 1,
               nominal = core.clock.value ? core.nominal_clock.value : 1,
               width = core.width.value ? core.width.value : 1,
               nominal_width = core.width.value ? core.nominal_width.value : 1;
  if (clock == nominal && width == nominal_width) return;
  auto in_cycles = [&](Time& time) { time = {scaled(time.value, nominal, clock)}; };
  for (Time* time : {&nic.occupancy, &nic.send_latency, &nic.receive_latency, &nic.adapter_latency,
                     &nic.translation_hit, &nic.split_repair, &router.latency})
    in_cycles(*time);
  for (topology::CableType& cable : cables) {
    in_cycles(cable.delay);
    auto rate = [&](DataRate& r) {
      r = {scaled(r.value, static_cast<__int128>(clock) * width,
                  static_cast<__int128>(nominal) * nominal_width)};
    };
    rate(cable.lane_rate);
    for (DataRate& fallback : cable.fallback_rates) rate(fallback);
  }
  router.clock = {scaled(router.clock.value, clock, nominal)};
  router.flit = {std::max<std::int64_t>(1, scaled(router.flit.value, width, nominal_width))};
}

void apply_processor(const ProcessorParameters& processor, HostParameters& host, MpiParameters& mpi) {
  const std::int64_t clock = processor.pace().value, nominal = processor.nominal_clock.value;
  if (clock == 0 || nominal == 0 || clock == nominal) return;
  for (Time* time : {&host.post_cost, &host.poll_cost, &host.receive_cost, &host.cache_read,
                     &host.system_call, &mpi.send_cost, &mpi.receive_cost, &mpi.match_cost, &mpi.test_cost})
    *time = {scaled(time->value, nominal, clock)};
  // What a program computes between its calls: measured on a core of the nominal clock, or fixed for it.
  host.compute_fixed = {scaled(host.compute_fixed.value, nominal, clock)};
  host.compute_scale *= static_cast<double>(nominal) / static_cast<double>(clock);
}

}  // namespace weft::machine
