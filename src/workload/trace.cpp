#include "workload/trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_file.hpp"
#include "base/output_file.hpp"
#include "base/virtual_time.hpp"
#include "workload/collective_spans.hpp"

namespace weft::workload {

namespace {

using Kind = Operation::Kind;

constexpr std::string_view kMagic = "WEFTRACE";
constexpr unsigned char kVersion = 1, kNamesCollectives = 2;  // the second is the first and more
constexpr std::uint64_t kMostRanks = 1u << 24, kMostSteps = 0xffff'fff0;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // of a message
constexpr std::size_t kChecksumBytes = 8;
constexpr std::uint64_t kByInterface = 8;           // with the kind of what a processor has no part in
constexpr std::uint64_t kOfCollective = 16;         // with the kind; what follows is the collective's number
constexpr std::uint64_t kCombines = 4, kWhole = 8;  // with the kind of a collective

/// FNV-1a: enough to notice a file that was cut or damaged; it keeps nobody from making one up.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  Program run() {
    if (!bytes_.starts_with(kMagic)) fail("it is not a trace of Weft");
    if (bytes_.size() < kMagic.size() + 1 + kChecksumBytes) fail("it is cut off");
    at_ = kMagic.size();
    const auto version = static_cast<unsigned char>(bytes_[at_++]);
    if (version < kVersion || version > kNamesCollectives)
      fail(fmt::format("it has version {}, and this Weft reads versions {} to {}", version, kVersion,
                       kNamesCollectives));
    names_ = version == kNamesCollectives;
    std::string_view sum = bytes_.substr(bytes_.size() - kChecksumBytes);
    bytes_.remove_suffix(kChecksumBytes);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < kChecksumBytes; ++i)
      expected |= std::uint64_t{static_cast<unsigned char>(sum[i])} << (8 * i);
    if (checksum(bytes_) != expected) fail("it is cut off or damaged: its checksum is wrong");

