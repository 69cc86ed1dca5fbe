// Word stuffing (APElink): control frames in a stream of data words, told apart by a magic word.
//
// A magic word announces a control frame: the next words are the frame. A data word that happens to be the
// magic word is sent twice; so the magic word followed by itself is data, followed by anything else a frame
// (ExaNeSt 2.2, APEnet+ 2).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "network/link/frame.hpp"

namespace weft::network::link {

using StreamWord = std::uint64_t;
inline constexpr StreamWord kMagicWord = 0xa9e1'17b4'5d06'c3f2;
inline constexpr unsigned kFrameWords = 3;  // of a control frame behind its magic word

/// Builds a stream.
class WordStuffer {
 public:
  void data(StreamWord word);
  void control(const Control& control);
  const std::vector<StreamWord>& stream() const { return stream_; }

 private:
  std::vector<StreamWord> stream_;
};

/// Takes a stream apart, word by word.
class WordUnstuffer {
 public:
  std::function<void(StreamWord)> data;
  std::function<void(const Control&)> control;  // whose CRC is right
  std::uint64_t damaged_frames = 0;
  void take(StreamWord word);

 private:
  enum class Expect : std::uint8_t { Data, AfterMagic, Frame } expect_ = Expect::Data;
  StreamWord frame_[kFrameWords] = {};
  unsigned filled_ = 0;
};

}  // namespace weft::network::link
