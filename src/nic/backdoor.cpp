#include "nic/backdoor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace weft::nic {

namespace {

/// As long as a completion is waited for anywhere, and some more.
constexpr Time kPatience{60'000'000'000};
constexpr std::size_t kTagByte = 6;  // of a request

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all{"MemoryRead",  "MemoryWrite",  "ConfigRead0", "ConfigWrite0",
                                            "ConfigRead1", "ConfigWrite1", "Completion",  "CompletionData"};
  return all;
}

std::optional<std::uint64_t> number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<std::uint8_t>> hex_bytes(std::string_view text) {
  std::vector<std::uint8_t> out;
  if (text.empty() || text.size() % 2) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::uint8_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (error != std::errc{} || end != text.data() + i + 2) return std::nullopt;
    out.push_back(value);
  }
  return out;
}

std::optional<pcie::FunctionId> function_id(const std::string& text) {
  unsigned bus = 0, device = 0, function = 0;
  int read = 0;
  if (std::sscanf(text.c_str(), "%2x:%2x.%1u%n", &bus, &device, &function, &read) != 3 ||
      static_cast<std::size_t>(read) != text.size() || device > 31 || function > 7)
    return std::nullopt;
  return pcie::FunctionId(bus, device, function);
}

std::string hex(std::span<const std::uint8_t> bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

/// Where the packet goes, of a request: the words that follow its kind, but the last.
bool read_place(const std::vector<std::string>& words, pcie::Tlp& tlp, std::string& error) {
  if (tlp.is_config()) {
    const auto id = function_id(words[1]);
    const auto at = number(words[2]);
    if (!id) error = fmt::format("expected a function such as 01:00.0, got '{}'", words[1]);
    if (id && (!at || *at > 0xfff)) error = fmt::format("expected a register, got '{}'", words[2]);
    if (id) tlp.target = *id;
    tlp.register_ = static_cast<std::uint16_t>(at.value_or(0));
  } else {
    const auto address = number(words[1]);
    if (!address) error = fmt::format("expected an address, got '{}'", words[1]);
    tlp.address = address.value_or(0);
  }
  return error.empty();
}

}  // namespace

bool TlpFilter::keeps(const std::string& kind, network::EndpointId from, network::EndpointId to) const {
  const bool kind_fits =
      kinds.empty() ||
      std::any_of(kinds.begin(), kinds.end(), [&](const std::string& one) { return kind.starts_with(one); });
  const bool node_fits = nodes.empty() || std::any_of(nodes.begin(), nodes.end(),
                                                      [&](auto node) { return node == from || node == to; });
  return kind_fits && node_fits;
}

TlpFilter parse_tlp_filter(const std::string& text, const std::string& source, Diagnostics& problems) {
  TlpFilter out;
  if (text.empty()) return out;
  for (const std::string& word : split(text, ',')) {
    const bool known =
        !word.empty() && std::any_of(kinds().begin(), kinds().end(),
                                     [&](const std::string& kind) { return kind.starts_with(word); });
    if (const auto node = number(word); node && *node <= ~network::EndpointId{0}) {
      out.nodes.push_back(static_cast<network::EndpointId>(*node));
    } else if (known) {
      out.kinds.push_back(word);
    } else {
      problems.add({}, source,
                   fmt::format("'{}' is neither a node's number nor a kind of packet{}; there are {}", word,
                               did_you_mean(word, kinds()), join(kinds(), ", ")));
    }
  }
  return out;
}

