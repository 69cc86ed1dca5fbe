#include "nic/load_store.hpp"

#include <cstring>

namespace weft::nic {

namespace {

// Addresses on the way: the top bit says that they are physical ones of the target; else the number of a
// shared range stands above the offset into it.
constexpr std::uint64_t kPhysicalAddress = std::uint64_t{1} << 63;
constexpr std::uint64_t kLargestPhysical = std::uint64_t{1} << 56;
constexpr unsigned kOffsetBits = 42;
constexpr std::uint8_t kStore = 255;  // in place of a tag: of what nobody waits for

/// What a completion's status can say of a refusal.
Status status_of(pcie::CompletionStatus status) {
  switch (status) {
    case pcie::CompletionStatus::Successful:
      return Status::Ok;
    case pcie::CompletionStatus::Abort:
      return Status::Unreachable;
    case pcie::CompletionStatus::Unsupported:
    case pcie::CompletionStatus::Retry:
      break;
  }
  return Status::BadRange;
}

}  // namespace

LoadStore::LoadStore(const Parts& parts, NicId interface)
    : context_(parts.context),
      ports_(parts.ports),
      bus_(parts.bus),
      registration_(parts.registration),
      notifier_(parts.notifier),
      smfu_(parts.smfu),
      counters_(parts.counters),
      interface_(interface) {
  tags_.fill(kNobody);
  for (unsigned i = kStore; i > 0; --i) free_tags_.push_back(static_cast<std::uint8_t>(i - 1));
  smfu_.set_sink(Side::Program, this);
}

Status LoadStore::share(PortNo port, std::uint64_t key, std::uint64_t offset, std::uint64_t length,
                        std::uint32_t& number) {
  Header h;
  h.target_port = port;
  h.remote_key = key;
  h.remote_offset = offset;
  h.length = length;
  Place ignored;
  std::uint32_t owner = 0;
  if (length == 0 || length > kLargest) return Status::BadLength;
  if (Status status = registration_.find_target(h, 0, ignored, owner); status != Status::Ok) return status;
  number = 0;
  while (number < shares_.size() && shares_[number].open) ++number;
  if (number == kShares) return Status::NoRoom;
  if (number == shares_.size()) shares_.emplace_back();
  shares_[number] = {true, port, key, offset, length};
  return Status::Ok;
}

Status LoadStore::unshare(PortNo port, std::uint32_t number) {
  if (number >= shares_.size() || !shares_[number].open || shares_[number].port != port)
    return Status::BadKey;
  shares_[number].open = false;
  return Status::Ok;
}

Status LoadStore::map(PortNo port, const Window& window, std::uint32_t& number) {
  if (window.by == By::Unchanged && !ports_[port].kernel) return Status::NoRight;
  const bool power = (window.size & (window.size - 1)) == 0;
  const std::uint64_t most = window.by == By::Unchanged ? kLargestPhysical : kLargest;
  if (window.size == 0 || window.size > most || (window.by == By::Mask && !power)) return Status::BadLength;
  if (window.share >= kShares) return Status::BadKey;
  if (window.by != By::Mask && context_.interface_of(window.node) == kNobody) return Status::BadNode;
  number = 0;
  while (number < windows_.size() && windows_[number].open) ++number;
  if (number == windows_.size()) windows_.emplace_back();
  windows_[number] = {true, port, window};
  return Status::Ok;
}

Status LoadStore::unmap(PortNo port, std::uint32_t number) {
  if (number >= windows_.size() || !windows_[number].open || windows_[number].port != port)
    return Status::BadKey;
  windows_[number].open = false;
  return Status::Ok;
}

void LoadStore::close(PortNo port) {
  for (Share& share : shares_) share.open = share.open && share.port != port;
  for (Mapped& mapped : windows_) mapped.open = mapped.open && mapped.port != port;
}

/// Where an access to a window goes, and with which address.
Status LoadStore::find(PortNo port, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes,
                       Job& job) const {
  if (window >= windows_.size() || !windows_[window].open || windows_[window].port != port)
    return Status::BadKey;
  const Window& w = windows_[window].window;
  if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1)) || offset % bytes) return Status::BadLength;
  std::uint64_t within = offset;
  std::uint32_t node = w.node;
  if (w.by == By::Mask) {
    const std::uint64_t named = offset / w.size;
    within = offset % w.size;
    if (named >= context_.nic_of_node.size()) return Status::BadRange;
    node = static_cast<std::uint32_t>(named);
  }
  if (within > w.size - bytes) return Status::BadRange;
  job.other = context_.interface_of(node);
  if (job.other == kNobody) return Status::BadNode;
  job.tlp.address =
      w.by == By::Unchanged ? kPhysicalAddress | within : std::uint64_t{w.share} << kOffsetBits | within;
  job.tlp.bytes = bytes;
  job.tlp.requester = pcie::FunctionId(static_cast<std::uint16_t>(port));
  return Status::Ok;
}

