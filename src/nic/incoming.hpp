// The target's half of operations that need more than one packet, or that may come twice.
#pragma once

#include "nic/context.hpp"

namespace weft::nic {

struct Incoming {
  std::uint32_t operation_id = 0, generation = 0;
  bool context = false;   // it has one of nic.receive_contexts
  bool rejected = false;  // refused: nothing more of it is written
  bool complete = false;  // all of it has arrived
  bool begun = false;     // a message, or an atomic, which must not happen twice
  bool damaged = false;
  Status status = Status::Ok;
  std::uint64_t value = 0;
  std::uint64_t arrived = 0;  // bytes in memory
  std::vector<bool> have;     // packets that arrived, where they may come twice
  Time heard{0};              // when its requester last sent something
};

/// By requester. An operation that ended is remembered until its requester uses the number again, to answer
/// what comes twice.
class IncomingTable {
 public:
  explicit IncomingTable(Context& context) : context_(context) {}

  /// Does this operation have a half here?
  static bool keeps(const Header& h, std::uint64_t payload) {
    return h.reliable() || (h.operation == Operation::Put && h.length > payload);
  }

  Incoming* find(const Header& h) {
    if (h.from >= sources_.size()) return nullptr;
    for (std::uint32_t index : sources_[h.from])
      if (slab_[index].operation_id == h.operation_id)
        return slab_[index].generation == h.generation ? &slab_[index] : nullptr;
    return nullptr;
  }

  Incoming& find_or_add(const Header& h) {
    if (h.from >= sources_.size()) sources_.resize(context_.nodes.size());
    for (std::uint32_t index : sources_[h.from]) {
      Incoming& in = slab_[index];
      if (in.operation_id != h.operation_id) continue;
      if (in.generation != h.generation) start(in, h);
      return in;
    }
    std::uint32_t index = slab_.take();
    sources_[h.from].push_back(index);
    start(slab_[index], h);
    return slab_[index];
  }

  /// Nothing of it can come again.
  void remove(const Header& h) {
    auto& of_source = sources_[h.from];
    for (std::uint32_t& index : of_source) {
      if (slab_[index].operation_id != h.operation_id) continue;
      give_context(slab_[index]);
      slab_[index].have = {};
      slab_.give(index);
      index = of_source.back();
      of_source.pop_back();
      return;
    }
  }

  bool take_context(Incoming& in) {
    if (in.context) return true;
    if (contexts_ >= context_.nic.receive_contexts) reclaim();
    if (contexts_ >= context_.nic.receive_contexts) return false;
    ++contexts_;
    return in.context = true;
  }
  void give_context(Incoming& in) {
    if (in.context) --contexts_;
    in.context = false;
  }

 private:
  void start(Incoming& in, const Header& h) {
    give_context(in);
    in = {};
    in.operation_id = h.operation_id;
    in.generation = h.generation;
  }

  /// Requesters that gave up do not say so: what was not heard of for as long as they try is free again.
  void reclaim() {
    // Their patience doubles up to 64 times the first (reliability.hpp).
    __int128 patience =
        static_cast<__int128>(context_.nic.timeout.value) *
        (context_.nic.retries < 6 ? 4u << context_.nic.retries : 64 * (context_.nic.retries + 2));
    for (auto& of_source : sources_)
      for (std::uint32_t index : of_source)
        if (context_.now().value - slab_[index].heard.value > patience) give_context(slab_[index]);
  }

  Context& context_;
  Slab<Incoming, 8> slab_;
  std::vector<std::vector<std::uint32_t>> sources_;
  unsigned contexts_ = 0;  // in use
};

}  // namespace weft::nic
