// A host with plain memory and a driver of NVM Express that is as small as one can be, for tests of devices
// on other nodes.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "nic/host_bridge.hpp"
#include "nic/root_port.hpp"
#include "nic/test_host.hpp"
#include "node/nvme_commands.hpp"

namespace weft::nic::test {

class BridgeHost : public BridgeUser {
 public:
  BridgeHost(Bench& bench, NicId here, std::size_t bytes)
      : memory(bytes),
        bench_(bench),
        here_(here),
        bridge_(*bench.fabric, here, bench.queue, bench.machine.description.host, *this) {}

  static constexpr std::uint64_t kInterrupts = 0xfee00000;
  std::vector<std::uint8_t> memory;
  std::vector<std::pair<NicId, std::uint32_t>> interrupts;

  bool dma_read(NicId, std::uint64_t address, std::span<std::uint8_t> to) override {
    if (address > memory.size() || to.size() > memory.size() - address) return false;
    std::memcpy(to.data(), memory.data() + address, to.size());
    return true;
  }
  bool dma_write(NicId, std::uint64_t address, std::span<const std::uint8_t> from) override {
    if (address > memory.size() || from.size() > memory.size() - address) return false;
    std::memcpy(memory.data() + address, from.data(), from.size());
    return true;
  }
  bool is_interrupt(std::uint64_t address) const override {
    return address >= kInterrupts && address < kInterrupts + 0x1000;
  }
  void interrupted(NicId device, std::uint32_t data) override { interrupts.emplace_back(device, data); }
  void read_done(std::uint32_t token, bool well, std::span<const std::uint8_t> data) override {
    answered_ = token;
    well_ = well;
    value_ = 0;
    std::memcpy(&value_, data.data(), std::min<std::size_t>(data.size(), 8));
  }

  /// Waits for the answer; all ones where it failed.
  std::uint64_t read(NicId to, pcie::Tlp tlp) {
    answered_ = 0;
    bridge_.read(to, tlp, bench_.queue.now(), ++token_);
    while (answered_ != token_)
      if (!bench_.fabric->advance(network::kForever)) return ~std::uint64_t{0};
    return well_ ? value_ : ~std::uint64_t{0} >> (64 - 8 * tlp.bytes);
  }
  std::uint64_t config(NicId to, pcie::FunctionId id, std::uint16_t at, std::uint32_t bytes) {
    return read(to, {.kind = pcie::TlpKind::ConfigRead1, .bytes = bytes, .target = id, .register_ = at});
  }
  void set_config(NicId to, pcie::FunctionId id, std::uint16_t at, std::uint32_t bytes, std::uint32_t value) {
    std::uint8_t data[4];
    std::memcpy(data, &value, 4);
    bridge_.write(to, {.kind = pcie::TlpKind::ConfigWrite1, .bytes = bytes, .target = id, .register_ = at},
                  std::span(data).first(bytes), bench_.queue.now());
  }
  std::uint32_t word(NicId to, std::uint64_t address) {
    return static_cast<std::uint32_t>(
        read(to, {.kind = pcie::TlpKind::MemoryRead, .address = address, .bytes = 4}));
  }
  void set_word(NicId to, std::uint64_t address, std::uint32_t value) {
    std::uint8_t data[4];
    std::memcpy(data, &value, 4);
    bridge_.write(to, {.kind = pcie::TlpKind::MemoryWrite, .address = address, .bytes = 4}, data,
                  bench_.queue.now());
  }
  /// A store where intervals of the host's own interface lead, or into another interface.
  void store(std::uint64_t address, const std::vector<std::uint8_t>& data) {
    store_to(kNobody, address, data);
  }
  void store_to(NicId to, std::uint64_t address, const std::vector<std::uint8_t>& data) {
    bridge_.write(to,
                  {.kind = pcie::TlpKind::MemoryWrite,
                   .address = address,
                   .bytes = static_cast<std::uint32_t>(data.size())},
                  data, bench_.queue.now());
  }
  Bench& bench() { return bench_; }
  NicId here() const { return here_; }

