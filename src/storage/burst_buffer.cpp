#include "storage/burst_buffer.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/random.hpp"

namespace weft::storage {

using machine::BufferPlacement;
using machine::BufferSync;
using machine::BufferWrites;

namespace {

/// Data in pieces that one request may have.
void add_pieces(std::vector<Piece>& out, Piece like, std::uint64_t bytes, std::uint64_t most) {
  while (bytes) {
    like.bytes = std::min(bytes, most);
    out.push_back(like);
    bytes -= like.bytes;
    like.offset += like.bytes;
    if (like.place != Piece::kByLayout) like.place += like.bytes;
  }
}

}  // namespace

BurstBuffer::BurstBuffer(const machine::StorageParameters& p, std::uint64_t capacity,
                         std::vector<network::EndpointId> nodes, event::EventQueue& queue, Owner& calls)
    : p_(p),
      policy_(p_.burst_buffer),
      block_(static_cast<std::uint64_t>(policy_.block.value)),
      queue_(queue),
      component_(queue.join(*this)),
      calls_(calls) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  slots_ = std::max<std::uint64_t>(1, capacity / nodes.size() / block_);
  for (network::EndpointId node : nodes) {
    Node each;
    each.node = node;
    for (std::uint64_t slot = slots_; slot > 0; --slot)
      each.free.push_back(static_cast<std::uint32_t>(slot - 1));
    nodes_.push_back(std::move(each));
  }
}

bool BurstBuffer::attach(Service& service) {
  service_ = &service;
  first_ = service.servers();
  for (const Node& node : nodes_)
    if (!service.add_server(node.node, p_.nvm, policy_.request_time, this)) return false;
  return true;
}

std::uint32_t BurstBuffer::index_of(network::EndpointId node) const {
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node,
                                      [](const Node& a, network::EndpointId b) { return a.node < b; });
  return static_cast<std::uint32_t>(found - nodes_.begin());
}

std::uint32_t BurstBuffer::follows_from(const Key& key) const {
  return static_cast<std::uint32_t>(random_bits(0x6275666665, key.first, key.second) % nodes_.size());
}

/// The block, which begins to exist where it did not.
BurstBuffer::BlockId BurstBuffer::block_of(const Key& key, std::uint32_t home) {
  if (const auto found = index_.find(key); found != index_.end()) return found->second;
  const BlockId id = blocks_.take();
  blocks_[id] = {};
  blocks_[id].key = key;
  blocks_[id].home = home;
  index_.emplace(key, id);
  return id;
}

// --- What ranks ask for.

bool BurstBuffer::begin(network::EndpointId node, Time at, std::uint64_t token, std::span<const Piece> pieces,
                        std::uint64_t size) {
  const std::uint32_t id = tasks_.take();
  Task& task = tasks_[id];
  task = {.kind = Kind::Ask, .token = token, .node = node, .pieces = {pieces.begin(), pieces.end()}};
  std::vector<Piece> questions;
  for (const Piece& piece : task.pieces) {
    if (piece.work != Work::Read && piece.work != Work::Write) continue;
    sizes_[piece.file] = size;
    if (policy_.placement == BufferPlacement::Spread) continue;
    const Key key{piece.file, piece.offset / block_};
    const auto found = index_.find(key);
    if (found != index_.end() && nodes_[blocks_[found->second].home].node == node) continue;
    const ServerId knows = first_ + follows_from(key);
    if (std::none_of(questions.begin(), questions.end(), [&](const Piece& q) { return q.server == knows; }))
      questions.push_back({.work = Work::Look, .server = knows});
  }
  if (questions.empty()) return move(id, at);
  counters_.questions += questions.size();
  return service_->begin(node, at, kOwn | id, questions);
}

/// Homes are known: the data moves. Blocks stay where they are until it has.
bool BurstBuffer::move(std::uint32_t id, Time at) {
  Task& task = tasks_[id];
  task.kind = Kind::Data;
  const std::uint32_t own = index_of(task.node);
  for (Piece& piece : task.pieces) {
    if (piece.work != Work::Read && piece.work != Work::Write) continue;
    const Key key{piece.file, piece.offset / block_};
    const bool local = policy_.placement == BufferPlacement::Local;
    const BlockId block = block_of(key, local ? own : follows_from(key));
    ++blocks_[block].pins;
    task.pins.push_back(block);
    piece.server = first_ + blocks_[block].home;
  }
  const std::vector<Piece> pieces = task.pieces;
  return service_->begin(task.node, at, kOwn | id, pieces);
}

