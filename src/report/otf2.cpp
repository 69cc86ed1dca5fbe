#include "report/otf2.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "base/diagnostics.hpp"

namespace weft::report {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTicksPerSecond = 1'000'000'000'000;  // picoseconds, as everywhere
constexpr std::uint64_t kChunk = 1 << 20;
constexpr const char* kName = "traces";

void must(OTF2_ErrorCode code, const std::string& folder) {
  if (code != OTF2_SUCCESS)
    throw UserError(
        fmt::format("{}: the trace cannot be written: {}", folder, OTF2_Error_GetDescription(code)));
}

OTF2_FlushType keep_nothing(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
constexpr OTF2_FlushCallbacks kFlush{keep_nothing, nullptr};

OTF2_RegionRole role_of(abi::CallKind kind) {
  switch (kind) {
    case abi::CallKind::Message:
      return OTF2_REGION_ROLE_POINT2POINT;
    case abi::CallKind::Collective:
      return OTF2_REGION_ROLE_COLL_OTHER;
    case abi::CallKind::Window:
      return OTF2_REGION_ROLE_RMA;
    default:
      return OTF2_REGION_ROLE_FUNCTION;
  }
}

/// One event of a rank; in an archive they stand in the order of their times.
struct Event {
  enum Kind : std::uint8_t { Leave, Enter, Send, Receive } kind;
  std::int64_t at;
  std::uint32_t what = 0;  // the region, or the other rank
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
};

class Archive {
 public:
  Archive(const std::string& folder, const Otf2Run& run) : folder_(folder), run_(run) {
    archive_.reset(OTF2_Archive_Open(folder.c_str(), kName, OTF2_FILEMODE_WRITE, kChunk, 4 * kChunk,
                                     OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE));
    if (!archive_) throw UserError(fmt::format("{}: no trace can be written there", folder));
    must(OTF2_Archive_SetFlushCallbacks(archive_.get(), &kFlush, nullptr), folder_);
    must(OTF2_Archive_SetSerialCollectiveCallbacks(archive_.get()), folder_);
    must(OTF2_Archive_SetCreator(archive_.get(), "weft"), folder_);
  }

  void write() {
    must(OTF2_Archive_OpenEvtFiles(archive_.get()), folder_);
    collect();
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) write_events(rank);
    must(OTF2_Archive_CloseEvtFiles(archive_.get()), folder_);
    must(OTF2_Archive_OpenDefFiles(archive_.get()), folder_);
    for (std::uint32_t rank = 0; rank < ranks(); ++rank)
      must(OTF2_Archive_CloseDefWriter(archive_.get(), OTF2_Archive_GetDefWriter(archive_.get(), rank)),
           folder_);
    must(OTF2_Archive_CloseDefFiles(archive_.get()), folder_);
    define();
    must(OTF2_Archive_Close(archive_.release()), folder_);
  }

 private:
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(run_.nodes.size()); }

  void collect() {
    events_.resize(ranks());
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      std::int64_t left = 0;
      for (const abi::CallRecord& call : run_.calls[rank]) {
        if (call.thread != 0 || call.begin < left) continue;
        left = call.end;
        const auto region =
            regions_.try_emplace(call.call, static_cast<OTF2_RegionRef>(regions_.size())).first->second;
        events_[rank].push_back({Event::Enter, call.begin, region});
        events_[rank].push_back({Event::Leave, call.end, region});
      }
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // of messages, by pair
    for (const measure::Arrival& a : run_.arrivals) {
      if (a.from == a.to || a.from >= ranks() || a.to >= ranks()) continue;
      const std::uint32_t from = a.comes_back ? a.to : a.from, to = a.comes_back ? a.from : a.to;
      const std::uint32_t number = numbers[{from, to}]++;
      events_[from].push_back({Event::Send, a.begin, to, number, a.bytes});
      events_[to].push_back({Event::Receive, a.end, from, number, a.bytes});
    }
    // What is of one time stays in the order in which it was added: a call that took none is entered first.
    for (auto& all : events_)
      std::stable_sort(all.begin(), all.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  }

  void write_events(std::uint32_t rank) {
    OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive_.get(), rank);
    if (!writer) throw UserError(fmt::format("{}: no events can be written there", folder_));
    for (const Event& e : events_[rank]) {
      const auto at = static_cast<OTF2_TimeStamp>(std::max<std::int64_t>(0, e.at));
      switch (e.kind) {
        case Event::Enter:
          must(OTF2_EvtWriter_Enter(writer, nullptr, at, e.what), folder_);
          break;
        case Event::Leave:
          must(OTF2_EvtWriter_Leave(writer, nullptr, at, e.what), folder_);
          break;
        case Event::Send:
          must(OTF2_EvtWriter_MpiSend(writer, nullptr, at, e.what, 0, e.number, e.bytes), folder_);
          break;
        case Event::Receive:
          must(OTF2_EvtWriter_MpiRecv(writer, nullptr, at, e.what, 0, e.number, e.bytes), folder_);
      }
    }
    must(OTF2_Archive_CloseEvtWriter(archive_.get(), writer), folder_);
  }