 private:
  Bench& bench_;
  NicId here_;
  HostBridge bridge_;
  std::uint32_t token_ = 0, answered_ = 0;
  bool well_ = false;
  std::uint64_t value_ = 0;
};

/// Queues at the beginning of the host's memory, or from `base` on, data behind them.
class NvmeDriver {
 public:
  static constexpr std::uint64_t kData = 0x100000;
  static constexpr std::uint32_t kEntries = 64;

  /// Gets the port, lets the device use `memory` bytes, and starts it; `failed` says what did not work.
  NvmeDriver(BridgeHost& host, NicId device, std::uint64_t memory) : NvmeDriver(host, device, memory, 0) {}

  /// Starts one that the host has been granted.
  static NvmeDriver of_granted(BridgeHost& host, NicId device, std::uint64_t base) {
    return NvmeDriver(host, device, kGranted, base);
  }
  static std::vector<Interval> intervals(std::uint64_t memory) {
    return {{0, memory, kNobody, 0}, {BridgeHost::kInterrupts, 0x1000, kNobody, BridgeHost::kInterrupts}};
  }
  std::uint64_t data() const { return base_ + kData; }

 private:
  static constexpr std::uint64_t kGranted = ~std::uint64_t{0};
  NvmeDriver(BridgeHost& host, NicId device, std::uint64_t memory, std::uint64_t base)
      : host_(host), device_(device), base_(base) {
    RootPort& port = *host.bench().fabric->root_port(device);
    for (Queue& queue : queues_) {
      queue.submission += base;
      queue.completion += base;
      std::memset(host.memory.data() + queue.completion, 0, kEntries * sizeof(node::NvmeCompletion));
    }
    if (memory != kGranted) {
      port.assign(host.here());
      for (Interval interval : intervals(memory)) {
        interval.target = host.here();
        host.bench().fabric->on_chip(device).open(interval);
      }
    }
    for (const pcie::Found& found : port.found())
      if (!found.bridge) {
        id = found.id;
        bar = found.bars[0].first;
      }
    start();
  }

 public:
  pcie::FunctionId id;
  std::uint64_t bar = 0;
  std::string failed;

  /// One command of the I/O queue; returns its status.
  std::uint16_t transfer(bool write, std::uint64_t block, std::uint32_t bytes, std::uint64_t address) {
    submit(write, block, bytes, address);
    return wait_one();
  }
  /// Without waiting for it.
  void submit(bool write, std::uint64_t block, std::uint32_t bytes, std::uint64_t address) {
    node::NvmeEntry e;
    e.opcode = write ? node::kNvmeWrite : node::kNvmeRead;
    e.space = 1;
    e.words[0] = static_cast<std::uint32_t>(block);
    e.words[1] = static_cast<std::uint32_t>(block >> 32);
    e.words[2] = bytes / 512 - 1;
    set_pages(e, address, bytes);
    put(1, e);
  }
  std::uint16_t wait_one() { return take(1); }
  std::uint16_t io(const node::NvmeEntry& e) {
    put(1, e);
    return take(1);
  }
  std::uint16_t admin(const node::NvmeEntry& e) {
    put(0, e);
    return take(0);
  }
  std::uint32_t result = 0;

 private:
  struct Queue {
    std::uint64_t submission, completion;
    std::uint32_t tail = 0, head = 0;
    bool phase = true;
  };

