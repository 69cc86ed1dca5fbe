#include "abi/mpi_wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "abi/descriptor.hpp"
#include "abi/mpi_calls.hpp"
#include "abi/port_set.hpp"

namespace weft::abi {
namespace {

TEST(Wire, ATagWordHoldsWhatWasPutIntoIt) {
  const unsigned seed = 1234;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const auto kind = static_cast<MessageKind>(1 + random() % 13);
    const unsigned flags = random() % 16, credits = random() % 256;
    const auto sequence = static_cast<std::uint16_t>(random());
    const std::uint32_t word = tag_word(kind, flags, credits, sequence);
    EXPECT_EQ(kind_of(word), kind);
    EXPECT_EQ(flags_of(word), flags);
    EXPECT_EQ(credits_of(word), credits);
    EXPECT_EQ(sequence_of(word), sequence);
    const std::uint32_t block = random() % 65536;
    const std::uint64_t event = block_word(word, block);
    EXPECT_TRUE(event & kBlockArrived);
    EXPECT_EQ(static_cast<std::uint32_t>(event), word);
    EXPECT_EQ((event & ~kBlockArrived) >> 32, block);
    EXPECT_FALSE(event & kOperationHere) << "no block has so high a number";
  }
}

TEST(Wire, EveryHeadFitsIntoTheSmallestMessage) {
  for (std::size_t bytes :
       {sizeof(EagerHead), sizeof(RendezvousHead), sizeof(ClearHead), sizeof(FinishedHead),
        sizeof(AtomicHead), sizeof(AtomicReplyHead), sizeof(RemoteDataHead), sizeof(GrantHead)})
    EXPECT_LE(bytes, kLeastMessage);
  EXPECT_EQ(sizeof(RendezvousHead), 28u) << "an MPI envelope in 256 bits";
  EXPECT_LE(sizeof(AtomicHead) + 8, kLeastMessage) << "with a value of eight bytes";
}

template <class Head>
void round_trip(const Head& head) {
  std::uint8_t bytes[nic::kInlineBytes] = {};
  std::memcpy(bytes, &head, sizeof head);
  Head back{};
  std::memcpy(&back, bytes, sizeof back);
  EXPECT_EQ(std::memcmp(&head, &back, sizeof head), 0);
}

TEST(Wire, HeadsComeBackAsTheyWere) {
  round_trip(EagerHead{1, 2, 3});
  round_trip(RendezvousHead{1, 2, 3, 4, 5});
  round_trip(ClearHead{1, 2, 3, 4, 0});
  round_trip(FinishedHead{1, 0});
  round_trip(AtomicHead{1, 2, 3, 4, 5, 6, 7, 8});
  round_trip(AtomicReplyHead{1, 2, 0});
  round_trip(RemoteDataHead{1, 2, 3});
  round_trip(GrantHead{1});
  RendezvousHead head{0x01020304, 0, 0, 0, 0};
  std::uint8_t first = 0;
  std::memcpy(&first, &head, 1);
  EXPECT_EQ(first, 4) << "the lowest byte first";
}

TEST(Wire, OnlyWhatOthersSendUnaskedNeedsCredit) {
  for (MessageKind kind : {MessageKind::Eager, MessageKind::More, MessageKind::Request, MessageKind::Atomic})
    EXPECT_TRUE(needs_credit(kind));
  for (MessageKind kind :
       {MessageKind::Clear, MessageKind::Finished, MessageKind::Credit, MessageKind::AtomicReply,
        MessageKind::RemoteData, MessageKind::RequestBlocks, MessageKind::Grant, MessageKind::Block})
    EXPECT_FALSE(needs_credit(kind));
}

TEST(Wire, WhatAThreadDoesIsPackedAndUnpacked) {
  Doing doing = Doing::begun(static_cast<std::uint16_t>(MpiCall::Recv), 123'456'000, 3, 7);
  EXPECT_TRUE(doing.inside());
  EXPECT_EQ(doing.call(), static_cast<std::uint16_t>(MpiCall::Recv));
  EXPECT_EQ(doing.since(), 123'456'000);
  doing.returned();
  EXPECT_FALSE(doing.inside());
  EXPECT_EQ(doing.call(), static_cast<std::uint16_t>(MpiCall::Recv)) << "the last it called";
}

TEST(Wire, ASetOfPortsNamesThoseInItAlone) {
  std::uint32_t set = with_port(with_port(kPortSet, 3), 15);
  for (std::uint32_t port = 0; port < kPortsPerProcess; ++port) {
    EXPECT_EQ(names_port(set, port), port == 3 || port == 15);
    EXPECT_TRUE(names_port(kAnyPort, port));
    EXPECT_FALSE(names_port(kNoPort, port));
    EXPECT_EQ(names_port(5, port), port == 5);
  }
}

}  // namespace
}  // namespace weft::abi
