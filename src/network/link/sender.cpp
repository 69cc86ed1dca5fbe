// The sending half of a link.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "network/link/protocol.hpp"

namespace weft::network::link {

Sender::Sender(const LinkSettings& settings)
    : window_(settings.window),
      mask_(std::bit_ceil(settings.window) - 1),
      flit_bytes_(settings.flit_bytes),
      timeout_(settings.timeout),
      max_retries_(settings.max_retries),
      selective_(settings.retry == topology::Retry::HeaderFooter),
      ring_(mask_ + 1),
      bytes_(std::size_t{mask_ + 1} * settings.flit_bytes),
      chains_(settings.channels) {}

void Sender::offer(const Flit& flit, const std::uint8_t* bytes) {
  WEFT_CHECK(has_room(), "a link takes a flit only when it is ready");
  Chain& chain = chains_[flit.channel];
  if (flit.head) chain = {};
  FlitHeader& header = at(end_);
  header = {};
  header.entry = flit.entry;
  header.sequence = end_;
  header.index = chain.index++;
  header.channel = flit.channel;
  header.marks = static_cast<std::uint8_t>((flit.head ? kHead : 0) | (flit.tail ? kTail : 0));
  if (selective_) {
    // Every flit stands for itself; the footer carries the CRC of the payload between.
    bool payload = !flit.head && !flit.tail;
    if (payload) chain.crc = crc32(chain.crc, bytes, flit_bytes_);
    if (flit.tail) header.payload_crc = chain.crc;
    header.crc = payload ? flit_crc(0, header, nullptr, 0) : flit_crc(0, header, bytes, flit_bytes_);
  } else {
    chain.crc = header.crc = flit_crc(chain.crc, header, bytes, flit_bytes_);
  }
  std::memcpy(&bytes_[std::size_t{end_ & mask_} * flit_bytes_], bytes, flit_bytes_);
  ++end_;
}

bool Sender::next(Cycle now, Frame& frame, const std::uint8_t*& bytes, LinkCounters& counters) {
  std::uint32_t sequence = next_;
  if (again_ && acknowledged_ != next_) {
    sequence = acknowledged_;
    again_ = false;
  } else {
    again_ = false;
    if (next_ == end_) return false;
    ++next_;
  }
  waiting_since_ = now;
  frame.has_flit = true;
  frame.flit = at(sequence);
  bytes = &bytes_[std::size_t{sequence & mask_} * flit_bytes_];
  if (sequence == newest_)
    ++newest_, ++counters.sent;
  else
    ++counters.sent_again;
  return true;
}

void Sender::go_back(Cycle now) {
  ++epoch_;
  waiting_since_ = now;
  if (selective_)
    again_ = true;
  else
    next_ = acknowledged_;
}

void Sender::acknowledge(Cycle now, const Control& control, LinkCounters& counters) {
  std::uint32_t fresh = control.acknowledged - acknowledged_;
  bool progress = fresh != 0 && fresh <= newest_ - acknowledged_;
  if (progress) {
    acknowledged_ = control.acknowledged;
    // What is acknowledged need not be sent again after all.
    if (static_cast<std::int32_t>(next_ - acknowledged_) < 0) next_ = acknowledged_;
    retries_ = 0;
    waiting_since_ = now;
  }
  if (control.refused && control.refused_epoch == epoch_ && control.acknowledged == acknowledged_ &&
      acknowledged_ != newest_) {
    ++counters.gone_back;
    ++retries_;
    go_back(now);
  }
}

bool Sender::check_time(Cycle now, LinkCounters& counters) {
  if (acknowledged_ == newest_) {
    waiting_since_ = now;
    return false;
  }
  if (now - waiting_since_ > timeout_) {
    ++counters.timeouts;
    ++retries_;
    go_back(now);
  }
  return exhausted();
}

void Sender::start_again(Cycle now) {
  retries_ = 0;
  go_back(now);
  if (selective_) {  // what was under way when the link went down is gone
    again_ = false;
    next_ = acknowledged_;
  }
}

}  // namespace weft::network::link
