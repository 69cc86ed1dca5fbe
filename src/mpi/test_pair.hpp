// Endpoints of the protocol over a fake interface: what one posts is carried out in the other's memory at
// once, or in any order, with nothing else of Weft.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "mpi/transport.hpp"

namespace weft::mpi::test {

/// All kinds of a machine's choices, with small limits, so that every path is taken by short messages.
inline abi::MpiModel model(std::uint32_t eager, std::uint32_t rendezvous, std::uint32_t ack,
                           std::uint32_t credits) {
  abi::MpiModel m{};
  m.eager_limit = 200;
  m.eager = eager;
  m.rendezvous = rendezvous;
  m.ack = ack;
  m.send_cost = 10;
  m.receive_cost = 20;
  m.match_cost = 1;
  m.copy_bits_per_second = 8'000'000'000'000;
  m.get_size = 100;
  m.gets = 2;
  m.credits = credits;
  m.credits_most = 4 * credits;
  m.block = 64;
  m.blocks = 8;
  m.ring_blocks = 4;
  return m;
}

struct Received {
  std::uint32_t peer;
  std::uint64_t tag;
  std::size_t length, stored;
  int error;
  void* context;
};

class Net;

class Member final : public Transport, public Port {
 public:
  Member(Net& net, std::uint32_t node, const abi::MpiModel& model, std::uint16_t generation = 1);

  std::int64_t now() const override { return clock; }
  void work(std::int64_t time) override { clock += time; }
  void post(nic::Descriptor& descriptor) override;
  int register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) override;
  void release_memory(std::uint64_t key) override { ++released[key]; }

  void sent_at_once(Port&, const Outgoing&) override { ++sent; }
  void request_ended(Port&, const Request& request) override {
    if (request.kind != Request::Kind::Send) return;
    ++sent;
    failed_sends += request.error != 0;
  }
  void received(Port&, const Incoming& in, std::size_t stored, int error, bool) override {
    got.push_back({in.peer, in.tag, in.length, stored, error, in.receive->context});
  }
  void other_message(Port&, std::uint32_t, const nic::Message& m) override { others.push_back(m); }
  void operation_here(Port&, const nic::Event&) override {}
  void one_sided_done(Port&, Request&) override {}
  void operation_failed(const Request&, const nic::Event&) override {}
  void registration_failed(const Request&, const void*, int) override { ++refused_registrations; }

  std::uint32_t peer_of(std::uint32_t node) { return peer_of_address({node, 0}); }
  void send_to(std::uint32_t node, const std::vector<char>& data, std::uint64_t tag = 0, bool tagged = true) {
    Outgoing out;
    out.buffer = Buffer(data.data(), data.size());
    out.tag = tag;
    out.tagged = tagged;
    std::uint32_t request = 0;
    send(*this, peer_of(node), out, request);
  }

  abi::MpiModel model_copy;
  abi::MpiSums sums{};
  std::int64_t clock = 0;
  unsigned sent = 0, failed_sends = 0, refused_registrations = 0;
  int registration_error = 0;
  std::vector<Received> got;
  std::vector<nic::Message> others;
  struct Region {
    char* base;
    std::size_t bytes;
    unsigned rights;
  };
  std::map<std::uint64_t, Region> regions;
  std::map<std::uint64_t, unsigned> released;
  std::uint32_t node;

 private:
  friend class Net;
  Net& net_;
};

class Net {
 public:
  explicit Net(unsigned seed = 0) : random_(seed), shuffles_(seed != 0) {}

  Member& add(const abi::MpiModel& model, std::uint16_t generation = 1) {
    members.push_back(
        std::make_unique<Member>(*this, static_cast<std::uint32_t>(members.size()), model, generation));
    return *members.back();
  }

  /// Carries out what was posted until there is nothing more, in order or, with a seed, in any order.
  void run() {
    while (!posted_.empty()) {
      std::size_t at = shuffles_ ? random_() % posted_.size() : 0;
      auto [from, d] = posted_[at];
      posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(at));
      ++carried[d.operation];
      if (d.spare[4]) ++marked[d.spare[4]];
      carry(*members[from], *members[d.node], d);
    }
  }
  bool idle() const { return posted_.empty(); }

  std::vector<std::unique_ptr<Member>> members;
  std::map<nic::Operation, unsigned> carried;
  std::map<std::uint64_t, unsigned> marked;  // operations with that mark
  bool broken = false;                       // somebody reached beyond memory, or without a right

 private:
  friend class Member;

  char* place(Member& member, std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, unsigned right) {
    auto found = member.regions.find(key);
    broken |= found == member.regions.end() || offset + bytes > found->second.bytes ||
              (found->second.rights & right) != right;
    return broken ? nullptr : found->second.base + offset;
  }

  static nic::Event event(const nic::Descriptor& d, nic::EventKind kind, std::uint32_t other) {
    nic::Event e;
    e.kind = kind;
    e.operation = d.operation;
    e.node = other;
    e.length = d.length;
    e.context = d.context;
    e.data = d.operand;
    return e;
  }

  void carry(Member& from, Member& to, const nic::Descriptor& d) {
    if (d.operation == nic::Operation::Message) {
      nic::Message m;
      m.node = from.node;
      m.tag = d.tag;
      m.length = static_cast<std::uint16_t>(d.length);
      std::memcpy(m.data, d.data, d.length);
      to.take(to, m);
    } else {
      const bool put = d.operation == nic::Operation::Put;
      char* there =
          place(to, d.remote_key, d.remote_offset, d.length, put ? nic::kRemoteWrite : nic::kRemoteRead);
      char* here = place(from, d.local_key, d.local_offset, d.length, 0);
      if (broken) return;
      std::memcpy(put ? there : here, put ? here : there, d.length);
      if (d.flags & nic::kNotifyLocal) from.take(from, event(d, nic::EventKind::Local, to.node));
      if (d.flags & nic::kNotifyRemote)
        to.take(to, event(d, put ? nic::EventKind::Arrived : nic::EventKind::Responded, from.node));
    }
    if (d.flags & nic::kNotifyDone) from.take(from, event(d, nic::EventKind::Done, to.node));
  }

  std::vector<std::pair<std::uint32_t, nic::Descriptor>> posted_;
  std::mt19937 random_;
  bool shuffles_;
};

inline Member::Member(Net& net, std::uint32_t number, const abi::MpiModel& m, std::uint16_t generation)
    : Transport(model_copy, sums, {48, 150}, generation), model_copy(m), node(number), net_(net) {}

inline void Member::post(nic::Descriptor& d) {
  clock += 5;
  net_.posted_.push_back({node, d});
}

inline int Member::register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) {
  if (registration_error) return registration_error;
  clock += 100;
  key = regions.size() + 1;
  regions[key] = {static_cast<char*>(base), bytes, rights};
  return 0;
}

}  // namespace weft::mpi::test
