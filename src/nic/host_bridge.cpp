#include "nic/host_bridge.hpp"

#include <algorithm>

#include "nic/fabric.hpp"

namespace weft::nic {

namespace {

constexpr std::uint32_t kReadCompletionBoundary = 64;
constexpr std::uint32_t kUnread = ~std::uint32_t{0};  // token of what nobody waits for

}  // namespace

HostBridge::HostBridge(Fabric& fabric, NicId own, event::EventQueue& queue,
                       const machine::HostParameters& host, BridgeUser& user)
    : own_(own),
      smfu_(fabric.smfu(own)),
      chip_(fabric.on_chip(own)),
      bus_(fabric.site(own).bus()),
      queue_(queue),
      component_(queue.join(*this)),
      interrupt_(host.interrupt),
      snoop_(host.snoop),
      user_(user) {
  for (unsigned i = 256; i > 0; --i) free_tags_.push_back(static_cast<std::uint8_t>(i - 1));
  tags_.fill(kNobody);
  smfu_.set_sink(Side::Host, this);
}

std::uint32_t HostBridge::new_job(NicId other, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  const std::uint32_t index = jobs_.take();
  Job& job = jobs_[index];
  job.other = other;
  job.tlp = tlp;
  job.token = kUnread;
  job.well = true;
  job.data.assign(data.begin(), data.end());
  return index;
}

void HostBridge::read(NicId to, const pcie::Tlp& tlp, Time from, std::uint32_t token) {
  const std::uint32_t index = new_job(to, tlp, {});
  jobs_[index].token = token;
  jobs_[index].begun = from;
  ++open_;
  queue_.at(std::max(queue_.now(), bus_.to_device(from, 0)), component_, kSend, index);
}

void HostBridge::write(NicId to, const pcie::Tlp& tlp, std::span<const std::uint8_t> data, Time from) {
  const std::uint32_t index = new_job(to, tlp, data);
  jobs_[index].begun = from;
  queue_.at(std::max(queue_.now(), bus_.to_device(from, static_cast<std::int64_t>(data.size()))), component_,
            kSend, index);
}

void HostBridge::tell_at(Time when, Kind kind, std::uint32_t index) {
  tells_.push_back(when);
  queue_.at(when, component_, kind, index);
}

/// The processor hears of something now.
void HostBridge::told() {
  tells_.erase(std::find(tells_.begin(), tells_.end(), queue_.now()));
  queue_.stop();
}

Time HostBridge::undisturbed_until(Time quiet) const {
  // An answer crosses the bus, an interrupt takes its latency.
  Time until = later(quiet, open_ ? std::min(interrupt_, bus_.write_latency()) : interrupt_);
  for (Time tell : tells_) until = std::min(until, tell);
  return until;
}

void HostBridge::handle(const event::Event& event) {
  const auto index = static_cast<std::uint32_t>(event.data);
  switch (event.kind) {
    case kSend:
      return set_out(index);
    case kUnit:
      return end_unit(index);
    case kAnswer: {
      Job& job = jobs_[index];
      --open_;
      told();
      user_.read_done(job.token, job.well, job.data);
      return jobs_.give(index);
    }
    case kMemoryRead:
      return answer_read(index);
    case kMemoryWrite:
      return end_write(index);
    default: {
      Job& job = jobs_[index];
      std::uint32_t data = 0;
      for (std::size_t i = 0; i < job.data.size() && i < 4; ++i) data |= std::uint32_t{job.data[i]} << 8 * i;
      told();
      user_.interrupted(job.other, data);
      return jobs_.give(index);
    }
  }
}

/// What has crossed the bus goes where its address leads.
void HostBridge::set_out(std::uint32_t index) {
  Job& job = jobs_[index];
  if (job.other == kNobody) {
    const Unit unit = chip_.unit_of(kFromHost, job.tlp);
    if (unit != Unit::Network) return queue_.at(chip_.ready(unit, queue_.now()), component_, kUnit, index);
    const Interval* interval = chip_.find(kFromHost, job.tlp.address, job.tlp.bytes);
    if (!interval) return end_unit(index);
    job.other = interval->target;
    job.tlp.address += interval->base - interval->first;
  }
  waiting_.push_back(index);
  send_waiting();
}

/// A unit of the chip has had it, or nobody has.
void HostBridge::end_unit(std::uint32_t index) {
  Job& job = jobs_[index];
  std::vector<std::uint8_t> answer;
  job.well = chip_.access(kFromHost, job.tlp, job.data, {own_, {}, job.begun}, answer);
  if (!job.well) ++smfu_.counters().refused;
  job.data = std::move(answer);
  end_read(index);
}

/// What was read crosses the bus; of a write nobody hears.
void HostBridge::end_read(std::uint32_t index) {
  const Job& job = jobs_[index];
  if (job.tlp.is_write() || job.token == kUnread) return jobs_.give(index);
  tell_at(bus_.to_processor(queue_.now(), job.tlp.bytes), kAnswer, index);
}

/// It goes on over the network; what wants an answer needs a tag for it.
void HostBridge::send_waiting() {
  while (!waiting_.empty()) {
    const std::uint32_t next = waiting_.front();
    Job& first = jobs_[next];
    const bool posted = first.tlp.traffic() == pcie::Traffic::Posted;
    if (!posted && free_tags_.empty()) return;
    waiting_.pop_front();
    if (!posted) {
      first.tlp.tag = free_tags_.back();
      free_tags_.pop_back();
      tags_[first.tlp.tag] = next;
    }
    smfu_.send(Side::Host, first.other, first.tlp, first.data);
    first.data.clear();
    if (posted) jobs_.give(next);
  }
}

void HostBridge::arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  if (tlp.is_completion()) return completed(tlp, data);
  if (tlp.kind == pcie::TlpKind::MemoryWrite) {
    last_write_ = std::max(last_write_, bus_.to_memory(queue_.now() + snoop_, tlp.bytes));
    return queue_.at(last_write_, component_, kMemoryWrite, new_job(from, tlp, data));
  }
  if (tlp.kind == pcie::TlpKind::MemoryRead) {
    // A read does not pass writes that came before it.
    const Time there = std::max(last_write_, bus_.from_memory(queue_.now() + snoop_, tlp.bytes));
    return queue_.at(there, component_, kMemoryRead, new_job(from, tlp, {}));
  }
  ++smfu_.counters().refused;
  smfu_.send(Side::Host, from, pcie::failure_of(tlp, {}, pcie::CompletionStatus::Unsupported), {});
}

