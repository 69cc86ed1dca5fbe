#include "nic/root_port.hpp"

#include <algorithm>

namespace weft::nic {

namespace {

constexpr std::uint32_t kReadCompletionBoundary = 64;
/// Where our own enumeration puts what it finds; a host that gets the port chooses anew.
constexpr std::uint64_t kWindow = 0xc0000000;

}  // namespace

RootPort::RootPort(NicId own, Smfu& smfu, OnChip& chip, event::EventQueue& queue, DeviceTree below,
                   std::string& error)
    : own_(own),
      smfu_(smfu),
      chip_(chip),
      queue_(queue),
      component_(queue.join(*this)),
      tree_(std::move(below.tree)),
      devices_(std::move(below.devices)),
      ready_(below.power_up > Time{0} ? later(below.power_up, kReset) : Time{0}) {
  found_ = pcie::enumerate(pcie::access_to(*tree_), kWindow, below.window, error);
  for (std::size_t i = 0; i < tree_->places().size(); ++i)
    for (auto* lines : {&lines_down_, &lines_up_}) lines->emplace_back(tree_->link_above(i));
  for (std::size_t i = 0; i < tree_->places().size(); ++i) {
    const pcie::Tree::Place& place = tree_->places()[i];
    links_.push_back(place.function ? make_link(i) : nullptr);
    if (place.function) place.function->join(*this);
    if (place.function) all_devices_.push_back(devices_[i]);
  }
  smfu.set_sink(Side::Port, this);
}

std::unique_ptr<RootPort::Link> RootPort::make_link(std::size_t place) {
  const pcie::LinkParameters& end = tree_->places()[place].link;
  auto direction = [&](std::vector<pcie::Line>& lines) {
    std::vector<pcie::Line*> on_the_way;
    for (std::size_t at : tree_->links(place)) on_the_way.push_back(&lines[at]);
    return pcie::Direction(end, on_the_way, tree_->path(place).latency, pcie::credits_of(end));
  };
  return std::make_unique<Link>(direction(lines_down_), direction(lines_up_));
}

void RootPort::release() {
  owner_ = kNobody;
  ++grant_;
  for (const pcie::Tree::Place& place : tree_->places())
    if (place.function) {
      place.space->write(pcie::kCommand, 2, 0);
      place.function->reset();
    }
}

std::uint32_t RootPort::new_job(NicId other, std::size_t place, const pcie::Tlp& tlp,
                                std::span<const std::uint8_t> data) {
  const std::uint32_t index = jobs_.take();
  Job& job = jobs_[index];
  job.other = other;
  job.place = place;
  job.grant = grant_;
  job.begun = queue_.now();
  job.tlp = tlp;
  job.data.assign(data.begin(), data.end());
  return index;
}

/// Who a packet from outside is for; kNone: nobody. The root port passes on what lies in its range of buses
/// and in its windows, and drops the rest.
std::size_t RootPort::find(const pcie::Tlp& tlp) const {
  if (tlp.is_config()) return tree_->find(tlp.target);
  if (tlp.is_completion()) return tree_->find(tlp.requester);
  return tree_->find_memory(tlp.address, tlp.bytes).place;
}

void RootPort::refuse(NicId to, const pcie::Tlp& tlp) {
  ++smfu_.counters().refused;
  if (tlp.traffic() == pcie::Traffic::NonPosted)
    smfu_.send(Side::Port, to, pcie::failure_of(tlp, {}, pcie::CompletionStatus::Unsupported), {},
               pcie::Tree::kNone);
}

void RootPort::arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  const std::size_t place = find(tlp);
  const bool stranger = owner_ != kNobody && from != owner_;
  if (queue_.now() < ready_) return refuse(from, tlp);
  if (const Unit unit = chip_.unit_of(kFromPort, tlp); !stranger && unit != Unit::Network)
    return ask_unit(unit, new_job(from, pcie::Tree::kNone, tlp, data));
  if (place == pcie::Tree::kNone || stranger) return refuse(from, tlp);
  pcie::Tlp inside = tlp;
  if (tlp.kind == pcie::TlpKind::ConfigRead1) inside.kind = pcie::TlpKind::ConfigRead0;
  if (tlp.kind == pcie::TlpKind::ConfigWrite1) inside.kind = pcie::TlpKind::ConfigWrite0;
  const std::uint32_t index = new_job(from, place, inside, data);
  if (!links_[place]) {  // a bridge: the port itself, or one of a switch; what follows finds it changed
    carry_out(index);
    return jobs_.give(index);
  }
  links_[place]->going_down.push_back(index);
  pump_down(place);
}

