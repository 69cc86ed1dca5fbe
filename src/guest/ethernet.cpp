#include "guest/ethernet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "config/schema.hpp"

namespace weft::guest {

namespace {

constexpr std::uint64_t kVersion1 = std::uint64_t{1} << 32;
constexpr std::uint64_t kHasMtu = 1u << 3, kHasMac = 1u << 5, kMergesBuffers = 1u << 15;
constexpr std::size_t kVirtioHeader = 12, kBufferCount = 10;  // the second: where in the first
constexpr std::size_t kEthernetHeader = 14, kVlanTag = 4;
constexpr std::uint64_t kTurns = 1024;        // of a sender, in a receiver's memory
constexpr std::uint64_t kMostUnderWay = 256;  // in the interface
constexpr std::uint64_t kBase = std::uint64_t{1} << 32,
                        kSendRoom = (Virtqueue::kMostEntries + kMostUnderWay) * Ethernet::kRoom;
constexpr std::uint8_t kPlayedType[2] = {0x88, 0xb5};  // of Ethernet: for experiments within a network
constexpr std::uint64_t kMostAtOnce = 64;              // frames the processor takes in a poll

std::uint64_t features() { return kVersion1 | kHasMtu | kHasMac | kMergesBuffers; }

std::vector<std::uint8_t> config_of(std::uint32_t number, unsigned mtu) {
  std::vector<std::uint8_t> config(64);
  MacAddress mac = mac_of(number);
  std::copy(mac.begin(), mac.end(), config.begin());
  config[8] = 1;  // one pair of queues
  config[10] = static_cast<std::uint8_t>(mtu);
  config[11] = static_cast<std::uint8_t>(mtu >> 8);
  return config;
}

/// The processor's time for bytes that it copies and checks.
Time time_of(std::uint64_t bytes, DataRate rate) {
  return rate.value == 0 ? Time{0} : transfer_time(bytes, rate.value);
}

/// Where a frame of a sender lands.
std::uint64_t landing_offset(std::uint32_t sender, std::uint32_t turn) {
  return kSendRoom + (std::uint64_t{sender} * kTurns + turn) * Ethernet::kRoom;
}

}  // namespace

MacAddress mac_of(std::uint32_t node) {
  // The second bit of the first byte: given out here, by no manufacturer.
  return {0x02,
          0x57,
          static_cast<std::uint8_t>(node >> 24),
          static_cast<std::uint8_t>(node >> 16),
          static_cast<std::uint8_t>(node >> 8),
          static_cast<std::uint8_t>(node)};
}

Ethernet::Ethernet(const node::Slot& slot, const EthernetParameters& parameters)
    : Device(slot), parameters_(parameters), vhost_(features(), 2) {
  // A kick of the receiving queue says that there are buffers: they are looked for when a frame needs one.
  vhost_.on_kick = [this](unsigned queue) {
    if (queue == kSendQueue) kicked();
  };
}

EthernetPeer Ethernet::open(nic::Fabric& fabric, nic::NicId nic, std::uint32_t number, node::SpaceId space) {
  fabric_ = &fabric;
  number_ = number;
  turns_.resize(fabric.nics());
  landing_.resize(fabric.nics());
  vhost_.set_config(config_of(number, parameters_.mtu));
  nic::PortNo port = 0;
  // One of the kernel's own where the machine keeps some, else one as any process has it.
  nic::Status status = fabric.open_for_kernel(nic, space, port);
  if (status != nic::Status::Ok) status = fabric.open(nic, space, true, port);
  if (status != nic::Status::Ok) throw UserError("nic.ports: no port is left for the kernel of a Linux node");
  port_ = {nic, port};
  const std::uint64_t size = landing_offset(fabric.nics(), 0);
  if (fabric.register_memory(port_, kBase, size, nic::kRemoteWrite, key_) != nic::Status::Ok)
    throw UserError("nic.physical_bits: too few for the memory of a Linux node's Ethernet");
  const std::uint64_t largest = parameters_.mtu + kEthernetHeader + kVlanTag;
  if (static_cast<std::uint64_t>(fabric.parameters().rdma_limit.value) < largest)
    throw UserError(
        fmt::format("node.device.{}.mtu: a frame has up to {} bytes, more than nic.rdma_limit, {}", name(),
                    largest, fabric.parameters().rdma_limit.value));
  most_posted_ = std::max(1u, fabric.parameters().queue_slots);
  return {port_, fabric.node(nic), key_};
}

void Ethernet::run_at(Frequency clock) {
  if (clock.value == 0 || parameters_.nominal_clock.value == 0) return;
  auto scaled = [](std::int64_t value, __int128 up, __int128 down) {
    return static_cast<std::int64_t>((value * up + down / 2) / down);
  };
  const std::int64_t nominal = parameters_.nominal_clock.value;
  for (Time* cost : {&parameters_.send_cost, &parameters_.receive_cost, &parameters_.interrupt_cost})
    *cost = {scaled(cost->value, nominal, clock.value)};
  for (DataRate* rate : {&parameters_.send_rate, &parameters_.receive_rate})
    if (rate->value) *rate = {std::max<std::int64_t>(1, scaled(rate->value, clock.value, nominal))};
}

/// The processor does this after all it has been given before; when it is done.
Time Ethernet::work(Time cost) {
  processor_free_ = later(std::max(processor_free_, now()), cost);
  counters_.processor += cost;
  return processor_free_;
}

std::uint64_t Ethernet::read_register(std::uint64_t offset) {
  switch (offset) {
    case 0:
      return number_;
    case 8:
      return parameters_.mtu;
    case 16:
      return counters_.frames_sent;
    case 24:
      return counters_.frames_received;
    case 32:
      return counters_.no_room + counters_.unsent + counters_.damaged;
    default:
      return node::kNoRegister;
  }
}

void Ethernet::stop() {
  stopped_ = true;
  vhost_.disconnect();
}

// --- Sending.

/// The guest stands still until its kick is answered: what it offers is taken now, and leaves at its time,
/// whatever becomes of the guest.
void Ethernet::kicked() {
  Virtqueue& ring = vhost_.queue(kSendQueue);
  std::uint32_t frames = 0;
  while (ring.pop(vhost_.memory(), chain_)) {
    if (guest_frames_ == Virtqueue::kMostEntries) {
      ring.fail("more frames are offered than it has entries");
      break;
    }
    offered_.push_back(take_frame(chain_));
    ++frames;
  }
  if (frames) kicks_.push_back({guest_time(), frames});
}

void Ethernet::take_kicks() {
  for (const Kick& kick : kicks_) at(std::max(now(), kick.at), kKick, kick.frames);
  kicks_.clear();
}

std::uint32_t Ethernet::new_frame() {
  std::uint32_t index = frames_.take();
  places_ = std::max(places_, index + 1);
  frames_[index].bytes.clear();
  frames_[index].number = ++made_;
  return index;
}

std::uint32_t Ethernet::make_frame(const Ready& played) {
  const std::uint32_t index = new_frame();
  Frame& frame = frames_[index];
  frame.played = true;
  frame.targets.assign(1, played.target);
  frame.bytes.resize(std::max<std::size_t>(played.bytes, kEthernetHeader + 1));
  const MacAddress to = mac_of(played.target), from = mac_of(number_);
  std::copy(to.begin(), to.end(), frame.bytes.begin());
  std::copy(from.begin(), from.end(), frame.bytes.begin() + 6);
  std::copy(std::begin(kPlayedType), std::end(kPlayedType), frame.bytes.begin() + 12);
  frame.bytes[kEthernetHeader] = played.tcp;
  return index;
}

void Ethernet::play(std::uint32_t target, std::uint32_t bytes, bool tcp) {
  ready_.push_back({kToPlay, target, bytes, tcp});
  begin_frames();
}

/// Into the driver's memory; nothing where what the guest gave is no frame.
std::uint32_t Ethernet::take_frame(const Chain& chain) {
  const std::uint64_t bytes = chain.readable_bytes();
  const std::uint32_t index = new_frame();
  Frame& frame = frames_[index];
  frame.played = false;
  frame.head = chain.head;
  ++guest_frames_;
  if (bytes < kVirtioHeader + kEthernetHeader ||
      bytes > kVirtioHeader + kEthernetHeader + kVlanTag + parameters_.mtu)
    return index;
  for (const Chain::Piece& piece : chain.readable)
    frame.bytes.insert(frame.bytes.end(), piece.bytes, piece.bytes + piece.length);
  frame.bytes.erase(frame.bytes.begin(), frame.bytes.begin() + kVirtioHeader);
  choose_targets(frame);
  return index;
}

/// As many as the driver may have under way, of those that were kicked for by now.
void Ethernet::begin_frames() {
  while (!ready_.empty() && under_way_ < parameters_.send_ring) {
    const Ready first = ready_.front();
    const std::uint32_t index = first.frame == kToPlay ? make_frame(first) : first.frame;
    Frame& frame = frames_[index];
    ready_.pop_front();
    if (frame.bytes.empty()) {
      ++counters_.refused;
      give_back(index);
      continue;
    }
    ++under_way_;
    ++counters_.frames_sent;
    counters_.bytes_sent += frame.bytes.size();
    if (on_frame && !frame.played) on_frame(true, now(), frame.bytes);
    const Time bytes = time_of(frame.bytes.size(), parameters_.send_rate);
    at(work(later(parameters_.send_cost, bytes)), kPost, index);
  }
}

/// The guest has the buffers of a frame back.
void Ethernet::give_back(std::uint32_t index) {
  Frame& frame = frames_[index];
  frame.number = 0;
  frames_.give(index);
  if (frame.played) return;
  --guest_frames_;
  Virtqueue& ring = vhost_.queue(kSendQueue);
  ring.push(frame.head, 0);
  ++completed_;
  // Without an interrupt it sees them when it sends again.
  if (ring.wants_interrupt()) want_interrupt();
}

/// One node, or all others: broadcast, multicast, and addresses nobody here was given.
void Ethernet::choose_targets(Frame& frame) const {
  frame.targets.clear();
  const auto nodes = static_cast<std::uint32_t>(nodes_);
  const std::uint8_t* to = frame.bytes.data();
  if (to[0] == 0x02 && to[1] == 0x57) {
    std::uint32_t node =
        std::uint32_t{to[2]} << 24 | std::uint32_t{to[3]} << 16 | std::uint32_t{to[4]} << 8 | to[5];
    if (node < nodes) {
      if (node != number_) frame.targets.push_back(node);
      return;
    }
  }
  for (std::uint32_t node = 0; node < nodes; ++node)
    if (node != number_) frame.targets.push_back(node);
}

void Ethernet::post_frames() {
  while (!posts_.empty() && posted_ < most_posted_) {
    const Post post = posts_.front();
    posts_.pop_front();
    const Frame& frame = frames_[post.frame];
    const EthernetPeer& peer = (*peers_)[post.target];
    nic::Descriptor d;
    d.operation = nic::Operation::Put;
    d.flags = nic::kNotifyLocal | nic::kNotifyRemote;
    d.node = peer.node;
    d.port = peer.port.port;
    d.length = frame.bytes.size();
    d.context = std::uint64_t{frame.number} << 32 | post.frame;
    d.local_key = key_;
    d.local_offset = post.frame * kRoom;
    d.remote_key = peer.key;
    const std::uint32_t turn = turns_[post.target]++ % kTurns;
    d.remote_offset = landing_offset(number_, turn);
    d.operand = turn;
    d.posted = now().value;
    ++posted_;
    fabric_->post(port_, d);
  }
}

void Ethernet::slot_free() {
  --posted_;
  if (!posts_.empty()) at(now(), kPostMore);  // the interface is in the middle of something
}

/// A frame has left for one of those it is for, or never will.
void Ethernet::left(std::uint32_t index, std::uint32_t number, std::uint32_t target) {
  Frame& frame = frames_[index];
  if (frame.number != number) return;
  auto place = std::find(frame.targets.begin(), frame.targets.end(), target);
  if (place == frame.targets.end()) return;
  frame.targets.erase(place);
  if (!frame.targets.empty()) return;
  --under_way_;
  give_back(index);
  begin_frames();
}

bool Ethernet::read(std::uint64_t address, void* to, std::uint64_t length) const {
  if (address < kBase || address - kBase >= kSendRoom) return false;
  const auto index = static_cast<std::uint32_t>((address - kBase) / kRoom);
  const std::uint64_t offset = (address - kBase) % kRoom;
  if (index >= places_) return false;
  const std::vector<std::uint8_t>& bytes = frames_[index].bytes;
  if (offset + length > bytes.size()) return false;
  std::memcpy(to, bytes.data() + offset, length);
  return true;
}

// --- Receiving.

std::vector<std::uint8_t> Ethernet::new_bytes() {
  if (spare_.empty()) return {};
  std::vector<std::uint8_t> bytes = std::move(spare_.back());
  spare_.pop_back();
  bytes.clear();
  return bytes;
}

bool Ethernet::write(std::uint64_t address, const void* from, std::uint64_t length) {
  if (address < kBase + kSendRoom) return false;
  const std::uint64_t offset = address - kBase - kSendRoom, place = offset / kRoom;
  const auto sender = static_cast<std::uint32_t>(place / kTurns),
             turn = static_cast<std::uint32_t>(place % kTurns);
  if (sender >= landing_.size() || offset % kRoom + length > kRoom) return false;
  std::vector<Landing>& coming = landing_[sender];
  auto landing = std::find_if(coming.begin(), coming.end(), [&](const Landing& l) { return l.turn == turn; });
  if (landing == coming.end()) landing = coming.insert(coming.end(), {turn, new_bytes()});
  if (landing->bytes.size() < offset % kRoom + length) landing->bytes.resize(offset % kRoom + length);
  std::memcpy(landing->bytes.data() + offset % kRoom, from, length);
  return true;
}

void Ethernet::know(const std::vector<EthernetPeer>& peers, std::uint32_t nodes) {
  peers_ = &peers;
  nodes_ = nodes;
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    if (peer_of_node_.size() <= peers[i].node) peer_of_node_.resize(peers[i].node + 1, ~0u);
    peer_of_node_[peers[i].node] = i;
  }
}

