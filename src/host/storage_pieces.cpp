#include "host/storage_pieces.hpp"

#include <algorithm>

namespace weft::host {

using storage::Piece;
using storage::Work;

void cut_into_pieces(const StorageServers& servers, Work work, const storage::Inode& inode,
                     storage::Extents::Range bytes, std::vector<Piece>& out) {
  const storage::Layout& layout = servers.service.layout();
  const storage::BurstBuffer* tier = servers.tier;
  const std::uint64_t most = std::min(servers.service.transfer(), layout.unit());
  const std::uint32_t copies = work == Work::Write && !tier ? layout.replicas() : 1;
  for (std::uint64_t offset = bytes.begin; offset < bytes.end;) {
    const std::uint64_t unit = offset / layout.unit(), limit = (unit + 1) * layout.unit();
    const std::uint64_t block = tier ? tier->block_bytes() - offset % tier->block_bytes() : most;
    const std::uint64_t part = std::min({most, block, limit - offset, bytes.end - offset});
    for (std::uint32_t copy = 0; copy < copies; ++copy)
      out.push_back({work, layout.target(inode.number, unit, copy), inode.number, offset, part, copy});
    offset += part;
  }
}

void flushes_of(const storage::Inode& inode, bool names_changed, std::vector<Piece>& out) {
  for (std::size_t server = 1; server < inode.taken.size(); ++server)
    if (inode.taken[server] > inode.flushed[server])
      out.push_back({.work = Work::Flush, .server = static_cast<storage::ServerId>(server)});
  if (!out.empty() || names_changed) out.push_back({.work = Work::Flush});  // size and names
}

}  // namespace weft::host