void RootPort::pump_down(std::size_t place) {
  Link& link = *links_[place];
  while (!link.going_down.empty() && link.down.has_credits(jobs_[link.going_down.front()].tlp)) {
    const std::uint32_t index = link.going_down.front();
    link.going_down.pop_front();
    queue_.at(link.down.send(queue_.now(), jobs_[index].tlp), component_, kDown, index);
  }
}

void RootPort::pump_up(std::size_t place) {
  Link& link = *links_[place];
  while (!link.going_up.empty() && link.up.has_credits(jobs_[link.going_up.front()].tlp)) {
    const std::uint32_t index = link.going_up.front();
    link.going_up.pop_front();
    queue_.at(link.up.send(queue_.now(), jobs_[index].tlp), component_, kUp, index);
  }
}

void RootPort::handle(const event::Event& event) {
  const auto index = static_cast<std::uint32_t>(event.data);
  if (event.kind == kUp) return leave(index);
  if (event.kind == kUnit) return end_unit(index);
  const std::size_t place = jobs_[index].place;
  if (!is_stale(jobs_[index])) {
    carry_out(index);
  } else if (jobs_[index].tlp.traffic() == pcie::Traffic::NonPosted) {
    // Asked for by a host that has the port no more: it hears that nothing comes of it.
    const Job& request = jobs_[index];
    answer(request, pcie::failure_of(request.tlp, {}, pcie::CompletionStatus::Unsupported), {});
  }
  links_[place]->down.give_back(jobs_[index].tlp);
  pump_down(place);
  jobs_.give(index);
}

/// A packet has reached whom it is for.
void RootPort::carry_out(std::uint32_t index) {
  const Job& job = jobs_[index];
  if (job.tlp.is_config()) return configure(job);
  pcie::Function* function = tree_->places()[job.place].function;
  if (job.tlp.is_completion()) {
    if (function) function->completed(job.tlp, job.data);
    return;
  }
  // Windows may have moved while it was on its way.
  const pcie::Tree::Target target = tree_->find_memory(job.tlp.address, job.tlp.bytes);
  if (target.place != job.place) {
    answer(job, pcie::failure_of(job.tlp, {}, pcie::CompletionStatus::Unsupported), {});
  } else if (job.tlp.kind == pcie::TlpKind::MemoryWrite) {
    function->bar_write(target.bar, target.offset, job.data);
  } else {
    read_memory(job);
  }
}

void RootPort::read_memory(const Job& job) {
  const pcie::Tree::Place& place = tree_->places()[job.place];
  const pcie::Tree::Target target = tree_->find_memory(job.tlp.address, job.tlp.bytes);
  answer_.resize(job.tlp.bytes);
  place.function->bar_read(target.bar, target.offset, answer_);
  const std::uint32_t payload = std::min(pcie::payload_of(*place.space), smfu_.payload());
  for (std::uint32_t done = 0; done < job.tlp.bytes;) {
    const std::uint32_t piece =
        pcie::next_completion(job.tlp.address + done, job.tlp.bytes - done, payload, kReadCompletionBoundary);
    answer(job, pcie::completion_of(job.tlp, place.function->id(), done, piece),
           std::span(answer_).subspan(done, piece));
    done += piece;
  }
}

void RootPort::configure(const Job& job) {
  const pcie::Tlp& t = job.tlp;
  if (t.is_write()) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < job.data.size(); ++i) value |= std::uint32_t{job.data[i]} << 8 * i;
    tree_->config_write(t.target, t.register_, t.bytes, value);
    return answer(job, pcie::completion_of(t, t.target, 0, 0), {});
  }
  const std::uint32_t value = tree_->config_read(t.target, t.register_, t.bytes);
  answer_.resize(t.bytes);
  for (std::size_t i = 0; i < answer_.size(); ++i) answer_[i] = static_cast<std::uint8_t>(value >> 8 * i);
  answer(job, pcie::completion_of(t, t.target, 0, t.bytes), answer_);
}