bool BurstBuffer::sync(network::EndpointId node, Time at, std::uint64_t token, std::uint64_t file,
                       std::span<const Piece> pieces) {
  const std::uint32_t id = tasks_.take();
  tasks_[id] = {.kind = Kind::Data,
                .token = token,
                .file = file,
                .node = node,
                .pieces = {pieces.begin(), pieces.end()}};
  if (policy_.sync == BufferSync::Buffer) return service_->begin(node, at, kOwn | id, pieces);
  tasks_[id].kind = Kind::Sync;
  syncs_.push_back(id);
  flush_file(file);
  end_syncs(file);
  return true;
}

void BurstBuffer::flush_file(std::uint64_t file) {
  for (auto each = index_.lower_bound({file, 0}); each != index_.end() && each->first.first == file;)
    flush((each++)->second);
}

bool BurstBuffer::file_is_dirty(std::uint64_t file) const {
  for (auto each = index_.lower_bound({file, 0}); each != index_.end() && each->first.first == file; ++each)
    if (blocks_[each->second].flushing || !blocks_[each->second].dirty.empty()) return true;
  return false;
}

/// All of a file is with the servers: they make it durable for those who wait for that.
void BurstBuffer::end_syncs(std::uint64_t file) {
  if (file_is_dirty(file)) return;
  std::vector<std::uint32_t> ready;
  std::erase_if(syncs_, [&](std::uint32_t id) {
    if (tasks_[id].file != file) return false;
    ready.push_back(id);
    return true;
  });
  for (std::uint32_t id : ready) {
    std::vector<Piece> pieces{{.work = Work::Flush}};
    const std::vector<bool>& taken = taken_[file];
    for (ServerId server = 1; server < taken.size(); ++server)
      if (taken[server]) pieces.push_back({.work = Work::Flush, .server = server});
    tasks_[id].kind = Kind::Data;
    service_->begin(tasks_[id].node, queue_.now(), kOwn | id, pieces);
  }
}

std::int32_t BurstBuffer::carry_out(std::uint64_t token, Piece& piece) {
  if (!(token & kOwn)) return calls_.carry_out(token, piece);
  const Task& task = tasks_[static_cast<std::uint32_t>(token)];
  if (task.kind == Kind::Flush && task.block != ~0u && piece.work == Work::Write) {
    std::vector<bool>& taken = taken_[piece.file];
    if (taken.size() <= piece.server) taken.resize(piece.server + 1);
    taken[piece.server] = true;
    Time& settles = blocks_[task.block].settles;
    settles = std::max(settles, piece.durable);
    calls_.copied(piece, task.mark);
  }
  return task.kind == Kind::Data ? calls_.carry_out(task.token, piece) : 0;
}

void BurstBuffer::finished(std::uint64_t token, std::int32_t result, Time at) {
  if (!(token & kOwn)) return calls_.finished(token, result, at);
  const auto id = static_cast<std::uint32_t>(token);
  Task& task = tasks_[id];
  const BlockId block = task.block;
  switch (task.kind) {
    case Kind::Ask:
      if (result == 0 && move(id, at)) return;
      calls_.finished(std::exchange(task.token, 0), result ? result : -ENOMEM, at);
      break;
    case Kind::Data: {
      for (BlockId pinned : task.pins)
        if (--blocks_[pinned].pins == 0 && blocks_[pinned].slot == kNoSlot) forget(pinned);
      if (result == 0 && task.file) result = failed_.count(task.file) ? -EIO : 0;
      const std::uint64_t whose = task.token;
      tasks_.give(id);
      return calls_.finished(whose, result, at);
    }
    case Kind::Fetch:
      tasks_.give(id);
      return fetched(block, result);
    case Kind::Store:
      blocks_[block].storing = false;
      serve_starved(nodes_[blocks_[block].home]);
      break;
    case Kind::Drain: {
      const Block& b = blocks_[block];
      task.kind = Kind::Flush;
      std::vector<Piece> pieces;
      for (const Extents::Range& range : task.ranges)
        for (std::uint32_t copy = 0; copy < service_->layout().replicas(); ++copy) {
          const std::uint64_t offset = b.key.second * block_ + range.begin;
          const ServerId target =
              service_->layout().target(b.key.first, offset / service_->layout().unit(), copy);
          add_pieces(pieces, {Work::Write, target, b.key.first, offset, 0, copy}, range.end - range.begin,
                     service_->transfer());
        }
      service_->begin(nodes_[b.home].node, at, kOwn | id, pieces);
      return;
    }
    case Kind::Flush:
      return flushed(id, result);
    case Kind::Sync:
      break;
  }
  tasks_.give(id);
}

// --- A request at the home of its block.

