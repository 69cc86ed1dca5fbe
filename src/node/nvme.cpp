// An NVM Express controller as a function of PCI Express, with one namespace on flash.
//
//   doorbell -> entry fetched -> PRP list fetched -> data from memory -> flash ...      (a write)
//                                                 -> flash -> data to memory ...        (a read)
//     ... -> completion into its queue -> MSI-X
//
// All of these are reads and writes over the function's link; the model keeps no pointer into a host. What a
// host writes into queues and registers is believed only after a look.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/slab.hpp"
#include "node/backing.hpp"
#include "node/device.hpp"
#include "node/express_kind.hpp"
#include "node/flash.hpp"
#include "node/kind.hpp"
#include "node/nvme_commands.hpp"
#include "node/nvme_identify.hpp"
#include "pcie/function.hpp"
#include "pcie/link.hpp"
#include "pcie/requester.hpp"

namespace weft::node {

namespace {

struct NvmeParameters {
  unsigned channels = 8, dies = 4;
  DataSize page{16'384};
  Time read_time{50'000'000}, program_time{600'000'000};
  DataRate channel_rate{9'600'000'000};
  DataSize buffer{64 << 20};
  DataSize capacity{1ll << 30};
  config::FilePath file;
  unsigned queues = 8;     // pairs for I/O
  unsigned commands = 64;  // worked on at a time
  unsigned tags = 64;      // reads of memory under way
  Time command_time{2'000'000};
  Time ready_time{1'000'000'000};
  std::string under;
  unsigned generation = 3, width = 4;
  DataSize max_payload{256};

  FlashParameters flash() const {
    return {channels, dies, page, read_time, program_time, channel_rate, buffer};
  }
};

constexpr std::uint64_t kPageBytes = 4096, kBlock = kNvmeBlock;
constexpr std::uint64_t kLargestTransfer = kPageBytes << kNvmeTransferPages;
constexpr unsigned kLargestQueue = 1024;

pcie::ConfigSpace config_space(const NvmeParameters& p) {
  pcie::ConfigSpace space = pcie::ConfigSpace::device(kNvmeIdentity, {{kNvmeBarSize, true, false}});
  pcie::add_msix(space, p.queues + 1, 0, kNvmeVectors, kNvmePending);
  return space;
}

class Nvme final : public Device, public pcie::Function, public ExpressPlace, private pcie::Requester::Owner {
 public:
  Nvme(const NvmeParameters& p, const Slot& slot)
      : Device(slot),
        Function(config_space(p)),
        p_(p),
        flash_(p.flash()),
        disk_(static_cast<std::uint64_t>(p.capacity.value),
              p.file.path.empty() ? "" : fmt::format("{}.node{}", p.file.path, slot.node)),
        requester_(*this, p.tags),
        submission_(p.queues + 1),
        completion_(p.queues + 1),
        vectors_(p.queues + 1) {}

  // --- pcie::Function
  std::string about() const override {
    return fmt::format("Non-Volatile memory controller: {} ({})", Device::name(), to_text(p_.capacity));
  }
  void bar_read(unsigned, std::uint64_t offset, std::span<std::uint8_t> to) override;
  void bar_write(unsigned, std::uint64_t offset, std::span<const std::uint8_t> from) override;
  void completed(const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override {
    requester_.completed(tlp, data);
  }
  void reset() override {
    stop();
    configuration_ = status_ = 0;
    for (Vector& vector : vectors_) vector = {};
  }

  const std::string& under() const override { return p_.under; }
  pcie::LinkParameters link() const override {
    return {p_.generation, p_.width, static_cast<std::uint32_t>(p_.max_payload.value), Time{0}};
  }

  // --- Device: programs on the node itself see the same registers.
  std::uint64_t read_register(std::uint64_t offset) override {
    if (offset >= kNvmeBarSize) return kNoRegister;
    return std::uint64_t{word(offset + 4)} << 32 | word(offset);
  }
  void write_register(std::uint64_t offset, std::uint64_t value) override {
    if (offset < kNvmeBarSize) set_word(offset, static_cast<std::uint32_t>(value));
  }

 private:
  enum Kind : std::uint32_t { kReady, kMedia };
  enum class Stage : std::uint8_t { Entry, List, Data, Media };
  struct Segment {
    std::uint64_t address;
    std::uint32_t bytes;
  };
  struct Command {
    NvmeEntry entry;
    Stage stage = Stage::Entry;
    std::uint16_t queue = 0, head = 0;
    std::uint32_t requests = 0, epoch = 0;  // reads that are open; of which life of the controller
    bool failed = false;
    std::uint32_t bytes = 0, listed = 0;  // of the transfer; entries of its list
    std::vector<Segment> segments;
    std::vector<std::uint64_t> list;
    std::vector<std::uint8_t> buffer;
  };
  struct Submission {
    bool open = false;
    std::uint64_t base = 0;
    std::uint32_t size = 0, head = 0, tail = 0, completion = 0;
  };
  struct Completions {
    bool open = false, interrupts = false;
    std::uint64_t base = 0;
    std::uint32_t size = 0, head = 0, tail = 0, vector = 0;
    bool phase = true;
    std::deque<NvmeCompletion> waiting;  // for room
  };
  struct Vector {
    std::uint32_t words[4] = {0, 0, 0, 1};  // address, data, masked
    bool pending = false;
  };

  // --- Registers.
  std::uint32_t word(std::uint64_t offset) const;
  void set_word(std::uint64_t offset, std::uint32_t value);
  void configure(std::uint32_t value);
  void ring(std::uint64_t doorbell, std::uint32_t value);
  void stop();

  // --- Commands.
  void act(std::uint32_t kind, std::uint64_t data) override;
  void fetch();
  void begin(std::uint32_t index);
  void begin_admin(std::uint32_t index);
  void begin_transfer(std::uint32_t index, std::uint32_t bytes);
  void take_list(std::uint32_t index);
  bool add_segment(Command& c, std::uint64_t address, std::uint64_t& left);
  void transfer(std::uint32_t index);
  void store(std::uint32_t index);
  void send_data(std::uint32_t index);
  void after_media(std::uint32_t index);
  std::uint64_t place_of(const NvmeEntry& e) const {
    return (std::uint64_t{e.words[1]} << 32 | e.words[0]) * kBlock;
  }
  bool moves_to_host(const Command& c) const { return c.queue == 0 || c.entry.opcode == kNvmeRead; }

  std::uint16_t create_completion(const NvmeEntry& e);
  std::uint16_t create_submission(const NvmeEntry& e);
  std::uint16_t delete_queue(const NvmeEntry& e);

  void complete(std::uint32_t index, std::uint16_t status, std::uint32_t result = 0);
  void post(Completions& queue, NvmeCompletion entry);
  void interrupt_host(unsigned vector);
  bool vectors_masked() const;
  bool vectors_on() const;

  // --- pcie::Requester::Owner
  void send_request(const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override {
    if (!config().bus_master()) return;
    pcie::Tlp out = tlp;
    out.requester = id();
    Function::send(out, data);
  }
  void read_done(std::uint32_t context, bool well) override;

  const NvmeParameters p_;
  Flash flash_;
  Backing disk_;
  pcie::Requester requester_;
  std::uint32_t configuration_ = 0, status_ = 0, admin_sizes_ = 0;
  std::uint64_t admin_submission_ = 0, admin_completion_ = 0;
  std::uint32_t epoch_ = 0;  // counts resets: what was under way before is nobody's
  std::vector<Submission> submission_;
  std::vector<Completions> completion_;
  std::vector<Vector> vectors_;
  Slab<Command, 16> commands_;
  std::size_t turn_ = 0;  // submission queue that is looked at next
  unsigned events_ = 0;   // commands that wait for something to tell
};

// --- Registers.

std::uint32_t Nvme::word(std::uint64_t offset) const {
  // Queues of up to 1024 entries that lie together, half a second to get ready, the NVM command set.
  constexpr std::uint64_t kCapabilities = (kLargestQueue - 1) | 1u << 16 | 1u << 24 | std::uint64_t{1} << 37;
  if (offset >= kNvmeVectors && offset < kNvmeVectors + vectors_.size() * 16)
    return vectors_[(offset - kNvmeVectors) / 16].words[offset / 4 % 4];
  if (offset == kNvmePending) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < vectors_.size() && i < 32; ++i)
      bits |= std::uint32_t{vectors_[i].pending} << i;
    return bits;
  }
  switch (offset) {
    case kNvmeCapabilities:
      return static_cast<std::uint32_t>(kCapabilities);
    case kNvmeCapabilities + 4:
      return static_cast<std::uint32_t>(kCapabilities >> 32);
    case kNvmeVersion:
      return 0x00010300;
    case kNvmeConfiguration:
      return configuration_;
    case kNvmeStatus:
      return status_;
    case kNvmeAdminSizes:
      return admin_sizes_;
    case kNvmeAdminSubmission:
      return static_cast<std::uint32_t>(admin_submission_);
    case kNvmeAdminSubmission + 4:
      return static_cast<std::uint32_t>(admin_submission_ >> 32);
    case kNvmeAdminCompletion:
      return static_cast<std::uint32_t>(admin_completion_);
    case kNvmeAdminCompletion + 4:
      return static_cast<std::uint32_t>(admin_completion_ >> 32);
    default:
      return 0;
  }
}

void Nvme::set_word(std::uint64_t offset, std::uint32_t value) {
  auto low = [&](std::uint64_t& to) { to = (to & ~std::uint64_t{0xffffffff}) | (value & ~0xfffu); };
  auto high = [&](std::uint64_t& to) { to = (to & 0xffffffff) | std::uint64_t{value} << 32; };
  if (offset >= kNvmeVectors && offset < kNvmeVectors + vectors_.size() * 16) {
    const std::size_t number = (offset - kNvmeVectors) / 16;
    vectors_[number].words[offset / 4 % 4] = value;
    if (vectors_[number].pending && !(vectors_[number].words[3] & 1)) {
      vectors_[number].pending = false;
      interrupt_host(static_cast<unsigned>(number));
    }
    return;
  }
  if (offset >= kNvmeDoorbells && offset < kNvmeVectors) return ring((offset - kNvmeDoorbells) / 4, value);
  switch (offset) {
    case kNvmeConfiguration:
      return configure(value);
    case kNvmeAdminSizes:
      admin_sizes_ = value & 0x0fff0fff;
      return;
    case kNvmeAdminSubmission:
      return low(admin_submission_);
    case kNvmeAdminSubmission + 4:
      return high(admin_submission_);
    case kNvmeAdminCompletion:
      return low(admin_completion_);
    case kNvmeAdminCompletion + 4:
      return high(admin_completion_);
    default:
      return;
  }
}

void Nvme::bar_read(unsigned, std::uint64_t offset, std::span<std::uint8_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::uint8_t>(word((offset + i) & ~std::uint64_t{3}) >> 8 * ((offset + i) % 4));
}

void Nvme::bar_write(unsigned, std::uint64_t offset, std::span<const std::uint8_t> from) {
  if (offset % 4 || from.size() % 4) return;  // registers are written as words
  for (std::size_t i = 0; i + 4 <= from.size(); i += 4) {
    std::uint32_t value;
    std::memcpy(&value, from.data() + i, 4);
    set_word(offset + i, value);
  }
}

void Nvme::configure(std::uint32_t value) {
  const bool was_on = configuration_ & 1, is_on = value & 1;
  configuration_ = value;
  if (was_on && !is_on) stop();
  if (!was_on && is_on) {
    requester_.set_sizes(pcie::payload_of(config()), pcie::read_request_of(config()),
                         pcie::tags_of(config()));
    submission_[0] = {true, admin_submission_, (admin_sizes_ & 0xfff) + 1, 0, 0, 0};
    completion_[0] = {};
    completion_[0].open = completion_[0].interrupts = true;
    completion_[0].base = admin_completion_;
    completion_[0].size = (admin_sizes_ >> 16) + 1;
    at(later(now(), p_.ready_time), kReady, epoch_);
  }
  if (value >> 14 & 3) status_ = (status_ & ~0xcu) | 0x8;  // it was told to shut down, and has
}

void Nvme::stop() {
  ++epoch_;
  status_ = 0;
  events_ = 0;
  requester_.reset();
  for (Submission& queue : submission_) queue = {};
  for (Completions& queue : completion_) queue = {};
}

void Nvme::ring(std::uint64_t doorbell, std::uint32_t value) {
  const std::uint64_t number = doorbell / 2;
  if (number >= submission_.size()) return;
  if (doorbell % 2 == 0) {
    Submission& queue = submission_[number];
    if (!queue.open || value >= queue.size) return;
    queue.tail = value;
    return fetch();
  }
  Completions& queue = completion_[number];
  if (!queue.open || value >= queue.size) return;
  queue.head = value;
  while (!queue.waiting.empty() && (queue.tail + 1) % queue.size != queue.head) {
    const NvmeCompletion entry = queue.waiting.front();
    queue.waiting.pop_front();
    post(queue, entry);
  }
}

// --- Commands.

void Nvme::act(std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kReady:
      if (data == epoch_ && configuration_ & 1) status_ |= 1;
      return;
    default:
      return after_media(static_cast<std::uint32_t>(data));
  }
}

/// Entries of all queues in turn, while there is room for their commands.
void Nvme::fetch() {
  std::size_t empty = 0;
  while (empty < submission_.size() && commands_.used() < p_.commands) {
    const std::size_t number = turn_;
    turn_ = (turn_ + 1) % submission_.size();
    Submission& queue = submission_[number];
    if (!queue.open || queue.head == queue.tail) {
      ++empty;
      continue;
    }
    empty = 0;
    const std::uint32_t index = commands_.take();
    Command& c = commands_[index];
    c.stage = Stage::Entry;
    c.queue = static_cast<std::uint16_t>(number);
    c.epoch = epoch_;
    c.failed = false;
    const std::uint64_t from = queue.base + std::uint64_t{queue.head} * sizeof(NvmeEntry);
    queue.head = (queue.head + 1) % queue.size;
    c.head = static_cast<std::uint16_t>(queue.head);
    c.requests = 1;  // none ends it before all are counted
    c.requests += requester_.read(from, reinterpret_cast<std::uint8_t*>(&c.entry), sizeof c.entry, index);
    --c.requests;
  }
}

void Nvme::read_done(std::uint32_t index, bool well) {
  Command& c = commands_[index];
  if (!well) c.failed = true;
  if (--c.requests) return;
  if (c.epoch != epoch_) return commands_.give(index);
  if (c.stage == Stage::Entry) {
    if (!c.failed) return begin(index);
    status_ |= 2;  // without its commands a controller cannot go on
    commands_.give(index);
    return;
  }
  if (c.failed) return complete(index, kNvmeTransferError);
  if (c.stage == Stage::List) return take_list(index);
  store(index);
}

void Nvme::begin(std::uint32_t index) {
  Command& c = commands_[index];
  c.segments.clear();
  c.list.clear();
  if (c.queue == 0) return begin_admin(index);
  const NvmeEntry& e = c.entry;
  if (e.opcode == kNvmeFlush) {
    c.stage = Stage::Media;
    return at(std::max(later(now(), p_.command_time), flash_.programmed()), kMedia, index);
  }
  if (e.opcode != kNvmeRead && e.opcode != kNvmeWrite && e.opcode != kNvmeWriteZeroes)
    return complete(index, kNvmeBadOpcode);
  if (e.space != 1) return complete(index, kNvmeBadNamespace);
  const std::uint64_t bytes = ((e.words[2] & 0xffff) + 1) * kBlock, blocks = disk_.size() / kBlock;
  const std::uint64_t first = std::uint64_t{e.words[1]} << 32 | e.words[0];
  if (first >= blocks || bytes / kBlock > blocks - first) return complete(index, kNvmeOutOfRange);
  if (e.opcode == kNvmeWriteZeroes) {
    disk_.clear(place_of(e), bytes);
    c.stage = Stage::Media;
    return at(std::max(later(now(), p_.command_time), flash_.write(now(), place_of(e), bytes)), kMedia,
              index);
  }
  if (bytes > kLargestTransfer) return complete(index, kNvmeBadField);
  begin_transfer(index, static_cast<std::uint32_t>(bytes));
}

/// Where the data of a command is: in the rest of a page, in another, or in pages that a list names.
void Nvme::begin_transfer(std::uint32_t index, std::uint32_t bytes) {
  Command& c = commands_[index];
  c.bytes = bytes;
  if (c.buffer.size() < bytes) c.buffer.resize(bytes);
  std::uint64_t left = bytes;
  if (c.entry.prp1 % 4 || !add_segment(c, c.entry.prp1, left)) return complete(index, kNvmeBadPrp);
  if (left == 0) return transfer(index);
  if (left <= kPageBytes) {
    if (c.entry.prp2 % kPageBytes || !add_segment(c, c.entry.prp2, left)) return complete(index, kNvmeBadPrp);
    return transfer(index);
  }
  // One list is enough: a transfer has fewer pages than a page has entries; it may begin anywhere in one.
  c.listed = static_cast<std::uint32_t>((left + kPageBytes - 1) / kPageBytes);
  if (c.entry.prp2 % 8) return complete(index, kNvmeBadPrp);
  c.list.resize(c.listed);
  const auto here = static_cast<std::uint32_t>((kPageBytes - c.entry.prp2 % kPageBytes) / 8);
  if (here < c.listed) return complete(index, kNvmeBadPrp);
  c.stage = Stage::List;
  c.requests = 1;
  c.requests +=
      requester_.read(c.entry.prp2, reinterpret_cast<std::uint8_t*>(c.list.data()), c.listed * 8, index);
  --c.requests;
}

bool Nvme::add_segment(Command& c, std::uint64_t address, std::uint64_t& left) {
  const std::uint64_t part = std::min(left, kPageBytes - address % kPageBytes);
  if (part == 0 || address + part < address) return false;
  c.segments.push_back({address, static_cast<std::uint32_t>(part)});
  left -= part;
  return true;
}

void Nvme::take_list(std::uint32_t index) {
  Command& c = commands_[index];
  std::uint64_t left = c.bytes;
  for (const Segment& segment : c.segments) left -= segment.bytes;
  for (std::uint64_t address : c.list)
    if (address % kPageBytes || !add_segment(c, address, left)) return complete(index, kNvmeBadPrp);
  transfer(index);
}

void Nvme::transfer(std::uint32_t index) {
  Command& c = commands_[index];
  if (c.queue == 0) return send_data(index);
  if (c.entry.opcode == kNvmeRead) {
    c.stage = Stage::Media;
    return at(later(flash_.read(now(), place_of(c.entry), c.bytes), p_.command_time), kMedia, index);
  }
  c.stage = Stage::Data;
  c.requests = 1;
  std::uint32_t done = 0;
  for (const Segment& segment : c.segments) {
    c.requests += requester_.read(segment.address, c.buffer.data() + done, segment.bytes, index);
    done += segment.bytes;
  }
  --c.requests;
}

/// The data of a write is here.
void Nvme::store(std::uint32_t index) {
  Command& c = commands_[index];
  std::memcpy(disk_.bytes() + place_of(c.entry), c.buffer.data(), c.bytes);
  c.stage = Stage::Media;
  at(later(flash_.write(now(), place_of(c.entry), c.bytes), p_.command_time), kMedia, index);
}

void Nvme::after_media(std::uint32_t index) {
  Command& c = commands_[index];
  if (c.epoch != epoch_) return commands_.give(index);
  if (c.entry.opcode != kNvmeRead) return complete(index, kNvmeWell);
  std::memcpy(c.buffer.data(), disk_.bytes() + place_of(c.entry), c.bytes);
  send_data(index);
}

/// Writes are posted and keep their order: the completion follows the data.
void Nvme::send_data(std::uint32_t index) {
  Command& c = commands_[index];
  std::uint32_t done = 0;
  for (const Segment& segment : c.segments) {
    requester_.write(segment.address, std::span(c.buffer).subspan(done, segment.bytes));
    done += segment.bytes;
  }
  complete(index, kNvmeWell);
}

void Nvme::begin_admin(std::uint32_t index) {
  Command& c = commands_[index];
  const NvmeEntry& e = c.entry;
  switch (e.opcode) {
    case kNvmeDeleteSubmission:
    case kNvmeDeleteCompletion:
      return complete(index, delete_queue(e));
    case kNvmeCreateSubmission:
      return complete(index, create_submission(e));
    case kNvmeCreateCompletion:
      return complete(index, create_completion(e));
    case kNvmeIdentify: {
      c.buffer.assign(std::max<std::size_t>(c.buffer.size(), kPageBytes), 0);
      const std::uint16_t status = nvme_identify(e, {Device::name(), node(), disk_.size()}, c.buffer);
      return status == kNvmeWell ? begin_transfer(index, kPageBytes) : complete(index, status);
    }
    case kNvmeGetLog: {  // nothing has happened that a log would tell
      const std::uint64_t bytes = ((std::uint64_t{e.words[1] & 0xffff} << 16 | e.words[0] >> 16) + 1) * 4;
      if (bytes > kLargestTransfer) return complete(index, kNvmeBadField);
      c.buffer.assign(std::max<std::size_t>(c.buffer.size(), bytes), 0);
      return begin_transfer(index, static_cast<std::uint32_t>(bytes));
    }
    case kNvmeSetFeatures:
    case kNvmeGetFeatures: {
      constexpr std::uint32_t kNumberOfQueues = 7;
      const std::uint32_t queues = (p_.queues - 1) << 16 | (p_.queues - 1);
      return complete(index, kNvmeWell, (e.words[0] & 0xff) == kNumberOfQueues ? queues : 0);
    }
    case kNvmeAbort:
      return complete(index, kNvmeWell, 1);  // it was not aborted
    case kNvmeAsynchronousEvent:
      if (events_ == kNvmeAsynchronousEvents) return complete(index, kNvmeTooManyEvents);
      ++events_;  // nothing ever happens that would answer it
      return commands_.give(index);
    default:
      return complete(index, kNvmeBadOpcode);
  }
}

std::uint16_t Nvme::create_completion(const NvmeEntry& e) {
  const std::uint32_t number = e.words[0] & 0xffff, size = (e.words[0] >> 16) + 1, vector = e.words[1] >> 16;
  if (number == 0 || number >= completion_.size() || completion_[number].open) return kNvmeBadQueue;
  if (size < 2 || size > kLargestQueue) return kNvmeBadQueueSize;
  if (!(e.words[1] & 1) || e.prp1 % kPageBytes || vector >= vectors_.size()) return kNvmeBadField;
  Completions& queue = completion_[number];
  queue = {};
  queue.open = true;
  queue.interrupts = e.words[1] & 2;
  queue.base = e.prp1;
  queue.size = size;
  queue.vector = vector;
  return kNvmeWell;
}

std::uint16_t Nvme::create_submission(const NvmeEntry& e) {
  const std::uint32_t number = e.words[0] & 0xffff, size = (e.words[0] >> 16) + 1, to = e.words[1] >> 16;
  if (number == 0 || number >= submission_.size() || submission_[number].open) return kNvmeBadQueue;
  if (to == 0 || to >= completion_.size() || !completion_[to].open) return 0x100;  // no such completion queue
  if (size < 2 || size > kLargestQueue) return kNvmeBadQueueSize;
  if (!(e.words[1] & 1) || e.prp1 % kPageBytes) return kNvmeBadField;
  submission_[number] = {true, e.prp1, size, 0, 0, to};
  return kNvmeWell;
}

std::uint16_t Nvme::delete_queue(const NvmeEntry& e) {
  const std::uint32_t number = e.words[0] & 0xffff;
  if (number == 0 || number >= submission_.size()) return kNvmeBadQueue;
  if (e.opcode == kNvmeDeleteSubmission) {
    if (!submission_[number].open) return kNvmeBadQueue;
    submission_[number] = {};
  } else {
    for (const Submission& queue : submission_)
      if (queue.open && queue.completion == number) return kNvmeBadQueue;
    if (!completion_[number].open) return kNvmeBadQueue;
    completion_[number] = {};
  }
  return kNvmeWell;
}

// --- Ends.

void Nvme::complete(std::uint32_t index, std::uint16_t status, std::uint32_t result) {
  Command& c = commands_[index];
  Submission& from = submission_[c.queue];
  if (from.open) {
    Completions& queue = completion_[from.completion];
    const NvmeCompletion entry{result,  0,          c.head,
                               c.queue, c.entry.id, static_cast<std::uint16_t>(status << 1)};
    if (queue.waiting.empty() && (queue.tail + 1) % queue.size != queue.head) {
      post(queue, entry);
    } else {
      queue.waiting.push_back(entry);
    }
  }
  commands_.give(index);
  fetch();
}

void Nvme::post(Completions& queue, NvmeCompletion entry) {
  entry.status = static_cast<std::uint16_t>(entry.status | (queue.phase ? 1 : 0));
  const std::uint64_t to = queue.base + std::uint64_t{queue.tail} * sizeof entry;
  if (++queue.tail == queue.size) {
    queue.tail = 0;
    queue.phase = !queue.phase;
  }
  requester_.write(to, {reinterpret_cast<const std::uint8_t*>(&entry), sizeof entry});
  if (queue.interrupts) interrupt_host(queue.vector);
}

bool Nvme::vectors_on() const {
  return config().read(*config().find_capability(pcie::kCapabilityMsiX) + 2u, 2) & 0x8000;
}
bool Nvme::vectors_masked() const {
  return config().read(*config().find_capability(pcie::kCapabilityMsiX) + 2u, 2) & 0x4000;
}

void Nvme::interrupt_host(unsigned number) {
  Vector& vector = vectors_[number];
  if (!vectors_on()) return;
  if (vectors_masked() || vector.words[3] & 1) {
    vector.pending = true;
    return;
  }
  const std::uint64_t address = std::uint64_t{vector.words[1]} << 32 | vector.words[0];
  std::uint8_t data[4];
  std::memcpy(data, &vector.words[2], 4);
  requester_.write(address & ~std::uint64_t{3}, data);
}

std::unique_ptr<Device> make_nvme(const NvmeParameters& p, const Slot& slot) {
  return std::make_unique<Nvme>(p, slot);
}

config::Section nvme_section() {
  using P = NvmeParameters;
  using config::Range;
  constexpr Range<Time> kAnyTime{{0}, {1'000'000'000'000}};
  return config::Schema<P>()
      .field(&P::capacity, "capacity", "Size of its namespace", Range<DataSize>{{1 << 20}, {1ll << 40}})
      .field(&P::file, "file",
             "A sparse file that keeps what is written, .nodeN behind its name; left out: memory")
      .field(&P::queues, "queues", "Pairs of queues for I/O", Range<unsigned>{1, 31})
      .field(&P::commands, "commands", "Commands it works on at a time", Range<unsigned>{1, 1024})
      .field(&P::tags, "tags", "Reads of memory it has under way", Range<unsigned>{1, 256})
      .field(&P::command_time, "command_time", "What its processor takes for a command", kAnyTime)
      .field(&P::ready_time, "ready_time", "From being switched on to being ready",
             Range<Time>{{0}, {500'000'000'000}})
      .field(&P::channels, "channels", "Channels to its flash", Range<unsigned>{1, 64})
      .field(&P::dies, "dies", "Dies on a channel", Range<unsigned>{1, 64})
      .field(&P::page, "page", "What a die reads or programs at once", Range<DataSize>{{512}, {1 << 20}})
      .field(&P::read_time, "read_time", "A die reads a page", kAnyTime)
      .field(&P::program_time, "program_time", "A die programs a page", kAnyTime)
      .field(&P::channel_rate, "channel_rate", "What a channel carries",
             Range<DataRate>{{1'000'000}, {1'000'000'000'000}})
      .field(&P::buffer, "buffer", "Memory for writes that are not programmed yet",
             Range<DataSize>{{1 << 17}, {1ll << 36}})
      .field(&P::under, "under",
             "The root port, switch or host it is below; left out: the only root port or host")
      .field(&P::generation, "generation", "Of its link, on PCI Express", Range<unsigned>{1, 5})
      .field(&P::width, "width", "Lanes of that link", Range<unsigned>{1, 16})
      .field(&P::max_payload, "max_payload", "Most data of one of its packets there",
             Range<DataSize>{{128}, {4096}})
      .check([](const P& p, const config::Complain& complain) {
        if (std::find(pcie::kWidths.begin(), pcie::kWidths.end(), p.width) == pcie::kWidths.end())
          complain("width", "expected 1, 2, 4, 8, 12 or 16");
        if (p.max_payload.value & (p.max_payload.value - 1))
          complain("max_payload", "expected a power of two");
      })
      .section();
}

WEFT_REGISTER(DeviceKind, device_kind<NvmeParameters>("nvme", "an NVM Express disk: queues, flash, MSI-X",
                                                      nvme_section(), make_nvme));
WEFT_REGISTER(ExpressKind, {"nvme"});

}  // namespace

}  // namespace weft::node
