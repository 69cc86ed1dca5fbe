// Memory of all nodes of a job in front of the file system (storage/node_cache.hpp), and who has files open:
// a file that others must see at once is not kept where several nodes have it open and one of them writes.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "host/run.hpp"
#include "storage/node_cache.hpp"
#include "storage/service.hpp"
#include "storage/tree.hpp"

namespace weft::host {

class NodeMemory {
 public:
  NodeMemory(const StorageOptions::Cache& options, const std::vector<network::EndpointId>& node_of_rank,
             DataRate copy_rate)
      : options_(options), node_of_rank_(node_of_rank), copy_rate_(copy_rate) {}

  /// Makes it, with a server on each node by which it is told to forget. False where one has no room for
  /// that.
  bool make(storage::Service& service, storage::Tree& tree, const machine::StorageDeviceParameters& device);
  bool exists() const { return !caches_.empty(); }
  const std::vector<storage::NodeCache>& all() const { return caches_; }
  /// That of a rank's node; null where there is none.
  storage::NodeCache* of(std::uint32_t rank);
  /// Between it and a program.
  Time copying(std::uint64_t bytes) const;

  bool keeps(const storage::Inode& inode) const;
  void count_opener(storage::Inode& inode, std::uint32_t rank, int flags, int by);
  /// What others have changed since the node last looked is forgotten.
  void look(std::uint32_t rank, const storage::Inode& inode);
  /// A rank has opened a file: nodes that must be told that nobody keeps it any more.
  std::vector<storage::Piece> opened(std::uint32_t rank, const storage::Inode& inode);
  /// Data that a server has taken goes into a file. Other nodes may go on with what they have.
  std::int32_t write(storage::Inode& inode, std::uint32_t rank, const storage::Piece& piece,
                     std::span<const char> data, Time now);

 private:
  const StorageOptions::Cache options_;
  const std::vector<network::EndpointId>& node_of_rank_;
  DataRate copy_rate_;
  storage::Tree* tree_ = nullptr;
  std::vector<storage::NodeCache> caches_;
  std::map<network::EndpointId, std::uint32_t> index_;  // by node
  storage::ServerId first_ = 0, servers_ = 0;
};

}  // namespace weft::host
