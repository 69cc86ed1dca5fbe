// The part of a device that reads and writes memory: transfers become requests of the size the path allows,
// each read has a tag until all of its completions are there.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "pcie/tlp.hpp"

namespace weft::pcie {

class Requester {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void send_request(const Tlp& tlp, std::span<const std::uint8_t> data) = 0;
    virtual void read_done(std::uint32_t context, bool well) = 0;
  };

  Requester(Owner& owner, unsigned tags) : owner_(owner), tags_(tags) {
    for (unsigned i = tags; i > 0; --i) free_.push_back(static_cast<std::uint8_t>(i - 1));
  }

  /// Sizes of what follows: most data of a packet, most that a request asks for; and how many tags the bus
  /// has.
  void set_sizes(std::uint32_t payload, std::uint32_t request, std::size_t tags = 256) {
    payload_ = payload;
    request_ = request;
    most_open_ = tags;
  }

  /// Returns how many requests it becomes: read_done is told so often, in any order, and `to` must stay until
  /// then.
  std::uint32_t read(std::uint64_t address, std::uint8_t* to, std::uint32_t bytes, std::uint32_t context) {
    std::uint32_t requests = 0;
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint32_t piece = next_piece(address + done, bytes - done, request_);
      waiting_.push_back({address + done, to + done, piece, context});
      done += piece;
      ++requests;
    }
    go_on();
    return requests;
  }

  void write(std::uint64_t address, std::span<const std::uint8_t> data) {
    while (!data.empty()) {
      Tlp tlp;
      tlp.kind = TlpKind::MemoryWrite;
      tlp.address = address;
      tlp.bytes = next_piece(address, data.size(), payload_);
      owner_.send_request(tlp, data.first(tlp.bytes));
      address += tlp.bytes;
      data = data.subspan(tlp.bytes);
    }
  }

  /// A completion that belongs to no request, or has more than was asked for, is dropped.
  void completed(const Tlp& tlp, std::span<const std::uint8_t> data) {
    if (tlp.tag >= tags_.size() || !tags_[tlp.tag].open) return;
    Tag& tag = tags_[tlp.tag];
    if (tlp.status != CompletionStatus::Successful || data.size() > tag.read.bytes - tag.here) {
      tag.failed = true;
      return end(tlp.tag);
    }
    for (std::size_t i = 0; i < data.size(); ++i) tag.read.to[tag.here + i] = data[i];
    tag.here += static_cast<std::uint32_t>(data.size());
    if (tag.here == tag.read.bytes) end(tlp.tag);
  }

  /// Ends all that is open, as failed.
  void reset() {
    std::deque<Read> ended = std::exchange(waiting_, {});
    for (std::size_t i = 0; i < tags_.size(); ++i)
      if (tags_[i].open) {
        ended.push_back(tags_[i].read);
        give(static_cast<std::uint8_t>(i));
      }
    for (const Read& read : ended) owner_.read_done(read.context, false);
  }

 private:
  struct Read {
    std::uint64_t address = 0;
    std::uint8_t* to = nullptr;
    std::uint32_t bytes = 0, context = 0;
  };
  struct Tag {
    Read read;
    std::uint32_t here = 0;
    bool open = false, failed = false;
  };

  void give(std::uint8_t tag) {
    tags_[tag].open = false;
    free_.push_back(tag);
  }

  void go_on() {
    while (!waiting_.empty() && !free_.empty() && tags_.size() - free_.size() < most_open_) {
      const std::uint8_t number = free_.back();
      free_.pop_back();
      Tag& tag = tags_[number];
      tag = {waiting_.front(), 0, true, false};
      waiting_.pop_front();
      Tlp tlp;
      tlp.kind = TlpKind::MemoryRead;
      tlp.tag = number;
      tlp.address = tag.read.address;
      tlp.bytes = tag.read.bytes;
      owner_.send_request(tlp, {});
    }
  }

  void end(std::uint8_t number) {
    const Tag tag = tags_[number];
    give(number);
    owner_.read_done(tag.read.context, !tag.failed);
    go_on();
  }

  Owner& owner_;
  std::vector<Tag> tags_;
  std::vector<std::uint8_t> free_;
  std::deque<Read> waiting_;
  std::uint32_t payload_ = 128, request_ = 512;
  std::size_t most_open_ = 256;
};

}  // namespace weft::pcie
