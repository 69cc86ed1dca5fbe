#include "network/link/word_stuffing.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft::network::link {
namespace {

Control some_control(std::uint64_t n) {
  Control c{};
  c.acknowledged = static_cast<std::uint32_t>(n * 77);
  c.health = static_cast<std::uint8_t>(n);
  c.occupied = static_cast<std::uint16_t>(n * 3);
  c.crc = control_crc(c);
  return c;
}

TEST(WordStuffing, DataAndControlComeApartAgain) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WordStuffer stuffer;
    std::vector<StreamWord> sent;
    std::vector<std::uint16_t> told;
    for (std::uint64_t i = 0; i < 300; ++i) {
      std::uint32_t kind = random_below(seed, 0, i, 4);
      if (kind == 0) {
        stuffer.control(some_control(i));
        told.push_back(some_control(i).occupied);
      } else {
        // The magic word itself is data too, often several in a row.
        sent.push_back(kind == 1 ? kMagicWord : random_bits(seed, 1, i));
        stuffer.data(sent.back());
      }
    }
    std::vector<StreamWord> got;
    std::vector<std::uint16_t> heard;
    WordUnstuffer unstuffer;
    unstuffer.data = [&](StreamWord w) { got.push_back(w); };
    unstuffer.control = [&](const Control& c) { heard.push_back(c.occupied); };
    for (StreamWord w : stuffer.stream()) unstuffer.take(w);
    EXPECT_EQ(got, sent);
    EXPECT_EQ(heard, told);
    EXPECT_EQ(unstuffer.damaged_frames, 0u);
  }
}

TEST(WordStuffing, OrdinaryDataCostsNothing) {
  WordStuffer stuffer;
  for (StreamWord w = 0; w < 1000; ++w) stuffer.data(w);
  EXPECT_EQ(stuffer.stream().size(), 1000u);
}

TEST(WordStuffing, ADamagedFrameIsDroppedAndTheDataGoesOn) {
  // Every bit of a frame but those of its magic word, in turn.
  for (unsigned bit = 0; bit < 8 * sizeof(Control); ++bit) {
    WordStuffer stuffer;
    stuffer.data(1);
    stuffer.control(some_control(5));
    stuffer.data(2);
    std::vector<StreamWord> stream = stuffer.stream();
    // Behind the magic word: the last word of the frame, then the others.
    unsigned word = bit / 64 == 2 ? 2 : 3 + bit / 64;
    stream[word] ^= StreamWord{1} << (bit % 64);
    std::vector<StreamWord> got;
    WordUnstuffer unstuffer;
    unstuffer.data = [&](StreamWord w) { got.push_back(w); };
    unstuffer.control = [&](const Control&) { ADD_FAILURE() << "bit " << bit << " went through"; };
    for (StreamWord w : stream) unstuffer.take(w);
    EXPECT_EQ(got, (std::vector<StreamWord>{1, 2}));
    EXPECT_EQ(unstuffer.damaged_frames, 1u);
  }
}

}  // namespace
}  // namespace weft::network::link