std::vector<std::uint8_t> parse_tlp(const std::vector<std::string>& words, std::string& error) {
  if (words.size() == 2 && words[0] == "bytes") {
    auto bytes = hex_bytes(words[1]);
    constexpr std::size_t kMost = pcie::kLongHeader + pcie::kLargestAccess;
    if (bytes && bytes->size() <= kMost) return *bytes;
    error = fmt::format("expected up to {} bytes, two hexadecimal digits each, got '{}'", kMost, words[1]);
    return {};
  }
  const auto kind = words.empty() ? kinds().end() : std::find(kinds().begin(), kinds().end(), words[0]);
  pcie::Tlp tlp;
  tlp.kind = static_cast<pcie::TlpKind>(kind - kinds().begin());
  if (kind == kinds().end() || tlp.is_completion()) {
    error = fmt::format("expected a request ({}), or 'bytes' and all of its bytes{}",
                        join({kinds().begin(), kinds().begin() + 6}, ", "),
                        words.empty() ? "" : fmt::format(", got '{}'", words[0]));
    return {};
  }
  if (words.size() != (tlp.is_config() ? 4u : 3u)) {
    error = tlp.is_config() ? "expected function, register, and how many bytes or which: 01:00.0 0x0 4"
                            : "expected an address, and how many bytes or which: 0xf0000000 4";
    return {};
  }
  if (!read_place(words, tlp, error)) return {};
  std::vector<std::uint8_t> data, out;
  if (tlp.is_write()) {
    const auto given = hex_bytes(words.back());
    if (given) data = *given;
    tlp.bytes = static_cast<std::uint32_t>(data.size());
  } else {
    tlp.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(number(words.back()).value_or(0), ~0u));
  }
  const std::uint64_t from = tlp.is_config() ? tlp.register_ % 4 : tlp.address % pcie::kPage;
  if (tlp.bytes == 0 || from + tlp.bytes > (tlp.is_config() ? 4 : pcie::kPage)) {
    error = fmt::format("'{}': expected {} within {}", words.back(),
                        tlp.is_write() ? "data in hexadecimal digits" : "a number of bytes",
                        tlp.is_config() ? "a word of four bytes" : "a page");
    return {};
  }
  tlp.requester = kWatch;
  pcie::encode(tlp, data, out);
  return out;
}

Backdoor::Backdoor(Fabric& fabric, event::EventQueue& queue)
    : fabric_(fabric), queue_(queue), component_(queue.join(*this)) {
  for (NicId nic = 0; nic < fabric.nics(); ++nic) fabric.smfu(nic).set_watch(this);
}

Backdoor::~Backdoor() {
  for (NicId nic = 0; nic < fabric_.nics(); ++nic) fabric_.smfu(nic).set_watch(nullptr);
}

void Backdoor::dump(const std::string& path, TlpFilter filter) {
  file_.emplace(path);
  filter_ = std::move(filter);
}

void Backdoor::close() {
  if (file_) file_->close();
  file_.reset();
}

void Backdoor::passed(NicId from, NicId to, bool sent, std::span<const std::uint8_t> bytes) {
  if (!file_) return;
  const pcie::Decoded decoded = pcie::decode(bytes);
  const std::string kind = decoded.error ? "nonsense" : kinds()[static_cast<std::size_t>(decoded.tlp.kind)];
  if (!filter_.keeps(kind, fabric_.node(from), fabric_.node(to))) return;
  file_->write(fmt::format("{:.4f}us {} {} {} {} | {}\n", static_cast<double>(queue_.now().value) * 1e-6,
                           fabric_.node(from), sent ? ">" : ">>", fabric_.node(to),
                           decoded.error ? fmt::format("nonsense: {}", decoded.error) : text_of(decoded.tlp),
                           hex(bytes)));
}

void Backdoor::inject(NicId from, Side side, NicId to, std::vector<std::uint8_t> bytes, Answer answer) {
  const pcie::Decoded decoded = pcie::decode(bytes);
  const bool waits =
      !decoded.error && decoded.tlp.traffic() == pcie::Traffic::NonPosted && decoded.tlp.requester == kWatch;
  if (waits) {
    const std::uint32_t turn = ++turns_, tag = turn % kMostOpen;
    open_[tag] = {std::move(answer), turn, {}};
    bytes[kTagByte] = static_cast<std::uint8_t>(tag);
    queue_.at(queue_.now() + kPatience, component_, 0, turn);
  }
  fabric_.smfu(from).inject(side, to, bytes);
  if (!waits) answer("sent");
}

void Backdoor::answered(const pcie::Tlp& tlp, std::span<const std::uint8_t> data) {
  Open& open = open_[tlp.tag];
  if (!open.turn) return;
  open.data.insert(open.data.end(), data.begin(), data.end());
  if (tlp.kind == pcie::TlpKind::CompletionData && tlp.bytes_left > data.size()) return;
  const std::string bytes = open.data.empty() ? "" : " | " + hex(open.data);
  open.turn = 0;
  open.answer(text_of(tlp) + bytes);
}

void Backdoor::handle(const event::Event& event) {
  Open& open = open_[event.data % kMostOpen];
  if (open.turn != event.data) return;
  open.turn = 0;
  open.answer("no completion has come");
}

}  // namespace weft::nic
