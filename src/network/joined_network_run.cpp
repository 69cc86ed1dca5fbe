// How the networks of a JoinedNetwork run beside each other, and what follows from what they tell.
#include <algorithm>
#include <tuple>

#include "network/joined_network.hpp"

namespace weft::network {

/// Where none but one has anything on its way it runs alone, up to what it tells first.
void JoinedNetwork::run_alone(Part* busy, Time until) {
  heard_.clear();
  if (busy) busy->network->advance(until, heard_);
  ran_to_ = heard_.empty() ? until : std::max(ran_to_, heard_.back().at);
  for (const Notice& notice : heard_)
    told_.emplace_back(notice, static_cast<std::uint32_t>(busy - parts_.data()));
}

/// What is told in this stretch begins at or after its start, so answers come after its end.
void JoinedNetwork::run_in_turn(Time until) {
  const Time end = std::min(until, Time{later(ran_to_, step()).value - 1});
  for (std::uint32_t p = 0; p < parts_.size(); ++p) {
    heard_.clear();
    for (std::size_t told = ~std::size_t{0}; told != heard_.size();) {
      told = heard_.size();
      parts_[p].network->advance(end, heard_);
    }
    for (const Notice& notice : heard_) told_.emplace_back(notice, p);
  }
  ran_to_ = std::max(ran_to_, end);
  if (ran_to_ < until) ran_to_ = Time{ran_to_.value + 1};
}

void JoinedNetwork::run(Time until, std::vector<Notice>& notices) {
  const std::size_t before = notices.size();
  while (notices.size() == before && ran_to_ < until) {
    Part* busy = nullptr;
    unsigned count = 0;
    for (Part& part : parts_)
      if (!part.network->idle()) {
        busy = &part;
        ++count;
      }
    told_.clear();
    if (count > 1)
      run_in_turn(until);
    else
      run_alone(busy, until);
    settle(notices);
  }
  std::sort(notices.begin() + static_cast<std::ptrdiff_t>(before), notices.end());
}

/// In the order of time; what is of one time in an order that depends on the packets alone.
void JoinedNetwork::settle(std::vector<Notice>& notices) {
  auto key = [this](const std::pair<Notice, std::uint32_t>& told) {
    const Notice& n = told.first;
    const bool through = (n.tag & kOwn) && !(n.tag & kCredits);
    const Packet packet = through ? crossings_[n.tag & ~kOwn].packet : Packet{};
    return std::tuple(n.at.value, n.kind, through ? packet.tag : n.tag, packet.source, n.where, told.second);
  };
  std::sort(told_.begin(), told_.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (const auto& [notice, part] : told_) handle(notice, part, notices);
}

void JoinedNetwork::tell(const Notice& notice, std::vector<Notice>& notices) {
  notices.push_back(notice);
  untold_ -= notice.kind != Notice::Kind::Departed;
}

void JoinedNetwork::handle(const Notice& notice, std::uint32_t part, std::vector<Notice>& notices) {
  if (!(notice.tag & kOwn)) return tell(notice, notices);
  using Kind = Notice::Kind;
  if (notice.tag & kCredits) {
    // Where it is lost its node is cut off, and so is all that it sends.
    if (notice.kind != Kind::Departed) take_credits(notice.tag, part, notice.at);
    return;
  }
  const auto index = static_cast<std::uint32_t>(notice.tag & ~kOwn);
  Crossing& c = crossings_[index];
  if (notice.kind == Kind::Lost) return lost(index, notice.at, notices);
  if (!c.through) {
    if (notice.kind == Kind::Departed) return tell({c.packet.tag, notice.at, Kind::Departed}, notices);
    return at_gateway(index, notice.at);
  }
  if (notice.kind == Kind::Departed) {
    if (!c.left) left_gateway(index, notice.at);
    return;
  }
  tell({c.packet.tag, notice.at, Kind::Delivered}, notices);
  free_.push_back(index);
}

void JoinedNetwork::take_credits(Tag tag, std::uint32_t part, Time at) {
  const auto source = static_cast<EndpointId>(tag);
  const auto gateway = static_cast<std::uint32_t>(tag >> 32 & 0xfff);
  give_places(flow(source, gateway), static_cast<std::uint32_t>(tag >> 44 & 0x3ffff), part, at);
}

/// Places are free again for what waits.
void JoinedNetwork::give_places(Flow& f, std::uint32_t count, std::uint32_t part, Time at) {
  f.taken -= count;
  while (f.first != kNothing && f.taken < parameters_.window) {
    const std::uint32_t next = std::exchange(f.first, crossings_[f.first].next);
    crossings_[next].next = kNothing;
    send_to_gateway(next, std::max(crossings_[next].at, at + parts_[part].send_latency));
  }
}

/// Before the gateway or behind it. Its number is not used again: what it left behind may still be told of.
void JoinedNetwork::lost(std::uint32_t index, Time at, std::vector<Notice>& notices) {
  Crossing& c = crossings_[index];
  Flow& f = flow(c.packet.source, c.way.gateway);
  f.avoid = true;
  ++gateways_[c.way.gateway].lost;
  tell({c.packet.tag, at, Notice::Kind::Lost}, notices);
  if (!c.through)
    give_places(f, 1, c.way.first, at);
  else if (!c.left)
    left_gateway(index, at);
}

}  // namespace weft::network