Gate::Way BurstBuffer::prepare(const Piece& piece, std::uint32_t request) {
  const BlockId id = index_.at({piece.file, piece.offset / block_});
  Block& block = blocks_[id];
  const std::uint64_t begin = piece.offset % block_;
  const bool there = piece.work == Work::Read && block.valid.covers(begin, begin + piece.bytes);
  if (!there && !has_room(id, true)) {
    nodes_[block.home].starved.push_back({piece, request, queue_.now()});
    ++counters_.waits;
    flush_some(nodes_[block.home]);
    return Way::Wait;
  }
  touch(id);
  ++block.busy;
  if (piece.work == Work::Read) return read(block, id, piece, request);
  const bool local = service_->is_local(request);
  ++(local ? counters_.writes_local : counters_.writes_remote);
  (local ? counters_.bytes_written_local : counters_.bytes_written_remote) += piece.bytes;
  service_->set_place(request, place(block, begin));
  return Way::Device;
}

Gate::Way BurstBuffer::read(Block& block, BlockId id, const Piece& piece, std::uint32_t request) {
  const std::uint64_t begin = piece.offset % block_;
  const std::uint32_t home = block.home;
  const std::uint64_t number = block.key.second;
  const bool local = service_->is_local(request);
  Way way = Way::Device;
  if (std::exchange(block.ahead, false)) ++counters_.prefetched_used;
  if (block.valid.covers(begin, begin + piece.bytes)) {
    ++(local ? counters_.reads_local : counters_.reads_remote);
    (local ? counters_.bytes_local : counters_.bytes_remote) += piece.bytes;
    service_->set_place(request, place(block, begin));
  } else {
    ++counters_.misses;
    counters_.bytes_missed += piece.bytes;
    block.readers.push_back(request);
    way = Way::Wait;
    if (!block.fetching && !fetch(id)) way = Way::Memory;
    if (way == Way::Memory) block.readers.pop_back();
  }
  read_ahead(piece, home, number);
  return way;
}

bool BurstBuffer::holds(const Piece& piece, std::uint32_t request, std::int32_t result) {
  const BlockId id = index_.at({piece.file, piece.offset / block_});
  Node& node = nodes_[blocks_[id].home];
  --blocks_[id].busy;
  if (piece.work != Work::Write || result != 0) {
    serve_starved(node);
    return false;
  }
  const std::uint64_t begin = piece.offset % block_;
  std::uint64_t& size = sizes_[piece.file];
  size = std::max(size, piece.offset + piece.bytes);
  set_dirty(id, begin, begin + piece.bytes);
  if (policy_.write == BufferWrites::Through) {
    blocks_[id].writers.push_back(request);
    if (!blocks_[id].flushing) flush(id);
    return true;
  }
  flush_some(node);
  return false;
}

void BurstBuffer::set_dirty(BlockId id, std::uint64_t begin, std::uint64_t end) {
  Block& block = blocks_[id];
  Node& node = nodes_[block.home];
  block.valid.add(begin, end);
  const std::uint64_t before = block.dirty.bytes();
  if (before == 0) {
    block.became_dirty = ++uses_;
    node.by_age.insert({block.became_dirty, id});
    ++dirty_blocks_;
  }
  block.dirty.add(begin, end);
  node.dirty_bytes += block.dirty.bytes() - before;
}

void BurstBuffer::truncated(std::uint64_t file, std::uint64_t size) {
  sizes_[file] = size;
  for (auto each = index_.lower_bound({file, size / block_});
       each != index_.end() && each->first.first == file;) {
    const BlockId id = (each++)->second;
    Block& block = blocks_[id];
    const std::uint64_t first = block.key.second * block_, end = size > first ? size - first : 0;
    const std::uint64_t before = block.dirty.bytes();
    block.valid.cut(end);
    block.dirty.cut(end);
    Node& node = nodes_[block.home];
    node.dirty_bytes -= before - block.dirty.bytes();
    if (before && block.dirty.empty()) {
      node.by_age.erase({block.became_dirty, id});
      --dirty_blocks_;
    }
    if (block.valid.empty()) forget(id);
  }
  end_syncs(file);
  for (Node& node : nodes_) serve_starved(node);
}

/// A node's own work on its device.
Piece BurstBuffer::own_piece(Work work, const Block& block, std::uint64_t from) const {
  Piece piece{work, first_ + block.home, block.key.first, block.key.second * block_ + from};
  piece.place = place(block, from);
  piece.ungated = true;
  return piece;
}

// --- Room.

