#include "machine/mpi_parameters.hpp"

namespace weft::machine {

using config::Range;

namespace {

/// How collectives run that the interfaces carry out.
config::Schema<MpiParameters>&& trees(config::Schema<MpiParameters>&& schema) {
  using M = MpiParameters;
  return std::move(schema)
      .choice(&M::tree, "tree",
              "The tree of a collective that the interfaces run: every member has so many children, or "
              "fewer the further it is from the root",
              {"k-ary", "k-nomial"})
      .field(&M::tree_arity, "tree_arity",
             "The k of that tree; 0: the narrowest with the fewest levels that nic.trigger_inputs allows",
             Range<unsigned>{0, 64})
      .choice(&M::tree_order, "tree_order",
              "Who is whose child: by number, or those nearest in the network first", {"number", "topology"})
      .choice(&M::tree_levels, "tree_levels",
              "Whether members of one node, or of one router's nodes, have a tree among themselves, whose "
              "root alone is in the tree of all",
              {"one", "node", "router"})
      .field(&M::collective_limit, "collective_limit",
             "Longest vector of a collective that the interfaces run",
             Range<DataSize>{{0}, {std::int64_t{1} << 24}});
}

}  // namespace

const config::Section& mpi_section() {
  using M = MpiParameters;
  static const config::Section section = [] {
    auto time = Range<Time>{{0}, {1'000'000'000'000}};
    return trees(config::Schema<M>())
        .field(&M::eager_limit, "eager_limit",
               "Longest message that is sent at once; longer ones wait until the receiver asks "
               "for them",
               Range<DataSize>{{0}, {std::int64_t{1} << 30}})
        .choice(&M::eager, "eager",
                "How messages travel that are sent at once and do not fit into one small message: "
                "cut into "
                "small messages, in blocks of a pool that senders share, or in a ring of the "
                "pair's own",
                {"messages", "shared", "exclusive"})
        .choice(&M::rendezvous, "rendezvous",
                "Who moves the data of longer ones: the receiver gets it, or the sender puts it",
                {"get", "put"})
        .choice(&M::ack, "ack",
                "How the other side learns that it is there: by a small message, or by a "
                "notification of its "
                "interface",
                {"message", "notification"})
        .choice(&M::matching, "matching", "Who finds the receive a message is for", {"host", "nic"})
        .choice(&M::progress, "progress",
                "Who answers the request for a long message while the receiver computes: the "
                "interface, so that "
                "the data is fetched meanwhile; or the receiver's next call",
                {"interface", "calls"})
        .field(&M::send_cost, "send_cost", "The processor's time to send a message, besides posting", time)
        .field(&M::receive_cost, "receive_cost",
               "The processor's time to receive a message, besides taking it", time)
        .field(&M::match_cost, "match_cost",
               "The processor's time for each entry of a queue it compares with, where it does that", time)
        .field(&M::copy_rate, "copy_rate", "How fast the processor copies",
               Range<DataRate>{{1'000'000}, {std::int64_t{1} << 50}})
        .field(&M::test_cost, "test_cost",
               "The processor's time for a test that finds nothing, in the experiments of `weft "
               "validate`",
               time)
        .field(&M::get_size, "get_size", "Longer messages are fetched in pieces of this size",
               Range<DataSize>{{64}, {std::int64_t{1} << 30}})
        .field(&M::gets, "gets", "Such pieces of a message under way at a time", Range<unsigned>{1, 1024})
        .field(&M::send_delay, "send_delay",
               "A pause put after each send, to see what a lower message rate does", time)
        .field(&M::send_delay_per_kib, "send_delay_per_kib", "Further pause for each KiB of the message",
               time)
        .field(&M::credits, "credits",
               "Small messages, or blocks of a shared pool, a process may have under way to "
               "another at first; "
               "0: one block, and no limit to small messages: a full ring makes them wait. "
               "Receivers give more "
               "to those that use them up",
               Range<unsigned>{0, 128})
        .field(&M::credits_most, "credits_most", "Small messages or blocks it may be given at most",
               Range<unsigned>{1, 128})
        .field(&M::block, "block", "Size of a block of the shared pool and of the rings",
               Range<DataSize>{{64}, {std::int64_t{1} << 20}})
        .field(&M::blocks, "blocks", "Blocks in a process's shared pool", Range<unsigned>{1, 65'536})
        .field(&M::ring_blocks, "ring_blocks", "Blocks in the ring of a pair", Range<unsigned>{2, 1024})
        .check([](const M& m, const config::Complain& complain) {
          if (m.tree_arity == 1) complain("tree_arity", "a tree needs 2 or more, or 0");
          if (m.credits > m.credits_most) complain("credits", "more than credits_most");
        })
        .section();
  }();
  return section;
}

}  // namespace weft::machine
