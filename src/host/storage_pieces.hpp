// What servers have to do for a call, in pieces: by stripe unit and copy, by block of a burst buffer.
#pragma once

#include <vector>

#include "storage/burst_buffer.hpp"
#include "storage/extents.hpp"
#include "storage/inode.hpp"
#include "storage/service.hpp"

namespace weft::host {

struct StorageServers {
  const storage::Service& service;
  const storage::BurstBuffer* tier;  // where the job has one
};

void cut_into_pieces(const StorageServers& servers, storage::Work work, const storage::Inode& inode,
                     storage::Extents::Range bytes, std::vector<storage::Piece>& out);

/// Servers that took data of the file, and the one for metadata where that has changed; all the same where a
/// flush for somebody else is under way.
void flushes_of(const storage::Inode& inode, bool names_changed, std::vector<storage::Piece>& out);

}  // namespace weft::host
