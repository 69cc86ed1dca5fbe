#include "network/link/protocol.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace weft::network::link {

namespace {
constexpr Cycle kControlPause =
    8;  // 'header-footer': control words take the place of flits, so not too often
}

LinkCounters& LinkCounters::operator+=(const LinkCounters& other) {
  sent += other.sent, sent_again += other.sent_again, accepted += other.accepted;
  refused += other.refused, control_lost += other.control_lost;
  gone_back += other.gone_back, timeouts += other.timeouts;
  trainings += other.trainings, deaths += other.deaths, beats += other.beats;
  damaged_packets += other.damaged_packets;
  return *this;
}

LinkEnd::LinkEnd(const LinkSettings& settings)
    : settings_(settings),
      sender_(settings),
      receiver_(settings),
      freed_(settings.channels),
      seen_(settings.channels),
      here_(settings.lane_rates.size()),
      there_(settings.lane_rates.size()) {
  WEFT_CHECK(settings.window >= 1 && settings.channels <= 64 && settings.lane_rates.size() <= kMaxRates);
  WEFT_CHECK(settings.timeout > 2 * settings.flight, "an answer takes a round trip");
  WEFT_CHECK(settings.beat * settings.missed_beats > 2 * settings.flight);
  set_lanes({all_lanes(settings.lanes), 0});
  if (settings.train_first) start_training(0, 1);
}

void LinkEnd::set_lanes(const LaneSet& lanes) {
  lanes_ = lanes;
  // Flits take longer by as much as the lanes are fewer and slower; rounded up, so never faster than the
  // wire.
  std::uint64_t full = std::uint64_t{settings_.lanes} * settings_.lane_rates.front();
  std::uint64_t left = std::uint64_t{lanes.count()} * settings_.lane_rates[lanes.rate];
  interval_ = static_cast<unsigned>((settings_.interval * full + left - 1) / left);
}

void LinkEnd::receive(Cycle now, Wire& in, Arrival& out) {
  out.has_flit = false;
  out.credits = 0;
  const std::uint8_t* bytes = nullptr;
  if (Frame* frame = in.arriving(now, bytes)) {
    if (frame->kind == Frame::Kind::Training) {
      hear_training(now, frame->training);
    } else {
      if (frame->has_control && control_crc(frame->control) == frame->control.crc)
        hear_control(now, frame->control, out);
      else
        counters_.control_lost += frame->has_control;
      if (frame->has_flit && state_ == LinkState::Up) receiver_.take(frame->flit, bytes, out, counters_);
    }
    frame->kind = Frame::Kind::Nothing;
  }
  if (!out.has_flit && state_ == LinkState::Up) receiver_.take_held(out, counters_);
  check_life(now);
}

void LinkEnd::hear_control(Cycle now, const Control& control, Arrival& out) {
  last_heard_ = now;
  if (state_ != LinkState::Up) try_going_up(now, true);
  receiver_.heard_epoch(control.epoch);
  sender_.acknowledge(now, control, counters_);
  std::uint16_t& seen = seen_[control.credit_channel % settings_.channels];
  out.credit_channel = control.credit_channel;
  out.credits = static_cast<std::uint16_t>(control.credit - seen);
  seen = control.credit;
  peer_health_ = control.health;
  peer_occupied_ = control.occupied;
}

void LinkEnd::check_life(Cycle now) {
  if (state_ == LinkState::Up) {
    if (now - last_heard_ > patience()) {
      state_ = LinkState::Dead;
      ++counters_.deaths;
    } else if (sender_.check_time(now, counters_) || sender_.exhausted()) {
      start_training(now, round_ + 1);
    }
  } else if (state_ == LinkState::Training && now - training_since_ > settings_.training + patience()) {
    state_ = LinkState::Dead;
    ++counters_.deaths;
  } else if (state_ == LinkState::Training) {
    try_going_up(now, false);
  }
}

void LinkEnd::start_training(Cycle now, std::uint32_t round) {
  state_ = LinkState::Training;
  round_ = round;
  training_since_ = now;
  heard_ = peer_heard_ = false;
  ++counters_.trainings;
}

void LinkEnd::hear_training(Cycle now, const Training& training) {
  last_heard_ = now;
  bool newer = static_cast<std::int32_t>(training.round - round_) > 0;
  if (state_ == LinkState::Up && !newer) return;  // the last words of a training that is over
  if (state_ != LinkState::Training || newer) start_training(now, newer ? training.round : round_);
  if (training.round != round_) return;
  heard_ = true;
  peer_heard_ |= training.heard;
  for (std::size_t rate = 0; rate < here_.size(); ++rate) {
    here_[rate] = training.arrived[rate];
    there_[rate] = training.mine[rate];
  }
}