std::uint32_t Ethernet::peer_at(network::EndpointId node) const {
  return node < peer_of_node_.size() ? peer_of_node_[node] : ~0u;
}

void Ethernet::event(const nic::Event& event) {
  fabric_->consumed(port_, 0, 1);
  switch (event.kind) {
    case nic::EventKind::Failed:
      ++counters_.unsent;
      [[fallthrough]];
    case nic::EventKind::Local:
      return left(static_cast<std::uint32_t>(event.context), static_cast<std::uint32_t>(event.context >> 32),
                  peer_at(event.node));
    case nic::EventKind::Arrived:
      return arrived(event);
    default:
      return;
  }
}

void Ethernet::arrived(const nic::Event& event) {
  const std::uint32_t sender = peer_at(event.node);
  if (sender >= landing_.size()) return;
  std::vector<Landing>& coming = landing_[sender];
  auto landing =
      std::find_if(coming.begin(), coming.end(), [&](const Landing& l) { return l.turn == event.data; });
  if (landing == coming.end()) return;
  std::vector<std::uint8_t> bytes = std::move(landing->bytes);
  coming.erase(landing);
  bytes.resize(event.length);
  if (event.status == nic::Status::Damaged) {
    ++counters_.damaged;
    spare_.push_back(std::move(bytes));
  } else if (stopped_ || waiting_.size() >= parameters_.receive_ring) {
    ++counters_.no_room;
    take_played(bytes, true);
    spare_.push_back(std::move(bytes));
  } else {
    waiting_.push_back(std::move(bytes));
    want_interrupt();
  }
}

