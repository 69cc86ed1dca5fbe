#include "lib/offload/group.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "lib/offload/trees.hpp"
#include "lib/rank_thread.hpp"

namespace weft::offload {

using abi::Thread;
using collective::Part;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kImage = 2048;  // room for one in memory
constexpr std::uint16_t kNone = 0xffff;

std::vector<Group*> groups;  // by the block of sequences they have
std::vector<bool> blocks;    // taken
std::uint32_t operations_under_way = 0;

std::size_t up_to(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Five sequences that no other group of this process has.
std::uint16_t take_block(const abi::CollectiveModel& model, Group* group) {
  const std::size_t most = std::min<std::size_t>(model.triggers, 65'000) / collective::kParts;
  std::size_t free = 0;
  while (free < blocks.size() && blocks[free]) ++free;
  if (free >= most) return kNone;
  if (free == blocks.size()) {
    blocks.push_back(false);
    groups.push_back(nullptr);
  }
  blocks[free] = true;
  groups[free] = group;
  return static_cast<std::uint16_t>(free * collective::kParts);
}

void give_block(std::uint16_t first) {
  blocks[first / collective::kParts] = false;
  groups[first / collective::kParts] = nullptr;
}

Stream stream_of(Part part) {
  switch (part) {
    case Part::Up:
    case Part::Down:
      return Stream::Both;
    case Part::Gather:
    case Part::Result:
      return Stream::Inward;
    default:
      return Stream::Outward;
  }
}

const char* name_of(std::uint16_t call) { return abi::call_facts(call).name; }

}  // namespace

Group::Group(Word communicator, weft_port* port, int rank, int size)
    : communicator_(communicator),
      port_(port),
      model_(port->header->mpi.collectives),
      rank_(rank),
      size_(size),
      piece_(model_.piece),
      tree_(tree_of(model_, static_cast<collective::Place>(size))) {
  first_ = take_block(model_, this);
  const std::size_t images = collective::kParts * kImage, area = model_.rounds * piece_;
  for (unsigned i = 0; i < kStreams; ++i) {
    delivered_at_[i] = images + i * area;
    sent_at_[i] = images + (kStreams + i) * area;
  }
  spread_kind_.resize(model_.rounds);
  nodes_at_ = images + 2 * kStreams * area;
  bytes_ = up_to(nodes_at_ + static_cast<std::size_t>(size) * sizeof(std::uint32_t), kPage);
  memory_ = static_cast<std::uint8_t*>(aligned_alloc(kPage, bytes_));
  if (memory_) memset(memory_, 0, bytes_);
}

Group::~Group() {
  if (first_ != kNone) give_block(first_);
  free(memory_);
}

bool Group::join(Thread& thread) {
  struct Card {
    std::uint64_t key;
    std::uint32_t node, port, world, first;
  };
  weft_memory memory{};
  if (first_ != kNone && memory_ && weft_register_anywhere(port_, memory_, bytes_, 0, &memory) != 0) {
    give_block(first_);
    first_ = kNone;
  }
  memory_key_ = memory.key;
  // A key that no other communicator has: the first member's, of its rank and how many it has made.
  static std::uint32_t made = 0;
  const std::uint32_t world = port_->header->rank;
  std::vector<Card> cards(static_cast<std::size_t>(size_));
  Card mine{std::uint64_t{world + 1} << 32 | ++made, port_->self.node, port_->self.port, world, first_};
  call("PMPI_Allgather", &mine, Word{sizeof mine}, lib::mpi_byte(), cards.data(), Word{sizeof mine},
       lib::mpi_byte(), communicator_);
  key_ = cards[0].key;
  bool all = true;
  for (const Card& card : cards) all &= card.first != kNone;
  if (!all) return false;
  // Places: by number, or as the ranks of the world are ordered.
  rank_at_.resize(cards.size());
  for (std::uint32_t i = 0; i < rank_at_.size(); ++i) rank_at_[i] = i;
  if (const auto& order = world_order(); !order.empty()) {
    std::vector<std::uint32_t> at(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
      if (order[i] < at.size()) at[order[i]] = i;
    std::stable_sort(rank_at_.begin(), rank_at_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return at[cards[a].world] < at[cards[b].world];
    });
  }
  if (const auto& groups_of_ranks = world_groups(); !groups_of_ranks.empty()) {
    std::vector<std::uint32_t> group_of_member;
    for (const Card& card : cards)
      group_of_member.push_back(card.world < groups_of_ranks.size() ? groups_of_ranks[card.world] : 0);
    tree_ = tree_of(model_, collective::bring_together(rank_at_, group_of_member));
  }
  if (tree_.widest() + 1 > model_.inputs) return false;  // all members come to that
  place_of_rank_.resize(cards.size());
  members_.resize(cards.size());
  world_rank_.resize(cards.size());
  for (std::uint32_t place = 0; place < rank_at_.size(); ++place) {
    const Card& card = cards[rank_at_[place]];
    place_of_rank_[rank_at_[place]] = place;
    world_rank_[rank_at_[place]] = card.world;
    members_[place] = {card.node, card.port, static_cast<std::uint16_t>(card.first)};
  }
  if (model_.reduction) {
    routers_.emplace(port_, communicator_, members_, place_of(rank_));
    const auto wait = [this] {
      ++waiting_for_arm_;
      ++operations_under_way;
      while (waiting_for_arm_) progress();
    };
    routers_->join(thread, {first_ / std::uint32_t{collective::kParts}, key_, memory_key_, nodes_at_, memory_,
                            reinterpret_cast<std::uint64_t>(this), wait});
  }
  for (std::uint16_t part = 0; part < collective::kParts; ++part)
    arm(thread, static_cast<Part>(part), part * kImage);
  if (model_.multicast_from) join_nodes(thread);
  while (waiting_for_arm_) progress();
  armed_ = true;
  call("PMPI_Barrier", communicator_);  // nobody triggers what is not armed yet
  return true;
}

/// Where its members are on several nodes, routers may copy what is for all of them.
void Group::join_nodes(Thread& thread) {
  const std::vector<std::uint32_t> nodes = nodes_of(members_);
  if (nodes.size() < 2) return;
  multicasts_ = true;
  const std::size_t bytes = nodes.size() * sizeof nodes[0];
  memcpy(memory_ + nodes_at_, nodes.data(), bytes);
  nic::Descriptor d;
  d.operation = nic::Operation::Join;
  d.tag = first_ / collective::kParts;
  d.local_key = memory_key_;
  d.local_offset = nodes_at_;
  d.length = bytes;
  d.context = reinterpret_cast<std::uint64_t>(this);
  post(thread, d);
  ++waiting_for_arm_;
  ++operations_under_way;
}

void Group::post(Thread& thread, nic::Descriptor& d) { post_when_there_is_room(port_, thread, d); }

void Group::arm(Thread& thread, Part part, std::size_t image_at) {
  collective::Sequence s =
      in_routers() && (part == Part::Up || part == Part::Down)
          ? routers_->sequence(part)
          : collective::sequence_for(tree_, members_, static_cast<collective::Place>(place_of(rank_)), part);
  const auto stream = static_cast<unsigned>(stream_of(part));
  s.image.key = key_;
  s.image.context = reinterpret_cast<std::uint64_t>(this);
  s.image.local_key = memory_key_;
  s.image.local_offset = delivered_at_[stream];
  s.image.stride = static_cast<std::uint32_t>(piece_);
  s.image.members = static_cast<std::uint32_t>(size_);
  const std::size_t targets = s.targets.size() * sizeof(nic::TriggerTarget);
  memcpy(memory_ + image_at, &s.image, sizeof s.image);
  if (targets) memcpy(memory_ + image_at + sizeof s.image, s.targets.data(), targets);
  nic::Descriptor d;
  d.operation = nic::Operation::Arm;
  d.tag = static_cast<std::uint32_t>(first_ + static_cast<std::uint16_t>(part));
  d.local_key = memory_key_;
  d.local_offset = image_at;
  d.length = sizeof s.image + targets;
  post(thread, d);
  ++waiting_for_arm_;
  ++operations_under_way;
}

void Group::leave(Thread& thread) {
  if (!armed_) return;
  // Packets of others may still be on their way through here: all come first.
  Operation last;
  last.what = abi::Offloaded::Barrier;
  last.stream = Stream::Both;
  last.posts = last.hears = last.synchronises = true;
  begin(thread, last);
  while (!last.done) progress();
  for (std::uint16_t part = 0; part < collective::kParts; ++part) {
    nic::Descriptor d;
    d.operation = nic::Operation::Disarm;
    d.tag = static_cast<std::uint32_t>(first_ + part);
    post(thread, d);
  }
  if (routers_) routers_->leave(thread);
  if (multicasts_) {
    nic::Descriptor d;
    d.operation = nic::Operation::Leave;
    d.tag = first_ / collective::kParts;
    post(thread, d);
  }
  weft_release(port_, memory_key_);
  armed_ = false;
}

void Group::enqueue(Operation& operation) {
  auto& next = next_round_[static_cast<unsigned>(operation.stream)];
  operation.first = next;
  operation.outward = next_round_[static_cast<unsigned>(Stream::Outward)];
  next += operation.rounds;
  if (operation.stream == Stream::Outward)
    for (std::uint32_t i = 0; i < operation.rounds; ++i)
      spread_kind_[(operation.first + i) % model_.rounds] = operation.kind.packed();
  operations_.push_back(&operation);
  ++operations_under_way;
  note_open();
}

/// For those who ask why nothing goes on: the oldest that is not done.
void Group::note_open() const {
  abi::OpenCollective& open = port_->header->sums.collectives.open;
  const Group* group = this;
  if (operations_.empty())
    for (const Group* other : groups)
      if (other && !other->operations_.empty()) group = other;
  if (group->operations_.empty()) {
    open.under_way = 0;
    return;
  }
  const Operation& o = *group->operations_.front();
  const auto root = static_cast<std::size_t>(o.kind.root);
  open = {operations_under_way,
          group->key_,
          o.first + o.arrived,
          o.kind.packed(),
          root < group->world_rank_.size() ? group->world_rank_[root] : 0,
          static_cast<std::uint32_t>(group->size_),
          o.posts,
          open.gone};
}

void Group::begin(Thread& thread, Operation& operation) {
  if (operation.stream != Stream::Both) {
    const std::uint32_t most = model_.rounds / 2;
    if (one_way_ + operation.rounds > most) {
      auto barrier = std::make_unique<Operation>();
      barrier->what = abi::Offloaded::Barrier;
      barrier->stream = Stream::Both;
      barrier->posts = barrier->hears = barrier->synchronises = true;
      enqueue(*barrier);
      barriers_.push_back(std::move(barrier));
      one_way_ = 0;
    }
    one_way_ += operation.rounds;
  }
  enqueue(operation);
  for (std::uint32_t i = 0; i < operation.rounds; ++i) {
    auto early = early_.find({static_cast<unsigned>(operation.stream), operation.first + i});
    if (early == early_.end()) continue;
    Early found = std::move(early->second);
    early_.erase(early);
    take(operation, operation.first + i, found.data.data(), found.data.size(), found.kind);
  }
  advance(thread);
}

/// What came before must be far enough: a barrier of the group's own waits until all of it is done here, and
/// all that follows one waits for that.
bool Group::may_post(const Operation& operation, std::size_t before) const {
  if (operation.synchronises) return before == 0 && outward_heard_ >= operation.outward;
  for (std::size_t i = 0; i < before; ++i)
    if (operations_[i]->synchronises) return false;
  return true;
}

void Group::advance(Thread& thread) {
  do post_what_may_be(thread);
  while (end_what_is_done());  // others may have waited for it
}

void Group::post_what_may_be(Thread& thread) {
  for (std::size_t i = 0; i < operations_.size() && may_post(*operations_[i], i); ++i) {
    Operation& o = *operations_[i];
    // The second round of a block is given by the member's interface, when it is there.
    const std::uint32_t own_rounds = o.for_many && !o.hears ? 1 : o.rounds;
    for (; o.posts && o.posted < own_rounds; ++o.posted) {
      // No further ahead of what has not come back than the interfaces hold.
      const std::uint64_t round = o.first + o.posted;
      std::uint64_t oldest = round;
      if (o.stream == Stream::Both)
        for (std::size_t j = 0; j <= i; ++j)
          if (operations_[j]->stream == Stream::Both)
            oldest = std::min(oldest, operations_[j]->first + operations_[j]->arrived);
      if (round - oldest >= model_.rounds) return;
      post_round(thread, o, o.posted);
    }
    if (!o.hears && !o.for_many) o.done = true;
  }
}

bool Group::end_what_is_done() {
  bool any = false;
  for (std::size_t i = 0; i < operations_.size();) {
    Operation* o = operations_[i];
    if (!o->done) {
      ++i;
      continue;
    }
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(*o);
    any = true;
  }
  return any;
}

void Group::finish(Operation& o) {
  if (o.for_many) weft_release(port_, o.block_key);
  --operations_under_way;
  note_open();
  const Word request = o.request;
  if (o.synchronises)
    for (std::size_t i = 0; i < barriers_.size(); ++i)
      if (barriers_[i].get() == &o) {
        barriers_.erase(barriers_.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
  if (request) call("PMPI_Grequest_complete", request);  // the operation may be gone after it
}

/// A block is sent once, for all, when all members have said where they want it, and is done at the root when
/// all have it: two rounds of Gather without data. The second is given by each member's interface.
void Group::post_expect(Thread& thread, const Operation& o) {
  const nic::TriggerTarget up = members_[place_of(rank_)].input(Part::Gather), result = result_of(o);
  nic::Descriptor d;
  d.operation = nic::Operation::Expect;
  d.tag = first_ / collective::kParts;
  d.operand = o.first;
  d.remote_key = key_;
  d.local_key = o.block_key;
  d.length = o.block_bytes;
  d.context = reinterpret_cast<std::uint64_t>(this);
  d.spare[0] = nic::trigger_tag(up.sequence, up.input) + std::uint64_t{1};
  d.spare[1] = o.first + 1;
  d.spare[2] = o.kind.packed();
  d.spare[3] = std::uint64_t{result.node} << 32 | result.port;
  d.spare[4] = std::uint64_t{result.input} << 16 | result.sequence;
  post(thread, d);
}

void Group::post_block(Thread& thread, const Operation& o) {
  nic::Descriptor d;
  d.operation = nic::Operation::Put;
  d.flags = nic::kToGroup;
  d.node = port_->self.node;
  d.port = port_->self.port;
  d.tag = first_ / collective::kParts;
  d.operand = o.first;
  d.remote_key = key_;
  d.compare = o.block_key;
  d.local_key = o.block_key;
  d.length = o.block_bytes;
  d.context = reinterpret_cast<std::uint64_t>(this);
  // It waits in the interface until all have said where they want it.
  const nic::TriggerTarget ready = result_of(o);
  d.spare[0] = nic::trigger_tag(ready.sequence, ready.input) + std::uint64_t{1};
  d.spare[1] = o.first;
  post(thread, d);
}

/// What has come has errors that no link noticed: it is fetched from the root, which waits for all.
void Group::repair(Thread& thread, const Operation& o, const nic::Event& event) {
  nic::Descriptor d;
  d.operation = nic::Operation::Get;
  d.flags = nic::kReliable | nic::kNotifyDone;
  d.node = event.node;
  d.port = event.port;
  d.tag = static_cast<std::uint32_t>(o.first);
  d.remote_key = event.spare[0];
  d.local_key = o.block_key;
  d.length = o.block_bytes;
  d.context = reinterpret_cast<std::uint64_t>(this);
  post(thread, d);
}

nic::TriggerTarget Group::result_of(const Operation& o) const {
  return members_[place_of(static_cast<int>(o.kind.root))].input(Part::Result);
}

/// Of a block; false: it is not about one.
bool Group::hear_block(const nic::Event& event) {
  if (event.operation != nic::Operation::Expect && event.operation != nic::Operation::Get) return false;
  Thread* thread = lib::thread_if_any();
  for (Operation* o : operations_) {
    const bool same = event.operation == nic::Operation::Get
                          ? event.tag == static_cast<std::uint32_t>(o->first)
                          : event.data == o->first;
    if (!o->for_many || !same || !thread) continue;
    if (event.operation == nic::Operation::Expect && event.status == nic::Status::Damaged) {
      repair(*thread, *o, event);
    } else {
      if (event.operation == nic::Operation::Get) post_round(*thread, *o, 1);
      o->done = true;
      advance(*thread);
    }
    return true;
  }
  return true;
}

void Group::post_round(Thread& thread, Operation& o, std::uint32_t number) {
  if (o.for_many && number == 0) o.hears ? post_block(thread, o) : post_expect(thread, o);
  const std::uint64_t round = o.first + number;
  const std::size_t from = number * o.piece;
  const bool carries = !o.for_many && from < o.data.size();  // a block goes by itself
  const std::size_t bytes = carries ? std::min(o.piece, o.data.size() - from) : 0;
  nic::Descriptor d;
  d.operation = nic::Operation::Trigger;
  const auto stream = static_cast<unsigned>(o.stream);
  const collective::Member& me = members_[place_of(rank_)];
  const Part part = o.stream == Stream::Both     ? Part::Up
                    : o.stream == Stream::Inward ? Part::Gather
                                                 : Part::Spread;
  const nic::TriggerTarget to = part == Part::Spread ? members_[0].input(part) : me.input(part);
  d.node = to.node;
  d.port = to.port;
  d.tag = nic::trigger_tag(to.sequence, to.input);
  d.remote_key = key_;
  d.operand = round;
  d.compare = o.kind.packed();
  d.context = reinterpret_cast<std::uint64_t>(this);
  d.length = bytes;
  if (o.stream == Stream::Inward) {
    const nic::TriggerTarget result = result_of(o);
    d.spare[0] = std::uint64_t{result.node} << 32 | result.port;
    d.spare[1] = std::uint64_t{result.input} << 16 | result.sequence;
  }
  if (bytes > nic::kInlineBytes) {
    d.local_key = memory_key_;
    d.local_offset = sent_at_[stream] + round % model_.rounds * piece_;
    memcpy(memory_ + d.local_offset, o.data.data() + from, bytes);
  } else if (bytes) {
    memcpy(d.data, o.data.data() + from, bytes);
  }
  post(thread, d);
}

/// What the tree carries is not what this member calls.
void Group::explain_other(std::uint64_t called, std::uint64_t carried) const {
  const nic::RoundKind mine = nic::RoundKind::of(called), other = nic::RoundKind::of(carried);
  fflush(stdout);
  fprintf(
      stderr,
      "weft: rank %u: %s with root %u on a communicator of %d: its tree carries %s with root %u%s; members "
      "must call the same collective with the same root, type and operation\n",
      port_->header->rank, name_of(mine.call), mine.root, size_, name_of(other.call), other.root,
      other.combine != mine.combine || other.type != mine.type ? ", of another type or operation" : "");
  fflush(stderr);
  _exit(1);
}

void Group::take(Operation& o, std::uint64_t round, const std::uint8_t* data, std::size_t bytes,
                 std::uint64_t kind) {
  if (kind != o.kind.packed()) explain_other(o.kind.packed(), kind);
  if (o.hears) {
    const std::size_t at = (round - o.first) * o.piece;
    if (o.result.size() < at + bytes) o.result.resize(at + bytes);
    if (bytes) memcpy(o.result.data() + at, data, bytes);
  }
  if (++o.arrived == o.rounds && o.hears) o.done = true;
}

void Group::hear(const nic::Event& event) {
  if (event.kind == nic::EventKind::Armed) {
    --waiting_for_arm_;
    --operations_under_way;
    // Before sequences are armed it is about routers.
    if (event.operation == nic::Operation::Join && !multicasts_ && routers_) routers_->hear(event);
    return;
  }
  if (event.kind == nic::EventKind::Failed) {
    if (event.status == nic::Status::NoPort && note_gone(event)) return;
    explain(event);
  }
  if (hear_block(event)) return;
  const auto part = static_cast<Part>(event.tag - first_);
  const auto stream = static_cast<unsigned>(stream_of(part));
  const std::uint64_t round = event.data;
  const std::uint8_t* data = memory_ + delivered_at_[stream] + round % model_.rounds * piece_;
  Thread* thread = lib::thread_if_any();
  if (stream == static_cast<unsigned>(Stream::Outward)) ++outward_heard_;
  for (Operation* o : operations_)
    if (static_cast<unsigned>(o->stream) == stream && round >= o->first && round < o->first + o->rounds) {
      take(*o, round, data, event.length, event.spare[0]);
      if (thread) advance(*thread);
      return;
    }
  // Of a call this member has not come to yet; or an echo of what it gave itself and has ended, where another
  // member may believe that it is the root.
  const std::uint64_t next = next_round_[stream];
  if (stream == static_cast<unsigned>(Stream::Outward) && round < next && next - round <= model_.rounds &&
      spread_kind_[round % model_.rounds] != event.spare[0])
    explain_other(spread_kind_[round % model_.rounds], event.spare[0]);
  if (round >= next_round_[stream])
    early_[{stream, round}] = {std::vector<std::uint8_t>(data, data + event.length), event.spare[0]};
  if (thread) advance(*thread);
}

/// A member's process has ended. The simulator sees that too, and says so with all that others wait for.
bool Group::note_gone(const nic::Event& event) const {
  for (std::size_t place = 0; place < members_.size(); ++place)
    if (members_[place].node == event.node && members_[place].port == event.port) {
      port_->header->sums.collectives.open.gone = world_rank_[rank_at_[place]] + 1;
      return true;
    }
  return false;
}

void Group::explain(const nic::Event& event) const {
  const nic::RoundKind kind = nic::RoundKind::of(event.spare[0]);
  fflush(stdout);
  if (event.status == nic::Status::Mismatch) {
    const nic::RoundKind other = nic::RoundKind::of(event.spare[1]);
    fprintf(stderr,
            "weft: rank %u: in the tree of a communicator of %d members, round %llu, this rank calls %s with "
            "root %u and "
            "the part of the tree below node %u calls %s with root %u, %llu bytes; members must call the "
            "same collective "
            "with the same root, type, operation and length\n",
            port_->header->rank, size_, static_cast<unsigned long long>(event.data), name_of(kind.call),
            kind.root, event.node, name_of(other.call), other.root,
            static_cast<unsigned long long>(event.length));
  } else if (in_routers() && event.status == nic::Status::Unreachable && event.node == port_->self.node) {
    fprintf(stderr,
            "weft: rank %u: a collective of a communicator of %d members, round %llu: on what is left of the "
            "network no tree joins the routers of all members, or a router on it has no room for the group\n",
            port_->header->rank, size_, static_cast<unsigned long long>(event.data));
  } else {
    fprintf(stderr,
            "weft: rank %u: a collective of a communicator of %d members, round %llu: to node %u: %s\n",
            port_->header->rank, size_, static_cast<unsigned long long>(event.data), event.node,
            weft_status_text(static_cast<unsigned>(event.status)));
  }
  fflush(stderr);
  _exit(1);
}

std::vector<std::uint32_t> Group::gathered_order() const {
  std::vector<std::uint32_t> out;
  for (collective::Place place : tree_.subtree(0)) out.push_back(rank_at_[place]);
  return out;
}

bool is_own(const nic::Event& event) {
  if (nic::is_triggered(event.operation) || nic::is_of_groups(event.operation)) return true;
  if (event.operation != nic::Operation::Put && event.operation != nic::Operation::Get) return false;
  return std::any_of(groups.begin(), groups.end(), [&](const Group* group) {
    return group && reinterpret_cast<std::uint64_t>(group) == event.context;
  });
}

void hear(const nic::Event& event) {
  if (!nic::is_triggered(event.operation)) {
    for (Group* group : groups)
      if (group && reinterpret_cast<std::uint64_t>(group) == event.context) return group->hear(event);
    return;
  }
  const std::size_t block = event.kind == nic::EventKind::Failed && event.context
                                ? groups.size()
                                : event.tag % 65'536 / collective::kParts;
  if (block < groups.size() && groups[block]) return groups[block]->hear(event);
  for (Group* group : groups)
    if (group && (!event.context || reinterpret_cast<std::uint64_t>(group) == event.context))
      return group->hear(event);
}

bool under_way() { return operations_under_way != 0; }

void progress() {
  static auto open_mpi =
      reinterpret_cast<void (*)()>(lib::is_mpich() ? nullptr : dlsym(RTLD_DEFAULT, "opal_progress"));
  if (open_mpi) return open_mpi();
  int found = 0;
  const Word any = lib::is_mpich() ? -2 : -1, ignore = lib::is_mpich() ? 1 : 0;
  call("PMPI_Iprobe", any, Word{-1}, lib::mpi_world(), &found, ignore);
}

}  // namespace weft::offload