// Up as soon as both know what both can receive and the time for training has passed. An end that is up
// already knows it of both, so its first word is enough.
void LinkEnd::try_going_up(Cycle now, bool peer_is_up) {
  if (state_ != LinkState::Training || !heard_) return;
  bool done = peer_heard_ && now - training_since_ >= settings_.training;
  if (!done && !peer_is_up) return;
  auto lanes = agree(here_, there_, settings_.fewest_lanes);
  if (!lanes) {  // too few lanes are left in common: nothing to go up with
    state_ = LinkState::Dead;
    ++counters_.deaths;
    return;
  }
  set_lanes(*lanes);
  state_ = LinkState::Up;
  last_heard_ = now;
  next_send_ = 0;
  sender_.start_again(now);
}

bool LinkEnd::send_training(Cycle now, Wire& out) {
  // A dead end only knocks now and then.
  if (state_ == LinkState::Dead && now - last_spoken_ < settings_.beat) return false;
  Frame frame;
  frame.kind = Frame::Kind::Training;
  frame.training.round = state_ == LinkState::Dead ? round_ + 1 : round_;
  frame.training.heard = heard_ && state_ == LinkState::Training;
  for (std::size_t rate = 0; rate < here_.size(); ++rate) frame.training.mine[rate] = here_[rate];
  last_spoken_ = now;
  out.put(now, frame, nullptr, lanes_);
  return true;
}

bool LinkEnd::transmit(Cycle now, Wire& out) {
  if (state_ != LinkState::Up) return send_training(now, out);
  const bool stuffed = settings_.retry == topology::Retry::HeaderFooter;
  bool speak = wants_to_speak();
  bool beat = now - last_spoken_ >= settings_.beat;
  bool free = next_send_ <= now << 8;
  if (!speak && !beat && !(free && sender_.has_next())) return false;
  Frame frame;
  frame.kind = Frame::Kind::Flow;
  const std::uint8_t* bytes = nullptr;
  if (stuffed) {
    // Control words are stuffed between data words: they take a flit's place, so not in every cycle.
    frame.has_control = free && (beat || (speak && now - last_spoken_ >= kControlPause));
    if (free && !frame.has_control) sender_.next(now, frame, bytes, counters_);
  } else {
    if (free) sender_.next(now, frame, bytes, counters_);
    frame.has_control = frame.has_flit || speak || beat;
  }
  if (!frame.has_flit && !frame.has_control) return false;
  if (frame.has_control) fill_control(now, frame.control, !frame.has_flit && !speak);
  if (frame.has_flit || stuffed) {
    Cycle cycle = now << 8;
    if (next_send_ + 256 <= cycle) next_send_ = cycle;
    next_send_ += interval_;
  }
  out.put(now, frame, bytes, lanes_);
  return true;
}

Cycle LinkEnd::wakes_at(Cycle now) const {
  Cycle at = last_spoken_ + settings_.beat;  // a beat, or a dead end's knock
  if (state_ == LinkState::Training) at = now;
  if (state_ == LinkState::Up) {
    at = std::min({at, last_heard_ + patience() + 1, sender_.times_out_at()});
    if (sender_.has_next()) at = std::min(at, (next_send_ + 255) >> 8);
    if (wants_to_speak() || receiver_.has_held()) at = now;
  }
  return std::max(at, now + 1);
}

void LinkEnd::fill_control(Cycle now, Control& control, bool only_a_beat) {
  control.epoch = told_epoch_ = sender_.epoch();
  receiver_.fill(control);
  receiver_.spoken();
  // A credit that is due, else the count of the next channel once more.
  unsigned channel = credit_turn_;
  if (dirty_) {
    std::uint64_t later = dirty_ & (~std::uint64_t{0} << credit_turn_);
    channel = static_cast<unsigned>(std::countr_zero(later ? later : dirty_));
  }
  credit_turn_ = (channel + 1) % settings_.channels;
  dirty_ &= ~(std::uint64_t{1} << channel);
  control.credit_channel = static_cast<std::uint8_t>(channel);
  control.credit = freed_[channel];
  control.health = health_;
  control.occupied = occupied_;
  control.beat = only_a_beat;
  control.crc = control_crc(control);
  counters_.beats += only_a_beat;
  last_spoken_ = now;
}

void LinkEnd::reset(Cycle now) {
  sender_ = Sender(settings_);
  receiver_ = Receiver(settings_);
  std::fill(freed_.begin(), freed_.end(), std::uint16_t{0});
  std::fill(seen_.begin(), seen_.end(), std::uint16_t{0});
  dirty_ = 0;
  told_epoch_ = 0;
  next_send_ = 0;
  if (state_ == LinkState::Up) last_heard_ = now;
}

}  // namespace weft::network::link