void RootPort::answer(const Job& request, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  if (request.tlp.traffic() == pcie::Traffic::Posted) return;
  go_up(request.other, request.place, tlp, data);
}

void RootPort::send(pcie::FunctionId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  const std::size_t place = tree_->find(from);
  if (place != pcie::Tree::kNone && links_[place]) go_up(kNobody, place, tlp, data);
}

void RootPort::go_up(NicId to, std::size_t place, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  const std::uint32_t index = new_job(to, place, tlp, data);
  if (!links_[place]) {
    const Time there = tree_->path(place).latency;
    queue_.at(queue_.now() + there + there, component_, kUp, index);
    return;
  }
  links_[place]->going_up.push_back(index);
  pump_up(place);
}

/// A packet of a function has reached the port: completions go back to who asked, requests where their
/// address leads.
void RootPort::leave(std::uint32_t index) {
  Job& job = jobs_[index];
  NicId to = job.other;
  if (to == kNobody && is_stale(job)) return drop(index);
  if (to == kNobody) {
    const Interval* interval = chip_.find(kFromPort, job.tlp.address, job.tlp.bytes);
    if (!interval) {
      ++smfu_.counters().refused;
      if (job.tlp.traffic() == pcie::Traffic::NonPosted)
        reply(job, pcie::failure_of(job.tlp, {}, pcie::CompletionStatus::Unsupported), {});
      return drop(index);
    }
    if (interval->unit != Unit::Network) return ask_unit(interval->unit, index);
    to = interval->target;
    job.tlp.address += interval->base - interval->first;
  }
  smfu_.send(Side::Port, to, job.tlp, job.data, job.place);
  jobs_.give(index);
}

/// To whoever has asked: a function below, or a node.
void RootPort::reply(const Job& job, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  if (job.place == pcie::Tree::kNone) return smfu_.send(Side::Port, job.other, tlp, data, pcie::Tree::kNone);
  links_[job.place]->going_down.push_back(new_job(kNobody, job.place, tlp, data));
  pump_down(job.place);
}

// --- Units of the chip itself, by the table of intervals.

void RootPort::ask_unit(Unit unit, std::uint32_t index) {
  queue_.at(chip_.ready(unit, queue_.now()), component_, kUnit, index);
}

/// A function asks for itself, and the host of the port for all that is below it.
Asker RootPort::asker_of(const Job& job) const {
  if (job.place != pcie::Tree::kNone) return {own_, {&devices_[job.place], 1}, job.begun};
  if (job.other == owner_) return {job.other, all_devices_, job.begun};
  return {job.other, {}, job.begun};
}

void RootPort::end_unit(std::uint32_t index) {
  const Job& job = jobs_[index];
  const bool below = job.place != pcie::Tree::kNone;
  if (below && is_stale(job)) return drop(index);
  const bool well = chip_.access(kFromPort, job.tlp, job.data, asker_of(job), answer_);
  if (!well) ++smfu_.counters().refused;
  if (job.tlp.traffic() == pcie::Traffic::NonPosted)
    well ? reply(job, pcie::completion_of(job.tlp, {}, 0, job.tlp.bytes), answer_)
         : reply(job, pcie::failure_of(job.tlp, {}, pcie::CompletionStatus::Unsupported), {});
  if (below) return drop(index);
  jobs_.give(index);
}

/// Its room on the link is free. Also a request of a function that was meant for a host which has the port no
/// more: it leads to nobody else.
void RootPort::drop(std::uint32_t index) {
  const std::size_t place = jobs_[index].place;
  links_[place]->up.give_back(jobs_[index].tlp);
  jobs_.give(index);
  pump_up(place);
}

/// What has left the interface makes room for the next packet of that function.
void RootPort::left(const pcie::Tlp& tlp, std::uint64_t place) {
  if (place == pcie::Tree::kNone || !links_[place]) return;
  links_[place]->up.give_back(tlp);
  pump_up(place);
}

}  // namespace weft::nic
