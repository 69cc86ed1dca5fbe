#include "guest/pcapng.hpp"

#include <string_view>

namespace weft::guest {

namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 6;
constexpr std::uint16_t kEthernet = 1;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string& out) { out.append((4 - out.size() % 4) % 4, '\0'); }

void option(std::string& out, std::uint16_t code, std::string_view value) {
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  out += value;
  pad(out);
}

}  // namespace

Capture::Capture(const std::string& path, const std::string& node, std::int64_t date)
    : file_(path), date_(date) {
  std::string section;
  put(section, std::uint32_t{0x1a2b3c4d});  // says in which order bytes are
  put(section, std::uint16_t{1});           // version 1.0
  put(section, std::uint16_t{0});
  put(section, std::int64_t{-1});  // of a length that is not known yet
  option(section, 4, "weft");
  option(section, 0, "");
  block(kSection, section);
  std::string interface;
  put(interface, kEthernet);
  put(interface, std::uint16_t{0});
  put(interface, std::uint32_t{0});  // whole frames
  option(interface, 2, node + ".eth0");
  option(interface, 9, std::string_view("\x09", 1));  // nanoseconds
  option(interface, 0, "");
  block(kInterface, interface);
}

void Capture::block(std::uint32_t kind, std::string_view body) {
  std::string out;
  const auto length = static_cast<std::uint32_t>(12 + body.size());
  put(out, kind);
  put(out, length);
  out += body;
  put(out, length);
  file_.write(out);
}

void Capture::add(bool sent, Time at, std::span<const std::uint8_t> frame) {
  const std::uint64_t stamp =
      static_cast<std::uint64_t>(date_) * 1'000'000'000 + static_cast<std::uint64_t>((at.value + 999) / 1000);
  std::string body;
  put(body, std::uint32_t{0});
  put(body, static_cast<std::uint32_t>(stamp >> 32));
  put(body, static_cast<std::uint32_t>(stamp));
  put(body, static_cast<std::uint32_t>(frame.size()));
  put(body, static_cast<std::uint32_t>(frame.size()));
  body.append(reinterpret_cast<const char*>(frame.data()), frame.size());
  pad(body);
  std::string flags;
  put(flags, std::uint32_t{sent ? 2u : 1u});  // outbound, inbound
  option(body, 2, flags);
  option(body, 0, "");
  block(kPacket, body);
}

}  // namespace weft::guest
