// What a description says about network interfaces ([nic]) and the hosts they sit in ([host]).
//
// All interfaces have one shape; a kind is a set of defaults for it, after one of the papers.
#pragma once

#include <string>

#include "config/registry.hpp"
#include "node/bus.hpp"

namespace weft::machine {

enum class Translation { None, Cache, Preloaded };
enum class FullQueue { Refuse, Stall };
enum class Order { None, Sequence };
enum class GlobalMap { Dynamic, Static };
enum class Compute { None, Measured, Fixed };

struct NicParameters {
  unsigned ports = 64;
  unsigned memory_queues = 0;
  unsigned queue_buffers = 0;
  unsigned buffer_slots = 16;
  double split_stores = 0;
  Time split_repair{200'000};
  unsigned queue_slots = 64;
  FullQueue full_queue = FullQueue::Refuse;
  unsigned hold_slots = 0;
  unsigned message_slots = 256;
  unsigned event_slots = 256;
  DataSize message_limit{120};
  DataSize immediate_limit{96};
  DataSize rdma_limit{128ll << 20};
  DataSize payload{256};
  DataSize header{32};
  DataSize descriptor{128};
  unsigned units = 4;
  Time occupancy{10'000};
  Time send_latency{50'000};
  Time receive_latency{50'000};
  Time adapter_latency{0};
  unsigned window = 64;
  Order order = Order::Sequence;
  unsigned order_window = 0;
  DataSize page{4096};
  Translation translation = Translation::Cache;
  unsigned translation_entries = 65'536;
  unsigned translation_ways = 8;
  Time translation_hit{5'000};
  Time translation_miss{300'000};
  Time second_stage{0};
  unsigned physical_bits = 56;
  GlobalMap global_map = GlobalMap::Dynamic;
  unsigned channels = 0;
  unsigned kernel_ports = 0;
  bool microcontroller = false;
  Time registration{1'000'000};
  Time registration_page{50'000};
  unsigned registration_cache = 0;
  Time registration_hit{50'000};
  Time watchdog{1'000'000'000};
  unsigned interrupt_slots = 64;
  unsigned error_slots = 0;
  unsigned send_contexts = 256;
  unsigned receive_contexts = 256;
  Time timeout{100'000'000};
  unsigned retries = 8;
  double corruption = 0;
  unsigned triggers = 0;
  unsigned trigger_inputs = 32;
  unsigned trigger_rounds = 16;
  Time trigger_time{20'000};
  unsigned operation_units = 0;
  Time operation_time{2'000};
  Time register_access{20'000};
  unsigned manager = 0;
};

enum class Bus {
  PcieGen1x8,
  PcieGen2x8,
  PcieGen2x16,
  PcieGen3x8,
  PcieGen3x16,
  PcieGen4x16,
  HyperTransport400x16,
  HyperTransport800x16,
  Axi128,
};

/// Bytes that go the other way for each transaction of a bus: acknowledgements and credits.
unsigned bus_acknowledgement(Bus bus);
/// Serial lanes of a bus, each with a transceiver; 0: it is parallel.
unsigned bus_lanes(Bus bus);

struct HostParameters {
  Bus bus = Bus::PcieGen3x16;
  DataSize bus_payload{256};
  DataSize write_combining{0};
  DataSize read_request{512};
  unsigned tags = 32;
  Time write_latency{150'000};
  Time read_latency{200'000};
  Time snoop{0};
  bool cache_injection = false;
  Time memory_read{60'000};
  Time cache_read{15'000};
  Time post_cost{40'000};
  Time poll_cost{20'000};
  Time receive_cost{30'000};
  Time system_call{500'000};
  Time interrupt{5'000'000};
  Compute compute = Compute::None;
  double compute_scale = 1;
  Time compute_fixed{0};

  /// What the bus carries each way after its line coding.
  DataRate bus_rate() const;
  /// Bytes of framing around each of its transactions.
  unsigned bus_overhead() const;
  node::BusParameters bus_parameters() const;
};

/// A kind of interface: the same keys as any other, with defaults of its own.
struct NicKind {
  std::string name, about;
  config::Section section;
  const NicParameters& (*view)(const void* parameters);
};

inline constexpr const char* kDefaultNic = "generic";

const config::Section& host_section();

}  // namespace weft::machine