Status LoadStore::load(PortNo port, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes,
                       Time from, std::uint64_t token) {
  Job job;
  job.tlp.kind = pcie::TlpKind::MemoryRead;
  job.token = token;
  if (Status status = find(port, window, offset, bytes, job); status != Status::Ok) return status;
  plan(bus_.to_device(from, 0), job);
  return Status::Ok;
}

Status LoadStore::store(PortNo port, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes,
                        std::uint64_t value, Time from) {
  Job job;
  job.tlp.kind = pcie::TlpKind::MemoryWrite;
  job.tlp.tag = kStore;
  job.value = value;
  if (Status status = find(port, window, offset, bytes, job); status != Status::Ok) return status;
  plan(bus_.to_device(from, bytes), job);
  return Status::Ok;
}

void LoadStore::plan(Time when, const Job& job) {
  const std::uint32_t index = jobs_.take();
  jobs_[index] = job;
  context_.at(std::max(when, context_.now()), What::LoadStore, interface_, index);
}

void LoadStore::act(std::uint32_t index) {
  const Job job = jobs_[index];
  switch (job.stage) {
    case Stage::Send:
      waiting_.push_back(index);
      return send_waiting();
    case Stage::Answer:
      jobs_.give(index);
      context_.queue.stop();
      return context_.host.loaded(job.token, job.status, job.value);
    case Stage::Read:
      jobs_.give(index);
      return end_read(job);
    case Stage::Write:
      jobs_.give(index);
      return end_write(job);
  }
}

void LoadStore::send_waiting() {
  while (!waiting_.empty()) {
    const std::uint32_t index = waiting_.front();
    Job& job = jobs_[index];
    const bool posted = job.tlp.kind == pcie::TlpKind::MemoryWrite;
    if (!posted && free_tags_.empty()) return;
    waiting_.pop_front();
    std::uint8_t data[8];
    std::memcpy(data, &job.value, 8);
    if (!posted) {
      job.tlp.tag = free_tags_.back();
      free_tags_.pop_back();
      tags_[job.tlp.tag] = index;
    }
    smfu_.send(Side::Program, job.other, job.tlp,
               std::span<const std::uint8_t>(data, posted ? job.tlp.bytes : 0));
    if (posted) jobs_.give(index);
  }
}

void LoadStore::arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  if (tlp.is_completion()) return completed(from, tlp, data);
  const bool read = tlp.kind == pcie::TlpKind::MemoryRead, write = tlp.kind == pcie::TlpKind::MemoryWrite;
  Job job;
  job.other = from;
  job.tlp = tlp;
  if (!(read || write) || tlp.bytes > 8) return refuse(job, Status::BadOperation);
  Place found;
  if (Status status = place(tlp, read ? kRemoteRead : kRemoteWrite, found); status != Status::Ok)
    return refuse(job, status);
  const Time ready =
      context_.now() + context_.host_parameters.snoop +
      registration_.translate(found, 0, tlp.bytes, context_.now(), tlp.address & kPhysicalAddress);
  if (write) {
    std::memcpy(&job.value, data.data(), data.size());
    job.stage = Stage::Write;
    last_write_ = std::max(last_write_, bus_.to_memory(ready, tlp.bytes, found.space));
    return plan(last_write_, job);
  }
  job.stage = Stage::Read;
  plan(std::max(last_write_, bus_.from_memory(ready, tlp.bytes, found.space)), job);
}