void BurstBuffer::touch(BlockId id) {
  Block& block = blocks_[id];
  Node& node = nodes_[block.home];
  node.by_use.erase({block.used, id});
  block.used = ++uses_;
  node.by_use.insert({block.used, id});
}

/// A block has a place on its home's device, or gets one.
bool BurstBuffer::has_room(BlockId id, bool may_wait) {
  Block& block = blocks_[id];
  if (block.slot != kNoSlot) return true;
  Node& node = nodes_[block.home];
  if (may_wait && !node.starved.empty() && node.free.empty()) return false;  // others were first
  if (node.free.empty() && !make_room(node)) return false;
  block.slot = node.free.back();
  node.free.pop_back();
  touch(id);
  return true;
}

bool BurstBuffer::make_room(Node& node) {
  Time settles = network::kForever;
  for (const auto& [use, id] : node.by_use) {
    if (blocks_[id].is_idle()) settles = std::min(settles, blocks_[id].settles);
    if (!may_leave(blocks_[id])) continue;
    ++counters_.evicted;
    forget(id);
    return true;
  }
  if (settles != network::kForever && node.looks <= queue_.now()) {
    node.looks = settles;
    queue_.at(settles, component_, 0, static_cast<std::uint64_t>(&node - nodes_.data()));
  }
  return false;
}

/// Data of a block has come to be durable on the servers.
void BurstBuffer::handle(const event::Event& event) { serve_starved(nodes_[event.data]); }

/// Its slot is free again where nobody needs it, and nothing is known of it where nobody asks for it.
void BurstBuffer::forget(BlockId id) {
  Block& block = blocks_[id];
  if (!may_leave(block)) return;
  Node& node = nodes_[block.home];
  if (block.slot != kNoSlot) {
    node.by_use.erase({block.used, id});
    node.free.push_back(std::exchange(block.slot, kNoSlot));
  }
  block.valid.clear();
  block.ahead = false;
  if (block.pins) return;
  index_.erase(block.key);
  blocks_.give(id);
}

void BurstBuffer::serve_starved(Node& node) {
  while (!node.starved.empty()) {
    const Starved first = node.starved.front();
    const BlockId id = index_.at({first.piece.file, first.piece.offset / block_});
    if (!has_room(id, false)) return flush_some(node);
    node.starved.pop_front();
    counters_.waited += queue_.now() - first.since;
    const Way way = prepare(first.piece, first.request);
    if (way != Way::Wait) service_->resume(first.request, way == Way::Memory);
  }
}

// --- From the servers.

void BurstBuffer::read_ahead(const Piece& piece, std::uint32_t home, std::uint64_t number) {
  std::uint64_t& next = reading_[{piece.file, home}];
  const bool goes_on = number == next || number + 1 == next;
  const bool spread = policy_.placement == BufferPlacement::Spread;
  next = number + 1;
  if (!goes_on && !spread) return;
  const std::uint64_t size = sizes_[piece.file];
  for (std::uint64_t ahead = number + 1; ahead <= number + policy_.prefetch && ahead * block_ < size;
       ++ahead) {
    if (index_.count({piece.file, ahead})) continue;
    const BlockId id = block_of({piece.file, ahead}, spread ? follows_from({piece.file, ahead}) : home);
    Node& node = nodes_[blocks_[id].home];
    if (!node.starved.empty() || !has_room(id, false)) return forget(id);
    if (!fetch(id)) continue;
    blocks_[id].ahead = true;
    ++counters_.blocks_prefetched;
  }
}

/// False where there is nothing to be fetched: it is a hole, or behind the file's end.
bool BurstBuffer::fetch(BlockId id) {
  Block& block = blocks_[id];
  const std::uint64_t first = block.key.second * block_, size = sizes_[block.key.first];
  if (size <= first) {
    block.valid.add(0, block_);
    return false;
  }
  block.fetching = true;
  ++fetching_;
  std::vector<Piece> pieces;
  const ServerId target = service_->layout().target(block.key.first, first / service_->layout().unit(), 0);
  add_pieces(pieces, {Work::Read, target, block.key.first, first}, std::min(block_, size - first),
             service_->transfer());
  start(Kind::Fetch, nodes_[block.home].node, id, std::move(pieces), {{0, std::min(block_, size - first)}});
  return true;
}

