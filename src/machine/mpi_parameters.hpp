// What a description says about the software between a program and its interface ([mpi]): how messages are
// carried and what the processor's part of it costs.
#pragma once

#include "base/quantity.hpp"
#include "config/schema.hpp"

namespace weft::machine {

/// How messages up to the eager limit travel that do not fit into one small message.
enum class Eager {
  Messages,   // cut into small messages (EXTOLL)
  Shared,     // in blocks into a pool all senders share, by credit (TH Express-2, SR channel)
  Exclusive,  // into a ring of the pair's own (TH Express-2, ER channel)
};

/// Who moves the data of longer ones, once the receive is there.
enum class Rendezvous { Get, Put };

/// How the other side learns that it is there.
enum class Ack { Message, Notification };

/// Who compares tags.
enum class Matching { Host, Nic };

/// Who answers the request for a long message whose receive is posted, while the program computes.
enum class Progress { Interface, Calls };

/// Trees that offloaded collectives run along (collective/tree.hpp).
enum class Tree { Kary, Knomial };
enum class TreeOrder { Number, Topology };
enum class TreeLevels { One, Node, Router };

struct MpiParameters {
  DataSize eager_limit{2048};
  Eager eager = Eager::Messages;
  Rendezvous rendezvous = Rendezvous::Get;
  Ack ack = Ack::Message;
  Matching matching = Matching::Host;
  Progress progress = Progress::Interface;
  Time send_cost{100'000};
  Time receive_cost{100'000};
  Time match_cost{10'000};
  DataRate copy_rate{40'000'000'000};
  Time test_cost{50'000};
  DataSize get_size{std::int64_t{1} << 30};
  unsigned gets = 4;
  Time send_delay{0};
  Time send_delay_per_kib{0};
  unsigned credits = 0;
  unsigned credits_most = 64;
  DataSize block{4096};
  unsigned blocks = 256;
  unsigned ring_blocks = 16;
  Tree tree = Tree::Kary;
  unsigned tree_arity = 4;
  TreeOrder tree_order = TreeOrder::Number;
  TreeLevels tree_levels = TreeLevels::One;
  DataSize collective_limit{2048};
};

const config::Section& mpi_section();

}  // namespace weft::machine