    Program p;
    p.source = p.name = source_;
    std::uint64_t ranks = get("ranks", kMostRanks);
    for (rank_ = 0; rank_ < ranks; ++rank_) {
      // A step takes two bytes at least, so a damaged number cannot ask for more memory than the file is
      // long.
      std::uint64_t steps = get("steps", std::min<std::uint64_t>(kMostSteps, bytes_.size() - at_));
      collective_ = 0;
      for (step_ = 0; step_ < steps; ++step_) step(p, ranks);
      p.begin.push_back(p.operations.size());
    }
    if (names_) collectives(p);
    if (at_ != bytes_.size()) fail("there is more after its end");
    return p;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError({{{source_, 0, 0}, "", fmt::format("at byte {}: {}", at_, what)}});
  }

  std::uint64_t get(const char* what, std::uint64_t most) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ >= bytes_.size()) fail(fmt::format("it ends within rank {}, step {} ({})", rank_, step_, what));
      auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift == 63 && byte > 1) fail(fmt::format("a number too large ({})", what));
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80)) break;
      if (shift == 63) fail(fmt::format("a number too long ({})", what));
    }
    if (value > most)
      fail(fmt::format("rank {}, step {}: {} is {}, and at most {} is possible", rank_, step_, what, value,
                       most));
    return value;
  }

  /// What remains of the file is at least as long as there are such.
  std::uint64_t get_count(const char* what) {
    return get(what, std::min<std::uint64_t>(kMostSteps, bytes_.size() - at_));
  }

  void collectives(Program& p) {
    for (std::uint64_t groups = get_count("groups"); groups > 0; --groups) {
      std::vector<Rank>& group = p.groups.emplace_back();
      for (std::uint64_t members = get_count("members"); members > 0; --members)
        group.push_back(static_cast<Rank>(get("member", p.ranks() - 1)));
      std::vector<Rank> sorted = group;
      std::sort(sorted.begin(), sorted.end());
      if (sorted.empty() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        fail("a group of ranks has none, or one of them twice");
    }
    for (std::uint64_t count = get_count("collectives"); count > 0; --count) {
      if (p.groups.empty()) fail("there are collectives, and no group of ranks");
      Collective c;
      const std::uint64_t kind = get("kind of a collective", kWhole | kCombines | 3);
      c.kind = static_cast<Collective::Kind>(kind & 3);
      c.combines = kind & kCombines;
      c.whole = kind & kWhole;
      c.group = static_cast<std::uint32_t>(get("group", p.groups.size() - 1));
      c.root = static_cast<std::uint32_t>(get("root", p.groups[c.group].size() - 1));
      c.bytes = get("bytes of a collective", kMostBytes);
      p.collectives.push_back(c);
    }
    for (std::uint32_t number : p.collective_of)
      if (number > p.collectives.size())
        fail(fmt::format("a step is of collective {}, and there are {}", number - 1, p.collectives.size()));
    if (p.collectives.empty()) p.collective_of.clear();
    static_cast<void>(CollectiveSpans(p));  // refuses what does not fit together
  }

  /// Steps of a rank are mostly of the same collective as those before, or of the next.
  std::uint32_t number_of_collective() {
    const std::uint64_t change = get("collective", 0x1'ffff'fffe);
    const std::uint64_t distance = change >> 1;
    if (change & 1 ? distance > collective_ : collective_ + distance >= kMostSteps)
      fail(fmt::format("rank {}, step {} is of a collective that cannot be", rank_, step_));
    collective_ = change & 1 ? collective_ - distance : collective_ + distance;
    return static_cast<std::uint32_t>(collective_ + 1);
  }

  void step(Program& p, std::uint64_t ranks) {
    Operation o;
    std::uint64_t kind =
        get("kind", (names_ ? kOfCollective : 0) | kByInterface | static_cast<std::uint64_t>(Kind::Delay));
    if (names_) p.collective_of.push_back(kind & kOfCollective ? number_of_collective() : 0);
    kind &= ~kOfCollective;
    o.by_interface = kind & kByInterface;
    o.kind = static_cast<Kind>(kind & ~kByInterface);
    if (o.kind > Kind::Delay || (o.by_interface && (o.kind == Kind::Compute || o.kind == Kind::Join)))
      fail(fmt::format("rank {}, step {}: there is no kind {}", rank_, step_, kind));
    if (o.kind != Kind::Join) {
      bool time = o.kind == Kind::Compute || o.kind == Kind::Delay;
      o.amount = get("amount", time ? static_cast<std::uint64_t>(kEndOfTime.value) : kMostBytes);
    }
    if (o.kind == Kind::Send || o.kind == Kind::Receive) {
      o.peer = static_cast<Rank>(get("peer", ranks - 1));
      o.tag = static_cast<std::uint32_t>(get("tag", 0xffff'ffff));
    }
    p.operations.push_back(o);
    std::uint64_t dependencies =
        get("dependencies", std::min<std::uint64_t>(kMostSteps, bytes_.size() - at_));
    for (std::uint64_t i = 0; i < dependencies; ++i) {
      std::uint64_t value = get("dependency", std::uint64_t{1} << 33);
      // The second bit says ahead; steps wait mostly for those just before them.
      std::uint64_t distance = value >> 2;
      bool ahead = value & 2;
      if (!ahead && distance > step_)
        fail(fmt::format("rank {}, step {} waits for a step before the first", rank_, step_));
      p.dependencies.push_back(
          {static_cast<Step>(ahead ? step_ + distance : step_ - distance), static_cast<bool>(value & 1)});
    }
    p.dependency_begin.push_back(p.dependencies.size());
  }

  std::string_view bytes_;
  std::string source_;
  std::size_t at_ = 0;
  std::uint64_t rank_ = 0, step_ = 0;
  std::uint64_t collective_ = 0;  // of the last step of the rank that was of one
  bool names_ = false;            // its collectives
};

void put_collectives(std::string& out, const Program& p) {
  put(out, p.groups.size());
  for (const std::vector<Rank>& group : p.groups) {
    put(out, group.size());
    for (Rank member : group) put(out, member);
  }
  put(out, p.collectives.size());
  for (const Collective& c : p.collectives) {
    put(out, static_cast<std::uint64_t>(c.kind) | (c.combines ? kCombines : 0) | (c.whole ? kWhole : 0));
    put(out, c.group);
    put(out, c.root);
    put(out, c.bytes);
  }
}

}  // namespace

std::string write_trace(const Program& p) {
  const bool names = !p.collectives.empty();
  std::string out(kMagic);
  out.push_back(static_cast<char>(names ? kNamesCollectives : kVersion));
  put(out, p.ranks());
  for (Rank r = 0; r < p.ranks(); ++r) {
    put(out, p.steps(r));
    std::uint32_t last = 1;  // collective
    for (Step s = 0; s < p.steps(r); ++s) {
      std::uint64_t i = p.begin[r] + s;
      const Operation& o = p.operations[i];
      const std::uint32_t number = names ? p.collective_of[i] : 0;
      put(out, static_cast<std::uint64_t>(o.kind) | (o.by_interface ? kByInterface : 0) |
                   (number ? kOfCollective : 0));
      if (number) {
        put(out, number < last ? std::uint64_t{last - number} << 1 | 1 : std::uint64_t{number - last} << 1);
        last = number;
      }
      if (o.kind != Kind::Join) put(out, o.amount);
      if (o.kind == Kind::Send || o.kind == Kind::Receive) {
        put(out, o.peer);
        put(out, o.tag);
      }
      put(out, p.dependency_begin[i + 1] - p.dependency_begin[i]);
      for (auto d = p.dependency_begin[i]; d < p.dependency_begin[i + 1]; ++d) {
        Step on = p.dependencies[d].on;
        bool ahead = on > s;
        std::uint64_t distance = ahead ? on - s : s - on;
        put(out, distance << 2 | std::uint64_t{ahead} << 1 | p.dependencies[d].started);
      }
    }
  }
  if (names) put_collectives(out, p);
  std::uint64_t sum = checksum(out);
  for (std::size_t i = 0; i < kChecksumBytes; ++i) out.push_back(static_cast<char>(sum >> (8 * i)));
  return out;
}

Program parse_trace(std::string_view bytes, const std::string& source) { return Reader(bytes, source).run(); }

void save_trace(const Program& program, const std::string& path) { write_file(path, write_trace(program)); }

Program load_trace(const std::string& path) { return parse_trace(read_file(path, kMostTraceBytes), path); }

}  // namespace weft::workload
