#include "machine/nic_parameters.hpp"

#include "pcie/link.hpp"

namespace weft::machine {

using config::Range;

namespace {

// P is NicParameters with other defaults; all kinds share these declarations.
using N = NicParameters;
constexpr Range<Time> kAnyTime{{0}, {1'000'000'000'000}};

template <class P>
config::Schema<P>&& ports_and_queues(config::Schema<P>&& schema) {
  return std::move(schema)
      .template field<unsigned>(&N::ports, "ports", "Ports of an interface that processes can open",
                                Range<unsigned>{0, 1024})
      .template field<unsigned>(
          &N::memory_queues, "memory_queues",
          "How many of the ports, the last ones, take work from a queue in memory after a "
          "doorbell; into the others the processor writes descriptors itself",
          Range<unsigned>{0, 1024})
      .template field<unsigned>(
          &N::queue_buffers, "queue_buffers",
          "Buffers on the chip that the queues in memory share, each a part of the queues; 0: no limit",
          Range<unsigned>{0, 1024})
      .template field<unsigned>(&N::buffer_slots, "buffer_slots",
                                "Descriptors such a buffer holds, whichever of its queues they are from",
                                Range<unsigned>{1, 4096})
      .template field<double>(
          &N::split_stores, "split_stores",
          "Share of posts by stores that reach the interface in pieces, as after an interrupt of the "
          "processor",
          Range<double>{0, 1})
      .template field<Time>(&N::split_repair, "split_repair",
                            "Time to notice such a post and put it together", kAnyTime)
      .template field<unsigned>(&N::queue_slots, "queue_slots", "Descriptors a port's submission queue holds",
                                Range<unsigned>{0, 4096})
      .choice(static_cast<FullQueue P::*>(&N::full_queue), "full_queue",
              "What a post before a full queue does: it is refused, or the processor stands until there is "
              "room or the watchdog lets it go",
              {"refuse", "stall"})
      .template field<unsigned>(
          &N::hold_slots, "hold_slots",
          "Messages an interface holds for full rings before it pauses those who send to it; 0: no limit",
          Range<unsigned>{0, 65'536})
      .template field<unsigned>(&N::message_slots, "message_slots",
                                "Small messages a port's ring holds, or fewer where a program asks for fewer",
                                Range<unsigned>{0, 65'536})
      .template field<unsigned>(&N::event_slots, "event_slots", "Events a port's queue holds",
                                Range<unsigned>{0, 65'536});
}

template <class P>
config::Schema<P>&& packets_and_units(config::Schema<P>&& schema) {
  return std::move(schema)
      .template field<DataSize>(&N::message_limit, "message_limit", "Largest small message",
                                Range<DataSize>{{8}, {128}})
      .template field<DataSize>(&N::immediate_limit, "immediate_limit",
                                "Largest put that carries its data in the descriptor",
                                Range<DataSize>{{8}, {128}})
      .template field<DataSize>(&N::rdma_limit, "rdma_limit", "Largest put or get",
                                Range<DataSize>{{1}, {std::int64_t{1} << 40}})
      .template field<DataSize>(&N::payload, "payload", "Most data in one packet of a put or get",
                                Range<DataSize>{{8}, {65'536}})
      .template field<DataSize>(&N::header, "header", "Bytes of header, check and gap around a packet's data",
                                Range<DataSize>{{0}, {1024}})
      .template field<DataSize>(&N::descriptor, "descriptor", "Size of a descriptor on the host's bus",
                                Range<DataSize>{{8}, {1024}})
      .template field<unsigned>(&N::units, "units", "Protocol units that work side by side, each way",
                                Range<unsigned>{1, 256})
      .template field<Time>(&N::occupancy, "occupancy", "A unit's time for one packet", kAnyTime)
      .template field<Time>(&N::send_latency, "send_latency",
                            "From a descriptor or data on the chip to the network", kAnyTime)
      .template field<Time>(&N::receive_latency, "receive_latency", "From the network to the host's bus",
                            kAnyTime)
      .template field<Time>(&N::adapter_latency, "adapter_latency",
                            "Further time of a packet of a put or get, each way: an adapter makes it from a "
                            "burst on the bus and a burst from it",
                            kAnyTime)
      .template field<unsigned>(&N::window, "window", "Packets a unit's buffer holds until they have left",
                                Range<unsigned>{1, 65'536})
      .choice(static_cast<Order P::*>(&N::order), "order",
              "What one port sends to one interface is put back in order by sequence numbers where the "
              "network did not keep it, or is taken as it comes",
              {"none", "sequence"})
      .template field<unsigned>(
          &N::order_window, "order_window",
          "Packets of one port to one interface that may be under way or wait for their turn there; the "
          "receiver acknowledges them by halves. 0: no limit",
          Range<unsigned>{0, 65'536});
}

template <class P>
config::Schema<P>&& addresses(config::Schema<P>&& schema) {
  return std::move(schema)
      .template field<DataSize>(&N::page, "page", "Page of the translation table",
                                Range<DataSize>{{64}, {std::int64_t{1} << 30}})
      .choice(
          static_cast<Translation P::*>(&N::translation), "translation",
          "How addresses become physical: not at all, by a cache on the chip, or by a table that holds all",
          {"none", "cache", "preloaded"})
      .template field<unsigned>(&N::translation_entries, "translation_entries", "Pages the cache holds",
                                Range<unsigned>{1, 16'777'216})
      .template field<unsigned>(&N::translation_ways, "translation_ways", "Ways of a set of the cache",
                                Range<unsigned>{1, 64})
      .template field<Time>(&N::translation_hit, "translation_hit", "Time of a translation on the chip",
                            kAnyTime)
      .template field<Time>(&N::translation_miss, "translation_miss",
                            "Further time where the table is in memory", kAnyTime)
      .template field<Time>(&N::second_stage, "second_stage",
                            "Further time of a miss for a second stage of translation; 0: there is one stage",
                            kAnyTime)
      .template field<unsigned>(&N::physical_bits, "physical_bits",
                                "Bits of a physical address: what a node's registered memory must fit in",
                                Range<unsigned>{20, 56})
      .choice(static_cast<GlobalMap P::*>(&N::global_map), "global_map",
              "Places of memory in a global address: given out at registration, and what lies behind one may "
              "change; or the physical addresses themselves, which never change",
              {"dynamic", "static"})
      .template field<unsigned>(
          &N::channels, "channels",
          "DMA channels of an interface: each belongs to one protection domain and does its puts and gets "
          "one "
          "after the other; ports in no domain have none. 0: puts and gets need no channel",
          Range<unsigned>{0, 65'536})
      .template field<unsigned>(&N::kernel_ports, "kernel_ports",
                                "How many of the ports, the first ones, are the kernel's: they may use "
                                "physical addresses, which are "
                                "not translated",
                                Range<unsigned>{0, 1024})
      .template field<bool>(
          &N::microcontroller, "microcontroller",
          "A processor on the interface keeps the translation table: pages that are registered and "
          "translations that miss are its work, one after the other")
      .template field<Time>(&N::registration, "registration", "Cost of registering memory", kAnyTime)
      .template field<Time>(&N::registration_page, "registration_page", "Further cost for each page of it",
                            kAnyTime)
      .template field<unsigned>(&N::registration_cache, "registration_cache",
                                "Registrations a port's library remembers, so that the same memory is not "
                                "registered again; 0: none",
                                Range<unsigned>{0, 65'536})
      .template field<Time>(&N::registration_hit, "registration_hit",
                            "The processor's time to look for memory among them", kAnyTime);
}

template <class P>
config::Schema<P>&& errors_and_repetition(config::Schema<P>&& schema) {
  return std::move(schema)
      .template field<Time>(
          &N::watchdog, "watchdog",
          "How long a message waits for a full ring before it is told, and a processor stands before "
          "a full queue",
          kAnyTime)
      .template field<unsigned>(
          &N::interrupt_slots, "interrupt_slots",
          "Causes of interrupts the queue of an interface holds; all its ports share it",
          Range<unsigned>{1, 65'536})
      .template field<unsigned>(&N::error_slots, "error_slots",
                                "Refused packets an interface keeps for those who look for an error; 0: none",
                                Range<unsigned>{0, 65'536})
      .template field<unsigned>(&N::send_contexts, "send_contexts",
                                "Reliable operations under way at a sender", Range<unsigned>{1, 65'536})
      .template field<unsigned>(&N::receive_contexts, "receive_contexts",
                                "Reliable operations under way at a receiver", Range<unsigned>{1, 65'536})
      .template field<Time>(
          &N::timeout, "timeout",
          "Time after which a reliable operation is sent again; the next time twice that, up to 64 times",
          Range<Time>{{1000}, {1'000'000'000'000}})
      .template field<unsigned>(&N::retries, "retries", "How often it is sent again before it fails",
                                Range<unsigned>{0, 1000})
      .template field<double>(
          &N::corruption, "corruption",
          "Share of packets with an error that no link noticed; reliable operations repair it",
          Range<double>{0, 0.5});
}

template <class P>
config::Schema<P>&& triggered_operations(config::Schema<P>&& schema) {
  return std::move(schema)
      .template field<unsigned>(
          &N::triggers, "triggers",
          "Sequences of descriptors that a port may have waiting for control packets, which run collectives "
          "without the processor; 0: the interface has none",
          Range<unsigned>{0, 65'536})
      .template field<unsigned>(&N::trigger_inputs, "trigger_inputs",
                                "Control packets such a sequence can wait for at once: children in a tree",
                                Range<unsigned>{1, 64})
      .template field<unsigned>(
          &N::trigger_rounds, "trigger_rounds",
          "Rounds of one sequence whose control packets the interface holds: collectives under way on one "
          "communicator",
          Range<unsigned>{2, 1024})
      .template field<Time>(&N::trigger_time, "trigger_time",
                            "From the last control packet a sequence waits for to its first step", kAnyTime)
      .template field<unsigned>(
          &N::operation_units, "operation_units",
          "Units that combine numbers of control packets side by side, for reductions; 0: there are none, "
          "and reductions stay with the processor",
          Range<unsigned>{0, 1024})
      .template field<Time>(&N::operation_time, "operation_time", "Such a unit's time for two numbers",
                            kAnyTime);
}

template <class P>
config::Schema<P>&& registers(config::Schema<P>&& schema) {
  return std::move(schema)
      .template field<Time>(
          &N::register_access, "register_access",
          "From a request at the register file of a chip to its answer, one after the other", kAnyTime)
      .template field<unsigned>(
          &N::manager, "manager",
          "The node that has the rights of the manager on the registers of every chip, until it hands them "
          "over");
}

void check_nic(const N& p, const config::Complain& complain) {
  if (p.kernel_ports && p.kernel_ports + p.memory_queues > p.ports)
    complain("kernel_ports", "with the queues in memory more than there are ports");
  if (p.global_map == GlobalMap::Static && p.physical_bits > 42)
    complain("physical_bits", "a static map needs physical addresses of at most 42 bits");
  if (p.memory_queues > p.ports) complain("memory_queues", "more of them than there are ports");
  if (p.queue_buffers && p.memory_queues > std::uint64_t{p.queue_buffers} * p.buffer_slots)
    complain("buffer_slots", "fewer than the queues that share a buffer: each needs one of its own");
  if (p.translation_entries % p.translation_ways)
    complain("translation_ways", "the entries do not divide into sets of this many ways");
  if (p.page.value & (p.page.value - 1)) complain("page", "is no power of two");
}

template <class P>
config::Section nic_section() {
  return registers(triggered_operations(errors_and_repetition(
                       addresses(packets_and_units(ports_and_queues(config::Schema<P>()))))))
      .check([](const P& p, const config::Complain& complain) { check_nic(p, complain); })
      .section();
}

template <class P>
NicKind nic_kind(std::string name, std::string about) {
  return {std::move(name), std::move(about), nic_section<P>(),
          [](const void* p) -> const NicParameters& { return *static_cast<const P*>(p); }};
}

struct Generic : NicParameters {};

// EXTOLL: VELO for small messages, RMA with notifications, both by stores of the processor.
struct Extoll : NicParameters {
  Extoll() {
    ports = 256;
    message_limit = {64};
    immediate_limit = {8};
    rdma_limit = {8ll << 20};
    payload = {128};
    descriptor = {24};
    units = 1;
    occupancy = {25'000};
    send_latency = {100'000};
    receive_latency = {100'000};
    translation_entries = 262'144;
    translation_miss = {0};
    translation = Translation::Preloaded;
  }
};

// TH Express-2: eight on-chip descriptor queues, 32 in memory, mini-packets, a large translation cache.
struct ThExpress : NicParameters {
  ThExpress() {
    ports = 40;
    memory_queues = 32;
    queue_buffers = 8;
    registration_cache = 256;
    send_latency = {100'000};
    receive_latency = {100'000};
    occupancy = {5'000};
    translation_entries = 1'048'576;
    order = Order::None;
    triggers = 320;
    trigger_inputs = 64;
  }
};

// APEnet+: RDMA by firmware, a translation table kept by an embedded processor.
struct Apenet : NicParameters {
  Apenet() {
    ports = 32;
    message_limit = {128};
    immediate_limit = {128};
    payload = {4096};
    units = 1;
    send_latency = {300'000};
    receive_latency = {300'000};
    translation_entries = 4096;
    translation_miss = {1'000'000};
    microcontroller = true;
  }
};

// ExaNeSt: packetizer and mailboxes for 32 B messages, DMA through the system's memory management unit.
struct Exanest : NicParameters {
  Exanest() {
    ports = 1024;
    message_limit = {32};
    immediate_limit = {32};
    queue_slots = 4;
    message_slots = 32'768;
    units = 1;
    occupancy = {20'000};
    send_latency = {60'000};
    receive_latency = {60'000};
    translation_entries = 512;
    translation_ways = 4;
    translation_miss = {100'000};  // 200 ns for both stages
    second_stage = {100'000};
    physical_bits = 40;
  }
};

WEFT_REGISTER(NicKind,
              nic_kind<Generic>(kDefaultNic, "user-level ports, small messages and RDMA; plain values"));
WEFT_REGISTER(NicKind, nic_kind<Extoll>("extoll", "EXTOLL: VELO messages of 64 B and RMA, posted by stores"));
WEFT_REGISTER(NicKind, nic_kind<ThExpress>("th-express",
                                           "TH Express-2: 40 virtual ports, mini-packets of 120 B, RDMA"));
WEFT_REGISTER(NicKind, nic_kind<Apenet>("apenet", "APEnet+: RDMA with translation by an embedded processor"));
WEFT_REGISTER(NicKind, nic_kind<Exanest>("exanest", "ExaNeSt: packetizer, 1024 mailboxes and DMA channels"));

struct BusFacts {
  const char* name;
  std::int64_t bits_per_second;
  unsigned overhead;
  unsigned acknowledgement;
  unsigned lanes;  // serial; 0: parallel
};

// Rates after line coding; the framing of a memory write with a 64-bit address; what goes the other way for
// each transaction. For PCIe that is one link-layer packet with its framing: acknowledgements and credits
// each come for several transactions at a time.
constexpr BusFacts express(const char* name, unsigned generation, unsigned width) {
  return {name, pcie::rate_of(generation, width).value, pcie::overhead_of(generation), pcie::kAcknowledgement,
          width};
}
// What comes back is credits.
constexpr BusFacts hyper_transport(const char* name, unsigned clock, unsigned width) {
  namespace ht = pcie::hyper_transport;
  return {name, ht::rate_of(clock, width).value, ht::kRequest, ht::kAnswer, 0};
}
constexpr BusFacts kBuses[] = {
    express("pcie-gen1-x8", 1, 8),
    express("pcie-gen2-x8", 2, 8),
    express("pcie-gen2-x16", 2, 16),
    express("pcie-gen3-x8", 3, 8),
    express("pcie-gen3-x16", 3, 16),
    express("pcie-gen4-x16", 4, 16),
    hyper_transport("hypertransport-400-x16", 400, 16),
    hyper_transport("hypertransport-800-x16", 800, 16),
    {"axi-128", 19'200'000'000, 0, 0, 0},
};

}  // namespace

DataRate HostParameters::bus_rate() const { return {kBuses[static_cast<std::size_t>(bus)].bits_per_second}; }
unsigned bus_acknowledgement(Bus bus) { return kBuses[static_cast<std::size_t>(bus)].acknowledgement; }
unsigned bus_lanes(Bus bus) { return kBuses[static_cast<std::size_t>(bus)].lanes; }
node::BusParameters HostParameters::bus_parameters() const {
  return {.payload = bus_payload,
          .write_combining = write_combining,
          .read_request = read_request,
          .tags = tags,
          .overhead = bus_overhead(),
          .acknowledgement = bus_acknowledgement(bus),
          .rate = bus_rate(),
          .write_latency = write_latency,
          .read_latency = read_latency};
}

unsigned HostParameters::bus_overhead() const { return kBuses[static_cast<std::size_t>(bus)].overhead; }

const config::Section& host_section() {
  using H = HostParameters;
  static const config::Section section = [] {
    std::vector<std::string> buses;
    for (const BusFacts& bus : kBuses) buses.emplace_back(bus.name);
    auto time = Range<Time>{{0}, {1'000'000'000'000}};
    return config::Schema<H>()
        .choice(&H::bus, "bus", "What joins processor, memory and interface", buses)
        .field(&H::bus_payload, "bus_payload", "Most data in one transaction of the bus",
               Range<DataSize>{{16}, {4096}})
        .field(&H::write_combining, "write_combining",
               "Stores of the processor to the interface that lie together leave as one transaction of up to "
               "this; 8B: each alone; 0: as much as a transaction of the bus takes",
               Range<DataSize>{{0}, {4096}})
        .field(&H::read_request, "read_request", "Most data the interface asks memory for at once",
               Range<DataSize>{{16}, {4096}})
        .field(&H::tags, "tags", "Requests to memory that may be open", Range<unsigned>{1, 1024})
        .field(&H::write_latency, "write_latency", "A write over the bus, either way",
               Range<Time>{{1000}, {1'000'000'000}})
        .field(&H::read_latency, "read_latency", "From a request to memory to its first data",
               Range<Time>{{0}, {1'000'000'000}})
        .field(
            &H::snoop, "snoop",
            "What access to memory from another node takes longer because the processor's caches are asked "
            "first",
            Range<Time>{{0}, {1'000'000'000}})
        .field(&H::cache_injection, "cache_injection",
               "What arrives is written to the processor's cache instead of memory")
        .field(&H::memory_read, "memory_read", "The processor's first look at what arrived in memory", time)
        .field(&H::cache_read, "cache_read", "The same where it arrived in the cache", time)
        .field(&H::post_cost, "post_cost", "The processor's time to post an operation", time)
        .field(&H::poll_cost, "poll_cost", "The processor's time for a look that finds nothing", time)
        .field(&H::receive_cost, "receive_cost", "The processor's time to take an event or a message", time)
        .field(&H::system_call, "system_call", "Time of a system call: opening, registering", time)
        .field(&H::interrupt, "interrupt", "From an interrupt to the process that waits for it", time)
        .choice(
            &H::compute, "compute",
            "What computing between calls costs: nothing, the processor time it takes here, or a fixed time "
            "before each call",
            {"none", "measured", "fixed"})
        .field(&H::compute_scale, "compute_scale", "Factor on measured time", Range<double>{0, 1e6})
        .field(&H::compute_fixed, "compute_fixed", "The fixed time", time)
        .section();
  }();
  return section;
}

}  // namespace weft::machine