/// There is something for the guest: its processor is interrupted, now or when more has come.
void Ethernet::want_interrupt() {
  if (stopped_ || state_ == State::Raised || state_ == State::Polling) return;
  if (parameters_.coalesce_time.value == 0 || waiting_.size() + completed_ >= parameters_.coalesce_frames)
    return raise();
  if (state_ == State::Coalescing) return;
  state_ = State::Coalescing;
  at(later(now(), parameters_.coalesce_time), kRaise);
}

void Ethernet::act(std::uint32_t kind, std::uint64_t data) {
  switch (kind) {
    case kPost: {
      const auto index = static_cast<std::uint32_t>(data);
      Frame& frame = frames_[index];
      if (frame.targets.empty()) {  // for itself, or there is nobody else
        frame.targets.push_back(number_);
        return left(index, frame.number, number_);
      }
      for (std::uint32_t target : frame.targets) posts_.push_back({index, target});
      return post_frames();
    }
    case kPostMore:
      return post_frames();
    case kRaise:
      if (state_ == State::Coalescing) raise();  // else enough have come before
      return;
    case kKick:
      for (; data && !offered_.empty(); --data) {
        ready_.push_back({offered_.front()});
        offered_.pop_front();
      }
      return begin_frames();
    default:
      return deliver(data);
  }
}