/// The memory behind an address that has travelled.
Status LoadStore::place(const pcie::Tlp& tlp, std::uint32_t rights, Place& place) const {
  Header h;
  h.length = tlp.bytes;
  std::uint32_t owner = 0;
  if (tlp.address & kPhysicalAddress) {
    h.flags = kPhysical;
    h.remote_offset = tlp.address & ~kPhysicalAddress;
    return registration_.find_target(h, rights, place, owner);
  }
  const std::uint64_t number = tlp.address >> kOffsetBits, offset = tlp.address & (kLargest - 1);
  if (number >= shares_.size() || !shares_[number].open) return Status::BadKey;
  const Share& share = shares_[number];
  if (tlp.bytes > share.length || offset > share.length - tlp.bytes) return Status::BadRange;
  h.target_port = share.port;
  h.remote_key = share.key;
  h.remote_offset = share.offset + offset;
  return registration_.find_target(h, rights, place, owner);
}

void LoadStore::end_read(const Job& job) {
  Place found;
  Status status = place(job.tlp, kRemoteRead, found);
  std::uint8_t data[8] = {};
  if (status == Status::Ok && !context_.memory.read(found.space, found.address, data, job.tlp.bytes))
    status = Status::BadMemory;
  if (status != Status::Ok) return refuse(job, status);
  smfu_.send(Side::Program, job.other, pcie::completion_of(job.tlp, {}, 0, job.tlp.bytes),
             std::span<const std::uint8_t>(data, job.tlp.bytes));
}

void LoadStore::end_write(const Job& job) {
  Place found;
  Status status = place(job.tlp, kRemoteWrite, found);
  if (status == Status::Ok && !context_.memory.write(found.space, found.address, &job.value, job.tlp.bytes))
    status = Status::BadMemory;
  if (status != Status::Ok) refuse(job, status);
}

/// An error completion; for a store too, so that somebody hears of it.
void LoadStore::refuse(const Job& job, Status status) {
  ++counters_.refused;
  ++smfu_.counters().refused;
  const bool store = job.tlp.kind == pcie::TlpKind::MemoryWrite;
  notifier_.keep_error({status, store ? Operation::Store : Operation::Load, context_.nodes[job.other],
                        job.tlp.requester.value, job.tlp.address >> kOffsetBits,
                        job.tlp.address & (kLargest - 1), job.tlp.bytes, context_.now()});
  smfu_.send(Side::Program, job.other, pcie::failure_of(job.tlp, {}, pcie::CompletionStatus::Unsupported),
             {});
}

void LoadStore::completed(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  if (tlp.tag == kStore) {
    const PortNo port = tlp.requester.value;
    if (!ports_.is_open(port)) return;
    Event event;
    event.kind = EventKind::Failed;
    event.operation = Operation::Store;
    event.status = status_of(tlp.status);
    event.node = context_.nodes[from];
    ++counters_.failed;
    return notifier_.notify(port, ports_[port].generation, event, context_.now());
  }
  const std::uint32_t index = tags_[tlp.tag];
  if (index == kNobody) return;  // it came too late
  tags_[tlp.tag] = kNobody;
  free_tags_.push_back(tlp.tag);
  Job job = jobs_[index];
  jobs_.give(index);
  job.stage = Stage::Answer;
  job.status = status_of(tlp.status);
  if (job.status == Status::Ok && data.size() != job.tlp.bytes) job.status = Status::BadLength;
  job.value = 0;
  if (job.status == Status::Ok) std::memcpy(&job.value, data.data(), data.size());
  if (job.status != Status::Ok) ++counters_.failed;
  plan(bus_.to_processor(context_.now(), job.tlp.bytes), job);
  send_waiting();
}

}  // namespace weft::nic