void BurstBuffer::fetched(BlockId id, std::int32_t result) {
  Block& block = blocks_[id];
  block.fetching = false;
  --fetching_;
  const std::uint64_t first = block.key.second * block_, size = sizes_[block.key.first];
  const std::uint64_t bytes = std::min(block_, size > first ? size - first : 0);
  const std::vector<std::uint32_t> readers = std::exchange(block.readers, {});
  if (result != 0) {
    block.busy -= static_cast<std::uint32_t>(readers.size());
    for (std::uint32_t request : readers) service_->fail(request, result);
    serve_starved(nodes_[block.home]);
    return forget(id);
  }
  block.valid.add(0, block_);
  ++counters_.blocks_fetched;
  counters_.bytes_fetched += bytes;
  if (bytes) {
    std::vector<Piece> pieces;
    add_pieces(pieces, own_piece(Work::Write, block, 0), bytes, service_->transfer());
    block.storing = true;
    start(Kind::Store, nodes_[block.home].node, id, std::move(pieces));
  }
  for (std::uint32_t request : readers) service_->resume(request, true);
}

void BurstBuffer::stage_in(network::EndpointId node, std::uint64_t file, std::uint64_t number,
                           std::uint64_t size) {
  sizes_[file] = size;
  const Key key{file, number};
  const bool local = policy_.placement == BufferPlacement::Local;
  const BlockId id = block_of(key, local ? index_of(node) : follows_from(key));
  if (blocks_[id].slot != kNoSlot) return;
  if (nodes_[blocks_[id].home].free.empty()) return forget(id);  // it is full
  if (has_room(id, false) && fetch(id)) ++counters_.blocks_staged;
}

bool BurstBuffer::start(Kind kind, network::EndpointId node, BlockId block, std::vector<Piece> pieces,
                        std::vector<Extents::Range> ranges) {
  const std::uint32_t id = tasks_.take();
  tasks_[id] = {
      .kind = kind, .node = node, .block = block, .ranges = std::move(ranges), .mark = calls_.mark()};
  return service_->begin(node, queue_.now(), kOwn | id, pieces);
}

// --- To the servers.

/// As long as more is newer than the policy allows, or somebody needs room.
void BurstBuffer::flush_some(Node& node) {
  const double limit = policy_.flush_at * static_cast<double>(slots_ * block_);
  auto wanted = [&](const Block& block) {
    const bool whole = policy_.flush_at == 0 && block.dirty.bytes() == block_;
    const bool above = policy_.flush_at > 0 && static_cast<double>(node.dirty_bytes) > limit;
    return ending_ || !node.starved.empty() || whole || above;
  };
  for (auto each = node.by_age.begin(); each != node.by_age.end() && node.flushing < policy_.flushes;) {
    const BlockId id = (each++)->second;
    if (!blocks_[id].flushing && wanted(blocks_[id])) flush(id);
  }
}

void BurstBuffer::flush(BlockId id) {
  Block& block = blocks_[id];
  Node& node = nodes_[block.home];
  if (block.flushing || block.dirty.empty()) return;
  block.flushing = true;
  ++flushing_;
  ++node.flushing;
  node.by_age.erase({block.became_dirty, id});
  node.dirty_bytes -= block.dirty.bytes();
  --dirty_blocks_;
  std::vector<Piece> pieces;
  for (const Extents::Range& range : block.dirty.ranges())
    add_pieces(pieces, own_piece(Work::Read, block, range.begin), range.end - range.begin,
               service_->transfer());
  start(Kind::Drain, node.node, id, std::move(pieces), block.dirty.ranges());
  block.dirty.clear();
}

void BurstBuffer::flushed(std::uint32_t task, std::int32_t result) {
  const BlockId id = tasks_[task].block;
  std::uint64_t bytes = 0;
  for (const Extents::Range& range : tasks_[task].ranges) bytes += range.end - range.begin;
  tasks_.give(task);
  Block& block = blocks_[id];
  Node& node = nodes_[block.home];
  const std::uint64_t file = block.key.first;
  block.flushing = false;
  --flushing_;
  --node.flushing;
  if (result == 0) {
    ++counters_.blocks_flushed;
    counters_.bytes_flushed += bytes;
  } else {
    counters_.bytes_lost += bytes;
    failed_.insert(file);
  }
  counters_.last_flush = queue_.now();
  const std::vector<std::uint32_t> writers = std::exchange(block.writers, {});
  if (block.dirty.empty()) {
    for (std::uint32_t request : writers)
      result ? service_->fail(request, result) : service_->release(request);
  } else {
    block.writers = writers;
    const bool awaited = std::any_of(syncs_.begin(), syncs_.end(),
                                     [&](std::uint32_t sync) { return tasks_[sync].file == file; });
    if (!writers.empty() || awaited) flush(id);
  }
  end_syncs(file);
  serve_starved(node);
  flush_some(node);
}

void BurstBuffer::flush_all() {
  ending_ = true;
  for (Node& node : nodes_) flush_some(node);
}

}  // namespace weft::storage