void Ethernet::raise() {
  state_ = State::Raised;
  ++counters_.interrupts;
  next_step_ = later(now(), interrupt_latency_);
  interrupt();
}

Time Ethernet::undisturbed_until(Time quiet) const {
  // A frame reaches the guest by an interrupt and a poll, one after the other.
  return state_ == State::Raised || state_ == State::Polling ? next_step_ : later(quiet, interrupt_latency_);
}

void Ethernet::interrupted() {
  if (state_ == State::Raised) begin_poll(parameters_.interrupt_cost);
}

/// `cost`: of what made it look.
void Ethernet::begin_poll(Time cost) {
  state_ = State::Polling;
  const std::uint64_t frames = std::min<std::uint64_t>(waiting_.size(), kMostAtOnce);
  for (std::uint64_t i = 0; i < frames; ++i) {
    cost = later(cost, parameters_.receive_cost);
    cost = later(cost, time_of(waiting_[i].size(), parameters_.receive_rate));
  }
  next_step_ = work(cost);
  at(next_step_, kDeliver, frames);
}

/// The processor has done its work for so many frames: the guest has them.
void Ethernet::deliver(std::uint64_t frames) {
  if (stopped_) return;
  bool given = false;
  for (; frames; --frames) {
    std::vector<std::uint8_t> bytes = std::move(waiting_.front());
    waiting_.pop_front();
    if (take_played(bytes, false)) {
      ++counters_.frames_received;
      counters_.bytes_received += bytes.size();
    } else if (give_to_guest(bytes)) {
      given = true;
      ++counters_.frames_received;
      counters_.bytes_received += bytes.size();
      if (on_frame) on_frame(false, now(), bytes);
    } else {
      ++counters_.no_room;
    }
    spare_.push_back(std::move(bytes));
  }
  const bool freed = std::exchange(completed_, 0u) > 0;
  if (waiting_.empty()) {
    state_ = State::Idle;
  } else {
    begin_poll({0});  // what has come meanwhile needs no interrupt
  }
  if (given && vhost_.queue(kReceiveQueue).wants_interrupt()) interrupt_guest(kReceiveQueue);
  if (freed && vhost_.queue(kSendQueue).wants_interrupt()) interrupt_guest(kSendQueue);
}

