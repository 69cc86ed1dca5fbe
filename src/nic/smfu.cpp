#include "nic/smfu.hpp"

#include <algorithm>

namespace weft::nic {

namespace {

// A way around a broken cable is found in far less than all of these attempts take.
constexpr Time kRetry{20'000'000};
constexpr std::uint32_t kAttempts = 500;
/// When somebody who waits for a completion stops to: as the devices of most hosts are set.
constexpr Time kCompletionTimeout{50'000'000'000};

}  // namespace

void Smfu::send(Side from, NicId to, const pcie::Tlp& tlp, std::span<const std::uint8_t> data,
                std::uint64_t token) {
  const std::uint32_t index = context_.new_packet();
  Packet& packet = context_.packets[index];
  packet.header.kind = tlp.is_completion() ? PacketKind::TlpAnswer : PacketKind::Tlp;
  packet.header.bytes = tlp.has_data() ? tlp.bytes : 0;  // the packet's header carries the other
  pcie::encode(tlp, data, packet.data);
  queue(index, from, to, token);
}

void Smfu::inject(Side from, NicId to, std::span<const std::uint8_t> bytes) {
  const std::uint32_t index = context_.new_packet();
  Packet& packet = context_.packets[index];
  packet.header.kind = PacketKind::Tlp;
  packet.header.bytes = static_cast<std::uint32_t>(bytes.size());
  packet.data.assign(bytes.begin(), bytes.end());
  queue(index, from, to, ~std::uint64_t{0});  // its room is nobody's
}

void Smfu::queue(std::uint32_t index, Side from, NicId to, std::uint64_t token) {
  Packet& packet = context_.packets[index];
  Header& h = packet.header;
  h.from = interface_;
  h.to = to;
  h.flags = static_cast<std::uint16_t>(from);
  h.context = token;
  if (sequences_.size() < context_.nodes.size()) sequences_.resize(context_.nodes.size());
  h.sequence = sequences_[to]++;
  ++counters_.sent;
  counters_.bytes += h.bytes;
  if (watch_) watch_->passed(interface_, to, true, packet.data);
  waiting_.push_back(index);
  go_on();
}

void Smfu::go_on() {
  while (!waiting_.empty() && !egress_.full()) {
    const std::uint32_t index = waiting_.front();
    waiting_.pop_front();
    launch(index);
  }
}

void Smfu::launch(std::uint32_t index) {
  out_free_ = std::max(context_.now(), out_free_) + context_.nic.occupancy;
  egress_.launch(index, out_free_ - context_.nic.occupancy + context_.nic.send_latency);
}

void Smfu::departed(Packet& packet) {
  egress_.departed(packet);
  constexpr std::uint64_t kTold = 1;
  if (packet.header.value != kTold) {
    packet.header.value = kTold;
    if (TlpSink* sink = sinks_[packet.header.flags])
      sink->left(pcie::decode(packet.data).tlp, packet.header.context);
  }
  go_on();
}

/// Packets of one sender in their order.
void Smfu::delivered(std::uint32_t index, Time when) {
  const NicId from = context_.packets[index].header.from;
  if (sources_.size() < context_.nodes.size()) sources_.resize(context_.nodes.size());
  Source& source = sources_[from];
  if (context_.packets[index].header.sequence != source.next) {
    source.early.push_back(index);
    return;
  }
  for (;;) {
    ++source.next;
    accept(index, when);
    auto follows = std::find_if(source.early.begin(), source.early.end(), [&](std::uint32_t early) {
      return context_.packets[early].header.sequence == source.next;
    });
    if (follows == source.early.end()) return;
    index = *follows;
    *follows = source.early.back();
    source.early.pop_back();
  }
}

void Smfu::accept(std::uint32_t index, Time when) {
  if (context_.packets[index].gone) return context_.packets.give(index);
  const Time start = std::max(when, in_free_);
  in_free_ = start + context_.nic.occupancy;
  context_.at(start + context_.nic.receive_latency, What::TlpHere, interface_, index);
}

void Smfu::here(std::uint32_t index) {
  const Packet& packet = context_.packets[index];
  const pcie::Decoded decoded = pcie::decode(packet.data);
  ++counters_.received;
  counters_.bytes += packet.header.bytes;
  if (watch_) watch_->passed(packet.header.from, interface_, false, packet.data);
  TlpSink* sink = sinks_[static_cast<std::size_t>(other_side(static_cast<Side>(packet.header.flags)))];
  if (watch_ && !decoded.error && decoded.tlp.is_completion() && decoded.tlp.requester == kWatch) {
    watch_->answered(decoded.tlp, decoded.data);
  } else if (decoded.error || !sink) {
    ++counters_.refused;
  } else {
    sink->arrived(packet.header.from, decoded.tlp, decoded.data);
  }
  context_.packets.give(index);
}

void Smfu::lost(std::uint32_t index, Smfu& receiver) {
  Packet& packet = context_.packets[index];
  departed(packet);
  if (packet.header.tag++ < kAttempts) {
    ++counters_.again;
    return context_.at(context_.now() + kRetry, What::TlpAgain, interface_, index);
  }
  ++counters_.given_up;
  const pcie::Tlp tlp = pcie::decode(packet.data).tlp;
  if (tlp.is_completion()) {
    receiver.answer_late(tlp, interface_, static_cast<Side>(packet.header.flags));
  } else if (tlp.traffic() == pcie::Traffic::NonPosted) {
    answer_late(tlp, packet.header.to, other_side(static_cast<Side>(packet.header.flags)));
  }
  packet.gone = true;
  receiver.delivered(index, context_.now());  // its place in the order is taken all the same
}

void Smfu::again(std::uint32_t index) { launch(index); }

/// What was asked for will not come.
void Smfu::answer_late(const pcie::Tlp& tlp, NicId asked, Side side) {
  const std::uint32_t index = context_.new_packet();
  Packet& packet = context_.packets[index];
  pcie::Tlp failure;
  failure.kind = pcie::TlpKind::Completion;
  failure.requester = tlp.requester;
  failure.tag = tlp.tag;
  failure.status = pcie::CompletionStatus::Abort;
  failure.bytes_left = 4;
  packet.header.kind = PacketKind::TlpAnswer;
  packet.header.from = asked;
  packet.header.flags = static_cast<std::uint16_t>(side);
  packet.header.to = interface_;
  pcie::encode(failure, {}, packet.data);
  context_.at(context_.now() + kCompletionTimeout, What::TlpHere, interface_, index);
}

}  // namespace weft::nic
