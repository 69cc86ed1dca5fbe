// Enumeration by configuration requests alone, and what it finds in the words of `lspci`.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "pcie/tree.hpp"

namespace weft::pcie {

namespace {

using hyper_transport::kMsiEnable, hyper_transport::kMsiMapping, hyper_transport::kNumber,
    hyper_transport::kTypeBits, hyper_transport::kUnitType, hyper_transport::units_in;
constexpr unsigned kDevices = 32, kLastBus = 255;
constexpr std::uint64_t kGrain = 1 << 20;  // of windows

class Enumeration {
 public:
  Enumeration(const ConfigAccess& access, std::uint64_t memory, std::uint64_t size)
      : access_(access), next_(memory), end_(memory + size) {}

  void scan(unsigned bus, std::size_t parent) {
    number_units(bus);
    for (unsigned device = 0; device < kDevices; ++device) {
      const FunctionId id(bus, device, 0);
      if (access_.read(id, kVendor, 2) == 0xffff) continue;
      const std::size_t index = found.size();
      found.push_back({id, parent, (access_.read(id, kHeaderType, 1) & 0x7f) == 1, 0, 0, {}});
      if (!found[index].bridge || last_bus_ == kLastBus) continue;
      const unsigned below = ++last_bus_;
      access_.write(id, kPrimaryBus, 1, bus);
      access_.write(id, kSecondaryBus, 1, below);
      access_.write(id, kSubordinateBus, 1, kLastBus);  // until it is known how many there are
      scan(below, index);
      access_.write(id, kSubordinateBus, 1, last_bus_);
      found[index].secondary = below;
      found[index].subordinate = last_bus_;
    }
  }

  /// All of a bus; what is behind a bridge lies together, in whole megabytes.
  void place(std::size_t parent) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].parent != parent) continue;
      if (!found[i].bridge) {
        place_bars(found[i]);
        continue;
      }
      next_ = (next_ + kGrain - 1) / kGrain * kGrain;
      const std::uint64_t first = next_;
      place(i);
      next_ = (next_ + kGrain - 1) / kGrain * kGrain;
      if (next_ == first) continue;  // nothing is there: the window stays closed
      access_.write(found[i].id, kMemoryBase, 2, static_cast<std::uint32_t>(first >> 16) & 0xfff0);
      access_.write(found[i].id, kMemoryLimit, 2,
                    static_cast<std::uint32_t>((next_ - kGrain) >> 16) & 0xfff0);
    }
  }

  /// Payloads: the least of what is on the way.
  void set_payloads() {
    std::uint32_t least = 5;
    for (const Found& one : found)
      if (const unsigned at = capability(one.id, kCapabilityExpress))
        least = std::min(least, access_.read(one.id, at + 4, 4) & 7);
    for (const Found& one : found) {
      unsigned at = capability(one.id, kCapabilityExpress);
      if (!at) continue;
      at += 8;
      access_.write(one.id, at, 2, (access_.read(one.id, at, 2) & ~0xe0u) | least << 5);
    }
  }

  void enable() {
    for (const Found& one : found) {
      if (const unsigned at = capability(one.id, kCapabilityHyperTransport, kTypeBits, kMsiMapping))
        access_.write(one.id, at + 2, 2, access_.read(one.id, at + 2, 2) | kMsiEnable);
      access_.write(one.id, kCommand, 2, access_.read(one.id, kCommand, 2) | kMemoryEnable | kBusMaster);
    }
  }

  std::vector<Found> found;
  std::string error;

 private:
  /// Where it is; 0: there is none. `mask` and `bits`: of the word behind its number.
  unsigned capability(FunctionId id, CapabilityId which, std::uint32_t mask = 0,
                      std::uint32_t bits = 0) const {
    unsigned at = access_.read(id, kCapabilities, 1);
    while (at && (access_.read(id, at, 1) != which || (access_.read(id, at + 2, 2) & mask) != bits))
      at = access_.read(id, at + 1, 1);
    return at;
  }

  /// The next unit of a chain that has no number answers as device 0.
  void number_units(unsigned bus) {
    const FunctionId first(bus, 0, 0);
    for (unsigned next = 1; access_.read(first, kVendor, 2) != 0xffff;) {
      const unsigned at = capability(first, kCapabilityHyperTransport, kUnitType, 0);
      if (!at) return;  // no chain
      const auto command = static_cast<std::uint16_t>(access_.read(first, at + 2, 2));
      if (next + units_in(command) > kDevices) return;
      access_.write(first, at + 2, 2, (command & ~std::uint32_t{kNumber}) | next);
      next += units_in(command);
    }
  }

  std::uint64_t size_of(FunctionId id, unsigned at, bool& wide) {
    const std::uint32_t before = access_.read(id, at, 4);
    wide = (before & 7) == 4;
    access_.write(id, at, 4, ~0u);
    std::uint64_t mask = access_.read(id, at, 4) & ~0xfu;
    if (wide) {
      access_.write(id, at + 4, 4, ~0u);
      mask |= std::uint64_t{access_.read(id, at + 4, 4)} << 32;
    } else if (mask) {
      mask |= 0xffffffff00000000;
    }
    return mask ? ~mask + 1 : 0;
  }

  void place_bars(Found& one) {
    for (unsigned bar = 0; bar < 6; ++bar) {
      const unsigned at = kBar0 + 4 * bar;
      bool wide = false;
      const std::uint64_t size = size_of(one.id, at, wide);
      one.bars.emplace_back(0, size);
      if (!size) continue;
      next_ = (next_ + size - 1) / size * size;
      if (next_ > end_ || size > end_ - next_) {
        if (error.empty())
          error = fmt::format("BAR {} of {:02x}:{:02x}.{} wants {} and the window has {} left", bar,
                              one.id.bus(), one.id.device(), one.id.function(), with_commas(size),
                              with_commas(next_ > end_ ? 0 : end_ - next_));
        return;
      }
      access_.write(one.id, at, 4, static_cast<std::uint32_t>(next_));
      if (wide) access_.write(one.id, at + 4, 4, static_cast<std::uint32_t>(next_ >> 32));
      one.bars.back().first = next_;
      next_ += size;
      if (wide) {
        one.bars.emplace_back(0, 0);
        ++bar;
      }
    }
  }

  const ConfigAccess& access_;
  std::uint64_t next_, end_;
  unsigned last_bus_ = 0;
};

