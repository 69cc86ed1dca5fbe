#include "host/storage_tiers.hpp"

#include <algorithm>
#include <filesystem>

namespace weft::host {

namespace fs = std::filesystem;

namespace {

/// Names of files below a folder, in order; "" is the mount point itself.
std::vector<std::string> files_below(const std::string& root, const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::recursive_directory_iterator each(fs::path(root) / folder, failed), end; each != end;
       each.increment(failed))
    if (each->is_regular_file(failed) && !each->is_symlink(failed))
      out.push_back(each->path().lexically_relative(root).string());
  std::sort(out.begin(), out.end());
  return out;
}

struct File {
  std::uint64_t number, size;
};

std::vector<File> files(storage::Tree& tree, const std::string& folder) {
  std::vector<File> out;
  for (const std::string& name : files_below(tree.path(), folder)) {
    struct stat facts {};
    if (tree.status(name, false, facts) == 0)
      out.push_back({facts.st_ino, static_cast<std::uint64_t>(facts.st_size)});
  }
  return out;
}

/// When it has come.
Time fetch_all(StorageCalls& storage, nic::Fabric& fabric) {
  storage::BurstBuffer& buffer = *storage.buffer();
  const std::vector<File> found = files(storage.tree(), storage.options().stage_in);
  const std::uint64_t block = buffer.block_bytes();
  std::uint64_t all = 0, done = 0;
  for (const File& file : found) all += (file.size + block - 1) / block;
  std::vector<network::EndpointId> nodes = storage.nodes();
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  // In equal parts that follow each other: files of equal size, one for each rank, come to their ranks.
  for (const File& file : found)
    for (std::uint64_t i = 0; i * block < file.size; ++i, ++done)
      buffer.stage_in(nodes[done * nodes.size() / all], file.number, i, file.size);
  while (buffer.busy() && !fabric.idle()) fabric.advance(network::kForever);
  return buffer.counters().stage_in = fabric.now();
}

/// When all of it, or what was asked for, is with the servers.
Time flush(StorageCalls& storage, nic::Fabric& fabric) {
  storage::BurstBuffer& buffer = *storage.buffer();
  std::vector<File> awaited;
  if (storage.options().stages_out) {
    awaited = files(storage.tree(), storage.options().stage_out);
    for (const File& file : awaited) buffer.flush_file(file.number);
  } else {
    buffer.flush_all();
  }
  auto waits = [&] {
    if (!storage.options().stages_out) return buffer.busy();
    return std::any_of(awaited.begin(), awaited.end(),
                       [&](const File& file) { return buffer.file_is_dirty(file.number); });
  };
  const Time cut = storage.options().power_cut;
  while (waits() && !fabric.idle() && fabric.now() < cut) fabric.advance(std::min(network::kForever, cut));
  return buffer.counters().last_flush;
}

}  // namespace

bool has_storage(const StorageOptions& options, const Neighbours* neighbours) {
  return !options.mount.empty() && (!neighbours || !neighbours->file_users().empty());
}

std::unique_ptr<StorageCalls> make_storage(const machine::Machine& machine, nic::Fabric& fabric,
                                           event::EventQueue& queue, const StorageRanks& ranks,
                                           const RunOptions& options, Neighbours* neighbours) {
  std::vector<network::EndpointId> users = options.place;
  if (neighbours)
    for (network::EndpointId node : neighbours->file_users()) users.push_back(node);
  auto storage = std::make_unique<StorageCalls>(machine, fabric, queue, ranks, options.storage,
                                                std::move(users), ranks.segments->front()->header().epoch);
  if (neighbours) neighbours->use_files(*storage, ranks.count);
  return storage;
}

storage::Figures storage_figures(StorageCalls& storage) {
  storage::Figures out;
  const storage::Service* service = storage.service();
  if (!service) return out;
  const storage::BurstBuffer* buffer = storage.buffer();
  const storage::ServerId first = service->layout().targets() + 1;
  const storage::ServerId last = storage.memory().exists() ? first : service->servers();
  for (storage::ServerId i = 0; i < last; ++i)
    out.servers.push_back({i == storage::kMetadata ? "metadata"
                           : i < first             ? "target " + std::to_string(i)
                                                   : "buffer",
                           service->node_of(i), service->counters(i)});
  out.repeated = service->repeated();
  for (const storage::NodeCache& cache : storage.memory().all()) {
    out.cache_bytes = storage.options().cache.bytes;
    out.cache_hits += cache.hits;
    out.cache_misses += cache.misses;
    out.cache_bytes_hit += cache.bytes_hit;
    out.cache_bytes_flushed += cache.bytes_flushed;
  }
  if (buffer) {
    out.buffer_bytes = buffer->bytes();
    out.buffer = buffer->counters();
  }
  return out;
}

void stage_in(StorageCalls& storage, nic::Fabric& fabric, const Segments& segments, Scheduler& scheduler) {
  if (!storage.options().stages_in || !storage.use() || !storage.buffer()) return;
  const Time staged = fetch_all(storage, fabric);
  for (std::uint32_t rank = 0; rank < segments.size(); ++rank) {
    segments[rank]->thread(0).clock.store(staged.value, std::memory_order_relaxed);
    scheduler.hold_until({rank, 0}, staged);
  }
}

void end_storage(StorageCalls& storage, nic::Fabric& fabric, bool failed, RunResult& result) {
  const Time ranks_end = result.end;
  storage.write_all_back();
  if (!failed && storage.buffer()) result.end = std::max(result.end, flush(storage, fabric));
  result.storage = storage_figures(storage);
  result.storage.ranks_end = ranks_end;
}

}  // namespace weft::host