void HostBridge::completed(const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  const std::uint32_t index = tags_[tlp.tag];
  if (index == kNobody) return;  // it came too late
  Job& job = jobs_[index];
  job.data.insert(job.data.end(), data.begin(), data.end());
  job.well = tlp.status == pcie::CompletionStatus::Successful && job.data.size() <= job.tlp.bytes;
  const bool read = !job.tlp.is_write();
  if (read && job.well && job.data.size() < job.tlp.bytes) return;  // more is to come
  tags_[tlp.tag] = kNobody;
  free_tags_.push_back(tlp.tag);
  end_read(index);
  send_waiting();
}

void HostBridge::answer_read(std::uint32_t index) {
  Job& job = jobs_[index];
  job.data.resize(job.tlp.bytes);
  if (!user_.dma_read(job.other, job.tlp.address, job.data)) {
    ++smfu_.counters().refused;
    smfu_.send(Side::Host, job.other, pcie::failure_of(job.tlp, {}, pcie::CompletionStatus::Unsupported), {});
    return jobs_.give(index);
  }
  const std::uint32_t payload = smfu_.payload();
  for (std::uint32_t done = 0; done < job.tlp.bytes;) {
    const std::uint32_t piece =
        pcie::next_completion(job.tlp.address + done, job.tlp.bytes - done, payload, kReadCompletionBoundary);
    smfu_.send(Side::Host, job.other, pcie::completion_of(job.tlp, {}, done, piece),
               std::span(job.data).subspan(done, piece));
    done += piece;
  }
  jobs_.give(index);
}

void HostBridge::end_write(std::uint32_t index) {
  Job& job = jobs_[index];
  if (user_.is_interrupt(job.tlp.address)) return tell_at(queue_.now() + interrupt_, kInterrupt, index);
  if (!user_.dma_write(job.other, job.tlp.address, job.data)) ++smfu_.counters().refused;
  jobs_.give(index);
}

}  // namespace weft::nic