/// The part of a tree on one bus, as `lspci -tv` draws it: `indent` is what stands before it.
void draw(const std::vector<Found>& found, std::size_t parent, const std::string& indent, std::string& line,
          std::string& out, const std::function<std::string(FunctionId)>& name) {
  std::vector<std::size_t> here;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].parent == parent) here.push_back(i);
  if (here.empty()) {
    out += line + "\n";
    return;
  }
  for (std::size_t n = 0; n < here.size(); ++n) {
    const Found& one = found[here[n]];
    const bool last = n + 1 == here.size();
    std::string text = (n == 0 ? line : indent) +
                       (here.size() == 1 ? "--"
                        : n == 0         ? "+-"
                        : last           ? "\\-"
                                         : "+-") +
                       fmt::format("{:02x}.{}", one.id.device(), one.id.function());
    if (!one.bridge) {
      out += text + "  " + name(one.id) + "\n";
      continue;
    }
    text += one.secondary == one.subordinate
                ? fmt::format("-[{:02x}]--", one.secondary)
                : fmt::format("-[{:02x}-{:02x}]--", one.secondary, one.subordinate);
    const bool more = !last;
    std::string below = indent + (more ? "|" : " ");
    below += std::string(text.size() - below.size(), ' ');
    draw(found, here[n], below, text, out, name);
  }
}

}  // namespace

std::vector<Found> enumerate(const ConfigAccess& access, std::uint64_t memory, std::uint64_t size,
                             std::string& error) {
  Enumeration run(access, memory, size);
  run.scan(0, Tree::kNone);
  run.place(Tree::kNone);
  run.set_payloads();
  run.enable();
  error = run.error;
  return run.found;
}

std::string tree_text(unsigned domain, const std::vector<Found>& found,
                      const std::function<std::string(FunctionId)>& name) {
  std::string out, line = fmt::format("-[{:04x}:00]-", domain);
  draw(found, Tree::kNone, std::string(line.size(), ' '), line, out, name);
  return out;
}

std::string hex_text(unsigned domain, const std::vector<Found>& found, const ConfigAccess& access,
                     const std::function<std::string(FunctionId)>& name) {
  std::string out;
  for (const Found& one : found) {
    out += fmt::format("{:04x}:{:02x}:{:02x}.{} {}\n", domain, one.id.bus(), one.id.device(),
                       one.id.function(), name(one.id));
    for (unsigned at = 0; at < 256; at += 16) {
      out += fmt::format("{:02x}:", at);
      for (unsigned i = 0; i < 16; ++i) out += fmt::format(" {:02x}", access.read(one.id, at + i, 1));
      out += "\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace weft::pcie
