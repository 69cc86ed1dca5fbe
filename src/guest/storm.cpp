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

void Recorder::add(Side& side, bool sent, Time at, std::span<const std::uint8_t> frame) {
  if (sent)
    side.sent.push_back({static_cast<std::uint32_t>(frame.size()), side.heard, at - side.last});
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

Storm::Storm(event::EventQueue& queue, Recording recording, std::size_t clients)
    : queue_(queue),
      component_(queue.join(*this)),
      recording_(std::move(recording)),
      clients_(clients),
      ends_(clients) {}

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
  queue_.at(later(queue_.now(), frames[side.next].gap), component_, server, client);
}

void Storm::handle(const event::Event& event) {
  const bool server = event.kind != 0;
  const auto client = static_cast<std::size_t>(event.data);
  Side& side = server ? clients_[client].server : clients_[client].self;
  side.planned = false;
  const std::uint32_t bytes = part(server)[side.next++].bytes;
  send(client, server, bytes);
  go_on(client, server);
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
