#include "guest/file_service.hpp"

namespace weft::guest {

void share_files(host::StorageCalls& files, std::uint32_t first,
                 const std::vector<std::unique_ptr<GuestNode>>& nodes, event::EventQueue& queue,
                 const machine::HostParameters& host, std::int64_t date,
                 const std::function<void(GuestNode& node)>& interrupt) {
  std::uint32_t user = first;
  for (const auto& each : nodes) {
    GuestNode& node = *each;
    node.files = std::make_unique<FileShare>(files, user++, queue, host, date);
    node.files->guest_time = [&node] { return node.calendar.updated(); };
    node.files->interrupt_guest = [&node, interrupt] { interrupt(node); };
  }
  files.on_other_answer = [&nodes, first](host::ThreadRef place, std::int32_t result, std::uint64_t answer,
                                          std::uint64_t, Time at) {
    nodes[place.rank - first]->files->answered(place.thread, result, answer, at);
  };
  files.on_lock_free = [&nodes] {
    for (const auto& node : nodes) node->files->lock_free();
  };
}

}  // namespace weft::guest
