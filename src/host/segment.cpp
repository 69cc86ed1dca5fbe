#include "host/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/virtual_time.hpp"
#include "host/mpi_model.hpp"

namespace weft::host {

namespace {

constexpr Time kLatest = kPastTheEnd;  // whoever asks for more asks for the end of the run
static_assert(kLastClock == kEndOfTime.value);
constexpr std::int64_t kEpoch = 946'684'800;  // 1 January 2000: the same in every run

std::size_t aligned(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

SharedMemory::SharedMemory(const std::string& what, std::size_t bytes) : bytes_(bytes) {
  file_ = memfd_create(what.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  bool sized = file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes)) == 0;
  // Nobody may shrink it under the simulator's feet.
  if (sized) sized = fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (sized) at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (!sized || at_ == MAP_FAILED) {
    int error = errno;
    if (file_ >= 0) ::close(file_);
    throw UserError(
        fmt::format("{} bytes of shared memory for {} cannot be had: {}", bytes, what, std::strerror(error)));
  }
}

SharedMemory::~SharedMemory() {
  if (at_) munmap(at_, bytes_);
  if (file_ >= 0) ::close(file_);
}

SharedMemory& SharedMemory::operator=(SharedMemory&& o) noexcept {
  std::swap(at_, o.at_);
  std::swap(bytes_, o.bytes_);
  std::swap(file_, o.file_);
  return *this;
}

Segment::Segment(const machine::Machine& machine, std::uint32_t rank, std::uint32_t ranks,
                 std::uint32_t node) {
  const machine::NicParameters& n = machine.description.nic;
  const machine::HostParameters& h = machine.description.host;
  auto bytes32 = [](DataSize size) { return static_cast<std::uint32_t>(size.value); };
  layout_.limits = {.queue_slots = n.queue_slots,
                    .message_slots = n.message_slots,
                    .event_slots = n.event_slots,
                    .message_limit = bytes32(n.message_limit),
                    .immediate_limit = bytes32(n.immediate_limit),
                    .rdma_limit = static_cast<std::uint64_t>(n.rdma_limit.value),
                    .registrations = n.registration_cache,
                    .page = static_cast<std::uint64_t>(n.page.value),
                    .stall = n.full_queue == machine::FullQueue::Stall ? n.watchdog.value : 0,
                    .control_packets = n.triggers ? n.trigger_inputs * n.trigger_rounds : 0,
                    .operation_units = n.operation_units};
  layout_.port_offset = aligned(threads_offset() + sizeof(Thread) * kThreads);
  layout_.message_offset = aligned(256 + sizeof(nic::Descriptor) * n.queue_slots);
  layout_.event_offset = layout_.message_offset + aligned(sizeof(nic::Message) * n.message_slots);
  layout_.port_stride = layout_.event_offset + aligned(sizeof(nic::Event) * n.event_slots);
  layout_.bytes = layout_.port_offset + layout_.port_stride * kPortsPerProcess;
  memory_ = SharedMemory(fmt::format("weft-rank-{}", rank), layout_.bytes);

  auto* shared = new (memory_.at()) Header;
  static_cast<Layout&>(*shared) = layout_;
  shared->magic = kMagic;
  shared->version = kLayoutVersion;
  shared->rank = rank;
  shared->ranks = ranks;
  shared->node = node;
  shared->nodes = machine.graph->endpoints();
  shared->costs = {.post = h.post_cost.value,
                   .poll = h.poll_cost.value,
                   .receive = h.receive_cost.value,
                   .look = (h.cache_injection ? h.cache_read : h.memory_read).value,
                   .interrupt = h.interrupt.value,
                   .registration_hit = n.registration_hit.value,
                   .write_latency = h.write_latency.value,
                   .compute = static_cast<std::uint32_t>(h.compute),
                   .fixed = h.compute_fixed.value,
                   .scale = h.compute_scale};
  shared->disturbance = {.slow = 1, .until = kNoDeadline, .length = 0, .interval = 1, .seed = 0};
  shared->mpi = mpi_model_of(machine.description);
  shared->epoch = kEpoch;
  thread(0).state.store(static_cast<std::uint32_t>(ThreadState::Running));  // the process about to start
}

ThreadState Segment::state(unsigned i) const {
  return static_cast<ThreadState>(thread(i).state.load(std::memory_order_acquire));
}

Request Segment::request(unsigned i, Time not_before) const {
  const volatile Thread& l = thread(i);  // each word is read once
  Request out;
  auto call = static_cast<std::uint32_t>(l.call);
  out.call = call <= static_cast<std::uint32_t>(Call::Last) ? static_cast<Call>(call) : Call::Wait;
  out.port = l.port;
  out.for_rank = l.for_rank;
  out.clock = std::clamp(Time{thread(i).clock.load(std::memory_order_relaxed)}, not_before, kLatest);
  std::int64_t deadline = l.deadline;
  out.deadline = deadline == kNoDeadline ? Time{kNoDeadline} : std::clamp(Time{deadline}, out.clock, kLatest);
  for (int a = 0; a < 4; ++a) out.argument[a] = l.argument[a];
  return out;
}

void Segment::grant(unsigned i, Time clock, Time safe_until, std::int32_t result,
                    std::span<const std::uint64_t> answer) {
  Thread& l = thread(i);
  l.clock.store(clock.value, std::memory_order_relaxed);
  l.safe_until = safe_until.value;
  l.result = result;
  std::copy(answer.begin(), answer.end(), l.answer);
  l.state.store(static_cast<std::uint32_t>(ThreadState::Running), std::memory_order_relaxed);
  l.grant.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &l.grant, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Segment::open(unsigned port, unsigned slots) {
  // Slots that an earlier user of the port left full.
  std::uint32_t used = std::min(book_[port].messages, book_[port].slots);
  for (std::uint32_t i = 0; i < used; ++i) messages_of(&area(port), layout_)[i].time = 0;
  Book& b = book_[port] = {};
  b.slots = slots;
  b.message_times.resize(slots);
  b.event_times.resize(layout_.limits.event_slots);
  PortArea& a = area(port);
  for (auto* word : {&a.posted, &a.messages_taken, &a.events_taken, &a.accepted, &a.messages, &a.events})
    word->store(0, std::memory_order_relaxed);
  a.open = 1;
  header().opened.fetch_add(1);
}

void Segment::close(unsigned port) { area(port).open = 0; }

void Segment::take_posted(unsigned port, std::vector<nic::Descriptor>& out) {
  Book& b = book_[port];
  std::uint32_t slots = layout_.limits.queue_slots;
  std::uint32_t fresh = area(port).posted.load(std::memory_order_acquire) - b.posted;
  fresh = std::min(fresh, slots - std::min(slots, b.posted - b.accepted));  // more than fit are nonsense
  for (; fresh > 0; --fresh, ++b.posted) {
    nic::Descriptor copy;
    std::memcpy(static_cast<void*>(&copy), submissions_of(&area(port)) + b.posted % slots, sizeof copy);
    out.push_back(copy);
  }
}

bool Segment::queue_full(unsigned port) const {
  return book_[port].posted - book_[port].accepted >= layout_.limits.queue_slots;
}

void Segment::take_consumed(unsigned port, unsigned& messages, unsigned& events) {
  Book& b = book_[port];
  PortArea& a = area(port);
  messages = std::min(a.messages_taken.load(std::memory_order_acquire) - b.messages_taken,
                      b.messages - b.messages_taken);
  events =
      std::min(a.events_taken.load(std::memory_order_acquire) - b.events_taken, b.events - b.events_taken);
  b.messages_taken += messages;
  b.events_taken += events;
}

bool Segment::has_message(unsigned port, Time& time) const {
  const Book& b = book_[port];
  if (b.messages == b.messages_taken) return false;
  time = {b.message_times[b.messages_taken % b.slots]};
  return true;
}

bool Segment::has_event(unsigned port, Time& time) const {
  const Book& b = book_[port];
  if (b.events == b.events_taken) return false;
  time = {b.event_times[b.events_taken % layout_.limits.event_slots]};
  return true;
}

void Segment::push(unsigned port, const nic::Message& message) {
  Book& b = book_[port];
  std::uint32_t slot = b.messages % b.slots;
  nic::Message& there = messages_of(&area(port), layout_)[slot];
  // The first word comes last: whoever looks at it and sees that it is not 0 finds the whole message.
  nic::Message hidden = message;
  hidden.time = 0;
  there = hidden;
  std::atomic_ref(there.time).store(message.time, std::memory_order_release);
  b.message_times[slot] = message.time;
  area(port).messages.store(++b.messages, std::memory_order_release);
}

void Segment::push(unsigned port, const nic::Event& event) {
  Book& b = book_[port];
  std::uint32_t slot = b.events % layout_.limits.event_slots;
  events_of(&area(port), layout_)[slot] = event;
  b.event_times[slot] = event.time;
  area(port).events.store(++b.events, std::memory_order_release);
}

void Segment::slot_free(unsigned port) {
  area(port).accepted.store(++book_[port].accepted, std::memory_order_release);
}

}  // namespace weft::host
