#include "node/nvme_identify.hpp"

#include <fmt/format.h>

#include <bit>
#include <string_view>

namespace weft::node {

std::uint16_t nvme_identify(const NvmeEntry& e, const NvmeDisk& disk, std::vector<std::uint8_t>& out) {
  auto put = [&](std::size_t at, unsigned bytes, std::uint64_t value) {
    for (unsigned i = 0; i < bytes; ++i) out[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
  };
  auto text = [&](std::size_t at, std::size_t room, std::string_view value) {
    for (std::size_t i = 0; i < room; ++i)
      out[at + i] = i < value.size() ? static_cast<std::uint8_t>(value[i]) : ' ';
  };
  const std::uint64_t number = 0x5745'4654'0000'0000 | disk.node;
  switch (e.words[0] & 0xff) {
    case 0:  // the namespace
      if (e.space != 1) return kNvmeBadNamespace;
      for (std::size_t at : {0, 8, 16}) put(at, 8, disk.bytes / kNvmeBlock);
      put(120, 8, number);
      put(130, 1, std::countr_zero(kNvmeBlock));  // blocks of 2 to this power
      return kNvmeWell;
    case 1:  // the controller
      put(0, 2, kNvmeIdentity.vendor);
      put(2, 2, kNvmeIdentity.vendor);
      text(4, 20, fmt::format("{}-{}", disk.name.substr(0, 10), disk.node));
      text(24, 40, "Weft flash disk");
      text(64, 8, "1");
      put(77, 1, kNvmeTransferPages);
      put(80, 4, 0x00010300);
      put(259, 1, kNvmeAsynchronousEvents - 1);
      put(512, 1, 0x66);  // sizes of entries
      put(513, 1, 0x44);
      put(516, 4, 1);
      put(520, 2, 8);  // it can write zeroes
      put(525, 1, 1);  // and keeps writes in a buffer
      text(768, 64, fmt::format("nqn.2026-01.weft:node{}.{}", disk.node, disk.name));
      for (std::size_t i = 768; i < 1024; ++i)
        if (out[i] == ' ') out[i] = 0;
      return kNvmeWell;
    case 2:  // namespaces there are
      if (e.space == 0) put(0, 4, 1);
      return kNvmeWell;
    case 3:  // names of the namespace
      if (e.space != 1) return kNvmeBadNamespace;
      put(0, 1, 1);
      put(1, 1, 8);
      put(4, 8, number);
      return kNvmeWell;
    default:
      return kNvmeBadField;
  }
}

}  // namespace weft::node