/// False where it is one for the guest.
bool Ethernet::take_played(std::span<const std::uint8_t> frame, bool lost) {
  if (!on_played || frame.size() <= kEthernetHeader || frame[12] != kPlayedType[0] ||
      frame[13] != kPlayedType[1])
    return false;
  const std::uint32_t sender = std::uint32_t{frame[8]} << 24 | std::uint32_t{frame[9]} << 16 |
                               std::uint32_t{frame[10]} << 8 | frame[11];
  on_played(sender, lost, static_cast<std::uint32_t>(frame.size()), frame[kEthernetHeader]);
  return true;
}

/// Into as many of the guest's buffers as it takes; false where it has too few.
bool Ethernet::give_to_guest(std::span<const std::uint8_t> frame) {
  Virtqueue& ring = vhost_.queue(kReceiveQueue);
  std::vector<Chain> chains;
  std::uint64_t room = 0;
  while (room < kVirtioHeader + frame.size()) {
    Chain chain;
    if (!ring.pop(vhost_.memory(), chain) || chain.writable_bytes() == 0) {
      ring.unpop(static_cast<std::uint16_t>(chains.size()));
      return false;
    }
    room += chain.writable_bytes();
    chains.push_back(std::move(chain));
  }
  std::vector<std::uint8_t> bytes(kVirtioHeader + frame.size());
  bytes[kBufferCount] = static_cast<std::uint8_t>(chains.size());
  bytes[kBufferCount + 1] = static_cast<std::uint8_t>(chains.size() >> 8);
  std::copy(frame.begin(), frame.end(), bytes.begin() + kVirtioHeader);
  std::size_t done = 0;
  for (const Chain& chain : chains) {
    const std::size_t first = done;
    for (const Chain::Piece& piece : chain.writable) {
      const std::size_t part = std::min<std::size_t>(piece.length, bytes.size() - done);
      std::memcpy(piece.bytes, bytes.data() + done, part);
      done += part;
    }
    ring.push(chain.head, static_cast<std::uint32_t>(done - first));
  }
  return true;
}

