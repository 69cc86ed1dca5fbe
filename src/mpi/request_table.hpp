// What was posted and is not done, by number.
#pragma once

#include "mpi/messages.hpp"

namespace weft::mpi {

class RequestTable {
 public:
  Request& begin(Request::Kind kind, std::uint32_t peer);
  /// Null where it has ended, or never was.
  Request* find(std::uint64_t id);
  void end(Request& request);

  std::size_t open() const { return open_; }
  std::size_t one_sided() const { return one_sided_; }
  /// Sends to a peer of which nothing is under way, the oldest first; until it is called again.
  const std::vector<Request*>& waiting_sends_to(std::uint32_t peer);

 private:
  std::vector<std::unique_ptr<Request>> requests_;  // by the lower part of their id
  std::vector<std::uint32_t> free_;
  std::vector<Request*> found_;
  std::uint64_t ever_ = 0;
  std::size_t open_ = 0, one_sided_ = 0;
};

}  // namespace weft::mpi
