#include "network/link/word_stuffing.hpp"

#include <cstring>

namespace weft::network::link {

static_assert(sizeof(Control) <= kFrameWords * sizeof(StreamWord));

void WordStuffer::data(StreamWord word) {
  stream_.push_back(word);
  if (word == kMagicWord) stream_.push_back(word);
}

void WordStuffer::control(const Control& control) {
  StreamWord words[kFrameWords] = {};
  std::memcpy(words, &control, sizeof control);
  // A frame must not begin like a doubled magic word; the last word has room to spare, so it goes first.
  stream_.push_back(kMagicWord);
  stream_.push_back(words[kFrameWords - 1]);
  for (unsigned i = 0; i + 1 < kFrameWords; ++i) stream_.push_back(words[i]);
}

void WordUnstuffer::take(StreamWord word) {
  if (expect_ == Expect::Data) {
    if (word == kMagicWord)
      expect_ = Expect::AfterMagic;
    else
      data(word);
    return;
  }
  if (expect_ == Expect::AfterMagic && word == kMagicWord) {
    expect_ = Expect::Data;
    return data(word);
  }
  if (expect_ == Expect::AfterMagic) filled_ = 0, expect_ = Expect::Frame;
  frame_[filled_++] = word;
  if (filled_ < kFrameWords) return;
  expect_ = Expect::Data;
  StreamWord words[kFrameWords];
  words[kFrameWords - 1] = frame_[0];
  for (unsigned i = 0; i + 1 < kFrameWords; ++i) words[i] = frame_[i + 1];
  Control frame;
  std::memcpy(&frame, words, sizeof frame);
  if (control_crc(frame) == frame.crc)
    control(frame);
  else
    ++damaged_frames;
}

}  // namespace weft::network::link