namespace {

config::Section ethernet_section() {
  using E = EthernetParameters;
  using config::Range;
  constexpr Range<Time> kAnyTime{{0}, {1'000'000'000'000}};
  constexpr Range<DataRate> kAnyRate{{0}, {1'000'000'000'000'000}};
  return config::Schema<E>()
      .field(&E::mtu, "mtu", "Most bytes of a frame behind its header; a node may use less",
             Range<unsigned>{576, 65'000})
      .field(&E::send_ring, "send_ring", "Frames the driver has under way in the interface, at most",
             Range<unsigned>{1, static_cast<unsigned>(kMostUnderWay)})
      .field(&E::receive_ring, "receive_ring",
             "Frames that wait for the node's processor, at most; what comes then is lost",
             Range<unsigned>{1, 4096})
      .field(&E::send_cost, "send_cost", "The processor's time for a frame that is sent", kAnyTime)
      .field(&E::receive_cost, "receive_cost", "The processor's time for a frame that is received", kAnyTime)
      .field(&E::send_rate, "send_rate",
             "How fast the processor goes over the bytes of frames that are sent; 0: they cost nothing",
             kAnyRate)
      .field(&E::receive_rate, "receive_rate", "The same for frames that are received", kAnyRate)
      .field(&E::interrupt_cost, "interrupt_cost",
             "The processor's time for an interrupt, beside that of the frames it takes along", kAnyTime)
      .field(&E::nominal_clock, "nominal_clock",
             "The processor's clock at which these times and rates hold; they move with processor.clock and "
             "work_per_cycle where a clock is given. 0: they do not",
             Range<Frequency>{{0}, {1'000'000'000'000}})
      .field(&E::coalesce_time, "coalesce_time", "How long the interrupt of a frame waits for more frames",
             kAnyTime)
      .field(&E::coalesce_frames, "coalesce_frames", "How many frames it waits for, at most",
             Range<unsigned>{1, 4096})
      .section();
}

std::unique_ptr<node::Device> make_ethernet(const EthernetParameters& parameters, const node::Slot& slot) {
  return std::make_unique<Ethernet>(slot, parameters);
}

WEFT_REGISTER(node::DeviceKind,
              node::device_kind<EthernetParameters>(
                  "ethernet", "Ethernet of a Linux node (`weft boot`), over the node's network interface",
                  ethernet_section(), make_ethernet));

}  // namespace

}  // namespace weft::guest
