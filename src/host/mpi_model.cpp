#include "host/mpi_model.hpp"

namespace weft::host {

abi::MpiModel mpi_model_of(const machine::Description& description) {
  const machine::MpiParameters& m = description.mpi;
  auto bytes = [](DataSize size) { return static_cast<std::uint64_t>(size.value); };
  return {.eager_limit = bytes(m.eager_limit),
          .eager = static_cast<std::uint32_t>(m.eager),
          .rendezvous = static_cast<std::uint32_t>(m.rendezvous),
          .ack = static_cast<std::uint32_t>(m.ack),
          .matching = static_cast<std::uint32_t>(m.matching),
          .send_cost = m.send_cost.value,
          .receive_cost = m.receive_cost.value,
          .match_cost = m.match_cost.value,
          .copy_bits_per_second = m.copy_rate.value,
          .get_size = bytes(m.get_size),
          .gets = m.gets,
          .send_delay = m.send_delay.value,
          .send_delay_per_kib = m.send_delay_per_kib.value,
          .credits = m.credits,
          .credits_most = m.credits_most,
          .block = static_cast<std::uint32_t>(bytes(m.block)),
          .blocks = m.blocks,
          .ring_blocks = m.ring_blocks,
          .in_order = description.nic.order == machine::Order::Sequence,
          .reliable = description.nic.corruption > 0,
          .progress = static_cast<std::uint32_t>(m.progress)};
}

}  // namespace weft::host