  void start() {
    using namespace node;
    host_.set_config(device_, id, pcie::kCommand, 2, pcie::kMemoryEnable | pcie::kBusMaster);
    const std::uint64_t msix = find_msix();
    for (unsigned vector = 0; vector < 2; ++vector) {
      const std::uint64_t at = bar + kNvmeVectors + 16 * vector;
      host_.set_word(device_, at, static_cast<std::uint32_t>(BridgeHost::kInterrupts));
      host_.set_word(device_, at + 4, 0);
      host_.set_word(device_, at + 8, 40 + vector);
      host_.set_word(device_, at + 12, 0);
    }
    host_.set_config(device_, id, static_cast<std::uint16_t>(msix + 2), 2, 0x8000);
    host_.set_word(device_, bar + kNvmeAdminSizes, (kEntries - 1) << 16 | (kEntries - 1));
    host_.set_word(device_, bar + kNvmeAdminSubmission, static_cast<std::uint32_t>(queues_[0].submission));
    host_.set_word(device_, bar + kNvmeAdminCompletion, static_cast<std::uint32_t>(queues_[0].completion));
    host_.set_word(device_, bar + kNvmeConfiguration, 0x460001);
    for (int i = 0; !(host_.word(device_, bar + kNvmeStatus) & 1); ++i)
      if (i == 100'000) {
        failed = "it does not get ready";
        return;
      }
    NvmeEntry completion;
    completion.opcode = kNvmeCreateCompletion;
    completion.prp1 = queues_[1].completion;
    completion.words[0] = (kEntries - 1) << 16 | 1;
    completion.words[1] = 1 << 16 | 3;
    NvmeEntry submission;
    submission.opcode = kNvmeCreateSubmission;
    submission.prp1 = queues_[1].submission;
    submission.words[0] = (kEntries - 1) << 16 | 1;
    submission.words[1] = 1 << 16 | 1;
    if (admin(completion) || admin(submission)) failed = "it has no I/O queue";
  }

  std::uint64_t find_msix() {
    std::uint64_t at = host_.config(device_, id, pcie::kCapabilities, 1);
    while (at && host_.config(device_, id, static_cast<std::uint16_t>(at), 1) != pcie::kCapabilityMsiX)
      at = host_.config(device_, id, static_cast<std::uint16_t>(at + 1), 1);
    return at;
  }

  void set_pages(node::NvmeEntry& e, std::uint64_t address, std::uint32_t bytes) {
    e.prp1 = address;
    const std::uint64_t first = 4096 - address % 4096;
    if (bytes <= first) return;
    if (bytes - first <= 4096) {
      e.prp2 = address + first;
      return;
    }
    e.prp2 = base_ + 0x40000 + 4096 * (turn_++ % kEntries);
    std::uint64_t page = address + first;
    for (std::uint64_t at = e.prp2; page < address + bytes; page += 4096, at += 8)
      std::memcpy(host_.memory.data() + at, &page, 8);
  }

  void put(unsigned number, node::NvmeEntry e) {
    Queue& q = queues_[number];
    e.id = next_id_++;
    std::memcpy(host_.memory.data() + q.submission + q.tail * sizeof e, &e, sizeof e);
    q.tail = (q.tail + 1) % kEntries;
    host_.set_word(device_, bar + node::kNvmeDoorbells + 8 * number, q.tail);
  }

  std::uint16_t take(unsigned number) {
    Queue& q = queues_[number];
    node::NvmeCompletion c;
    for (;;) {
      std::memcpy(&c, host_.memory.data() + q.completion + q.head * sizeof c, sizeof c);
      if ((c.status & 1) == q.phase) break;
      if (host_.bench().fabric->idle()) return 0xffff;
      host_.bench().fabric->advance(host_.bench().queue.now() + Time{100'000});
    }
    if (++q.head == kEntries) {
      q.head = 0;
      q.phase = !q.phase;
    }
    host_.set_word(device_, bar + node::kNvmeDoorbells + 8 * number + 4, q.head);
    result = c.result;
    return static_cast<std::uint16_t>(c.status >> 1);
  }

  BridgeHost& host_;
  NicId device_;
  std::uint64_t base_;
  Queue queues_[2] = {{0x1000, 0x3000, 0, 0, true}, {0x5000, 0x7000, 0, 0, true}};
  std::uint16_t next_id_ = 1;
  std::uint32_t turn_ = 0;
};

}  // namespace weft::nic::test
