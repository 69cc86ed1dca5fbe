#include "guest/storm.hpp"

#include <algorithm>
#include <utility>

#include "base/virtual_time.hpp"

namespace weft::guest {

void BootWatch::received(Time at, std::span<const std::uint8_t> frame) {
  constexpr std::size_t kEthernet = 14, kRequests = 2;
  constexpr std::uint32_t kIp = 0x0800, kTcp = 6, kHttp = 80, kFin = 1;
  auto word = [&](std::size_t i) { return std::uint32_t{frame[i]} << 8 | frame[i + 1]; };
  if (done_ || frame.size() < kEthernet + 20 || word(12) != kIp || frame[kEthernet + 9] != kTcp) return;
  const std::size_t tcp = kEthernet + std::size_t{4} * (frame[kEthernet] & 15u);
  if (frame.size() < tcp + 20 || word(tcp) != kHttp || !(frame[tcp + 13] & kFin)) return;
  const std::uint32_t port = word(tcp + 2);
  if (std::find(ended_.begin(), ended_.end(), port) != ended_.end()) return;  // sent again
  ended_.push_back(port);
  if (ended_.size() < kRequests) return;
  done_ = true;
  at_ = at;
}

namespace {

bool is_tcp(std::span<const std::uint8_t> frame) {
  return frame.size() > 23 && frame[12] == 0x08 && frame[13] == 0 && frame[23] == 6;
}

}  // namespace

void Recorder::add(Side& side, bool sent, Time at, std::span<const std::uint8_t> frame) {
  if (sent)
    side.sent.push_back(
        {static_cast<std::uint32_t>(frame.size()), side.heard, at - side.last, is_tcp(frame)});
  else
    ++side.heard;
  side.last = at;
}

void Recorder::client_frame(bool sent, Time at, std::span<const std::uint8_t> frame) {
  if (done()) return;
  add(client_, sent, at, frame);
  if (!sent) watch_.received(at, frame);
  client_sent_ = static_cast<std::uint32_t>(client_.sent.size());
  client_heard_ = client_.heard;
}

Recording Recorder::finish() const {
  Recording out{client_.sent, server_.sent};
  out.client.resize(std::min<std::size_t>(out.client.size(), client_sent_));
  out.server.resize(std::min<std::size_t>(out.server.size(), client_heard_));
  // What the server sends waits for nothing that is not played.
  for (RecordedFrame& frame : out.server) frame.after = std::min(frame.after, client_sent_);
  return out;
}

StormTimes storm_times(const std::vector<Time>& real, const std::vector<Time>& skeletons) {
  std::vector<Time> all = real;
  all.insert(all.end(), skeletons.begin(), skeletons.end());
  std::sort(all.begin(), all.end());
  if (all.empty()) return {};
  return {all.size(), skeletons.size(), all.front(), all[(all.size() - 1) / 2], all.back()};
}

Storm::Storm(event::EventQueue& queue, Recording recording, std::size_t clients)
    : queue_(queue),
      component_(queue.join(*this)),
      recording_(std::move(recording)),
      clients_(clients),
      ends_(clients) {}

void Storm::play_over(Ethernet& server, const std::vector<Ethernet*>& clients, std::uint32_t first) {
  send = [&server, clients, first](std::size_t client, bool from_server, std::uint32_t bytes, bool tcp) {
    if (from_server)
      server.play(first + static_cast<std::uint32_t>(client), bytes, tcp);
    else
      clients[client]->play(0, bytes, tcp);
  };
  auto come = [this](std::size_t client, bool at_server, bool no_room, std::uint32_t bytes, bool tcp) {
    if (client >= clients_.size()) return;  // a guest sends what looks like it
    if (no_room)
      lost(client, at_server, bytes, tcp);
    else
      heard(client, at_server);
  };
  server.on_played = [=](std::uint32_t sender, bool no_room, std::uint32_t bytes, bool tcp) {
    come(std::size_t{sender} - first, true, no_room, bytes, tcp);
  };
  for (std::size_t i = 0; i < clients.size(); ++i)
    clients[i]->on_played = [=](std::uint32_t, bool no_room, std::uint32_t bytes, bool tcp) {
      come(i, false, no_room, bytes, tcp);
    };
}

void Storm::begin() {
  for (std::size_t i = 0; i < clients_.size(); ++i)
    for (bool server : {false, true}) go_on(i, server);
}

/// Plans the next frame of a side, where all has come that it waits for.
void Storm::go_on(std::size_t client, bool server) {
  Side& side = server ? clients_[client].server : clients_[client].self;
  const std::vector<RecordedFrame>& frames = part(server);
  if (side.planned || side.next == frames.size() || side.heard < frames[side.next].after) return;
  side.planned = true;
  queue_.at(later(queue_.now(), frames[side.next].gap), component_, server ? kServer : 0u, client);
}

void Storm::handle(const event::Event& event) {
  const bool server = event.kind & kServer;
  const auto client = static_cast<std::uint32_t>(event.data);
  if (event.kind & kAgain)
    return send(client, server, static_cast<std::uint32_t>(event.data >> 32), event.kind & kTcp);
  Side& side = server ? clients_[client].server : clients_[client].self;
  side.planned = false;
  const RecordedFrame& frame = part(server)[side.next++];
  send(client, server, frame.bytes, frame.tcp);
  go_on(client, server);
}

void Storm::lost(std::size_t client, bool at_server, std::uint32_t bytes, bool tcp) {
  constexpr Time kLeastOfTcp{200'000'000'000}, kOthers{2'000'000'000'000};
  queue_.at(later(queue_.now(), tcp ? kLeastOfTcp : kOthers), component_,
            kAgain | (at_server ? 0u : kServer) | (tcp ? kTcp : 0u), std::uint64_t{bytes} << 32 | client);
}

void Storm::heard(std::size_t client, bool at_server) {
  Client& one = clients_[client];
  ++(at_server ? one.server : one.self).heard;
  if (!at_server && one.self.heard == recording_.server.size()) {
    ends_[client] = queue_.now();
    ++ended_;
  }
  go_on(client, at_server);
}

}  // namespace weft::guest