  OTF2_StringRef text(const std::string& words) {
    const auto [at, is_new] = texts_.try_emplace(words, static_cast<OTF2_StringRef>(texts_.size()));
    if (is_new) must(OTF2_GlobalDefWriter_WriteString(definitions_, at->second, words.c_str()), folder_);
    return at->second;
  }

  void define() {
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_.get());
    if (!definitions_) throw UserError(fmt::format("{}: no definitions can be written there", folder_));
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(1, run_.end.value));
    must(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, kTicksPerSecond, 0, length,
                                                   OTF2_UNDEFINED_TIMESTAMP),
         folder_);
    text("");
    must(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, text(run_.machine), text("machine"),
                                                  OTF2_UNDEFINED_SYSTEM_TREE_NODE),
         folder_);
    std::map<std::uint32_t, OTF2_SystemTreeNodeRef> nodes;
    for (std::uint32_t node : run_.nodes) {
      const auto [at, is_new] =
          nodes.try_emplace(node, static_cast<OTF2_SystemTreeNodeRef>(nodes.size() + 1));
      if (is_new)
        must(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, at->second,
                                                      text(fmt::format("node {}", node)), text("node"), 0),
             folder_);
    }
    std::map<OTF2_RegionRef, std::uint16_t> in_order;
    for (const auto& [call, region] : regions_) in_order[region] = call;
    for (const auto& [region, call] : in_order) {
      const OTF2_StringRef name = text(abi::call_facts(call).name);
      must(OTF2_GlobalDefWriter_WriteRegion(definitions_, region, name, name, text(""),
                                            role_of(abi::call_facts(call).kind), OTF2_PARADIGM_MPI,
                                            OTF2_REGION_FLAG_NONE, text(""), 0, 0),
           folder_);
    }
    std::vector<std::uint64_t> members;
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      const OTF2_StringRef name = text(fmt::format("rank {}", rank));
      must(OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, rank, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                   nodes[run_.nodes[rank]], OTF2_UNDEFINED_LOCATION_GROUP),
           folder_);
      must(OTF2_GlobalDefWriter_WriteLocation(definitions_, rank, name, OTF2_LOCATION_TYPE_CPU_THREAD,
                                              events_[rank].size(), rank),
           folder_);
      members.push_back(rank);
    }
    define_world(members);
    must(OTF2_Archive_CloseGlobalDefWriter(archive_.get(), definitions_), folder_);
  }

  /// Messages belong to a communicator: here the one that everybody is in.
  void define_world(const std::vector<std::uint64_t>& members) {
    const auto count = static_cast<std::uint32_t>(members.size());
    must(OTF2_GlobalDefWriter_WriteGroup(definitions_, 0, text("ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                         OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, members.data()),
         folder_);
    must(OTF2_GlobalDefWriter_WriteGroup(definitions_, 1, text("world"), OTF2_GROUP_TYPE_COMM_GROUP,
                                         OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, members.data()),
         folder_);
    must(OTF2_GlobalDefWriter_WriteComm(definitions_, 0, text("MPI_COMM_WORLD"), 1, OTF2_UNDEFINED_COMM,
                                        OTF2_COMM_FLAG_NONE),
         folder_);
  }

  struct Close {
    void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
  };
  std::string folder_;
  const Otf2Run& run_;
  std::unique_ptr<OTF2_Archive, Close> archive_;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::map<std::string, OTF2_StringRef> texts_;
  std::map<std::uint16_t, OTF2_RegionRef> regions_;  // calls there are, numbered from 0 as readers want them
  std::vector<std::vector<Event>> events_;
};

}  // namespace

void check_otf2_folder(const std::string& folder) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_empty(folder, ignored))
    throw UserError(
        fmt::format("--otf2 {}: there is something already, and an archive is a folder of its own", folder));
}

void write_otf2(const std::string& folder, const Otf2Run& run) { Archive(folder, run).write(); }

}  // namespace weft::report
