// New routes after a failure, by the same registers: found, computed, proved, and written beside the old
// ones.
//
// Every router gets the new table as its second one while packets go by the first. Then interfaces are told
// to hold, what is under way comes to its end, and they go on by the second. So no packet ever goes by both,
// and no two packets that are under way go by different ones: what was proved for each table alone is enough.
// A manager that dies leaves tables nobody uses, or interfaces that hold, and the next one begins again.
#pragma once

#include "manage/tables.hpp"
#include "routing/reroute.hpp"

namespace weft::manage {

struct Recovery {
  std::string routing;        // that serves what is left
  std::uint64_t cut_off = 0;  // pairs for which no way is left
  bool proved = false;
  bool complete = false;          // not: the manager died
  Time detect{0}, write{0};       // virtual time, until it knew what is left; of all its writes
  double compute = 0, prove = 0;  // seconds of the manager's processor
  std::uint64_t reads = 0, writes = 0;
  TableReport tables;                                   // `pairs` and `undelivered` as it is at the end
  std::vector<std::pair<EndpointId, EndpointId>> lost;  // the first that are not delivered
};

class RecoveringManager {
 public:
  RecoveringManager(const machine::Machine& machine, Chips& chips, const Discovery& booted);

  /// Looks at links until something differs, finds out what is left, and brings the new routes there. Dies
  /// after so many writes of tables and interfaces.
  Recovery recover(std::uint64_t pairs, std::uint64_t most_writes = Budget::kUnlimited);
  /// Another node's manager: it knows the description and what it finds. Chips let the one do it that the
  /// manager before has named (Chips::name_successor).
  void take_over(EndpointId node);

 private:
  /// Routes, and what they were made for.
  struct Routes {
    std::unique_ptr<topology::Faults> faults;
    std::unique_ptr<routing::Routing> routing;
  };
  void notice();
  void read_all_links();
  std::unique_ptr<topology::Faults> faults_now() const;
  /// The table that all interfaces send by; nothing where they do not agree.
  std::optional<unsigned> table_in_use();
  bool write(const routing::Routing& routing, Budget& budget, Recovery& out);
  bool tell_interfaces(Chips::Sending sending, Budget& budget);

  const machine::Machine& machine_;
  const Graph& graph_;
  Chips& chips_;
  Discovery found_;
  ChipNumber next_;
  std::vector<std::uint64_t> links_;  // as last read; empty: it has never looked
  // What is in the table in use, as far as this manager knows.
  const routing::Routing* written_;
  Routes routes_;
  std::array<unsigned, 2> classes_;
};

}  // namespace weft::manage
