// A capture of frames in pcapng, which Wireshark and tcpdump open; time stamps are virtual, in nanoseconds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/output_file.hpp"
#include "base/quantity.hpp"

namespace weft::guest {

class Capture {
 public:
  /// `date`: seconds since 1970 at which virtual time begins. Throws UserError where it cannot be written.
  Capture(const std::string& path, const std::string& node, std::int64_t date);
  void add(bool sent, Time at, std::span<const std::uint8_t> frame);
  void close() { file_.close(); }

 private:
  void block(std::uint32_t kind, std::string_view body);
  OutputFile file_;
  std::int64_t date_;
};

}  // namespace weft::guest
