// What each rank does, and what must be done before: computing, sending and receiving, as a graph of steps.
//
// Steps of a rank start as soon as the steps they depend on have ended (or have started). A send ends when
// its last byte has left, a receive when the message it matches has arrived; the k-th message from one rank
// to another with one tag matches the k-th receive for it. Collectives and skeletons are made of these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/quantity.hpp"

namespace weft::workload {

struct InterfaceTimes;

using Rank = std::uint32_t;
using Step = std::uint32_t;  // within a rank

struct Operation {
  enum class Kind : std::uint8_t { Compute, Send, Receive, Join, Delay };
  Kind kind = Kind::Join;
  bool by_interface = false;  // of sends and receives: the rank's processor has no part in it
  Rank peer = 0;              // of sends and receives
  std::uint32_t tag = 0;      // of sends and receives
  std::uint64_t amount = 0;   // bytes, or picoseconds of computing or delay
};

struct Dependency {
  Step on;
  bool started = false;  // it is enough that the other step has started
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// A collective that is made of steps of a program, as recordings name them.
struct Collective {
  enum class Kind : std::uint8_t { Barrier, Broadcast, Reduce, AllReduce };
  Kind kind = Kind::Barrier;
  bool combines = true;     // units of interfaces have its type and operation; of reduces
  bool whole = true;        // all its messages are among its steps
  std::uint32_t group = 0;  // its members: Program::groups
  std::uint32_t root = 0;   // by its place in the group; of broadcasts and reduces
  std::uint64_t bytes = 0;
  friend bool operator==(const Collective&, const Collective&) = default;
};

/// The steps of all ranks in flat arrays; step s of rank r is operation begin[r] + s.
struct Program {
  std::string name;
  std::vector<std::uint64_t> begin{0};
  std::vector<Operation> operations;
  std::vector<std::uint64_t> dependency_begin{0};  // by operation
  std::vector<Dependency> dependencies;
  std::string source;                // the file it comes from, if any
  std::vector<std::uint32_t> lines;  // by operation: where in the file; may be empty

  // Collectives that are known. Of a collective's steps in a member, the first wait is where it begins there,
  // the last where it has ended; computing and waits in between, and its messages wherever they are.
  std::vector<std::vector<Rank>> groups;
  std::vector<Collective> collectives;
  std::vector<std::uint32_t> collective_of;  // by operation: one more than its collective's number, or 0;
                                             // empty: there are none

  Rank ranks() const { return static_cast<Rank>(begin.size() - 1); }
  std::uint32_t steps(Rank r) const { return static_cast<std::uint32_t>(begin[r + 1] - begin[r]); }
  Rank rank_of(std::uint64_t operation) const;
  /// "rank 3, step 7 (receive 64 bytes from rank 2, tag 0)"
  std::string describe(std::uint64_t operation) const;
  std::uint64_t bytes_sent() const;
  std::uint64_t messages() const;
};

/// Throws UserError with what is wrong: ranks that do not exist, steps that wait for each other, a receive
/// nobody sends for, a message nobody receives.
void check(const Program& program);

/// Several programs side by side as one: the ranks of each follow those of the one before.
Program side_by_side(const std::vector<Program>& programs);

/// Writes programs rank by rank. `send` and `receive` do not wait: they start after the last `wait` or
/// `compute` and go on beside what follows; `wait` waits for all of them.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Rank ranks) : scripts_(ranks) {}
  /// Goes on with the steps of a program; throws UserError where its tags leave none for others.
  explicit ProgramBuilder(const Program& program);

  Rank ranks() const { return static_cast<Rank>(scripts_.size()); }
  void compute(Rank r, Time time);
  void send(Rank r, Rank to, std::uint64_t bytes, std::uint32_t tag);
  void receive(Rank r, Rank from, std::uint64_t bytes, std::uint32_t tag);
  void wait(Rank r);
  /// Both at once, and waits for both.
  void exchange(Rank r, Rank to, Rank from, std::uint64_t bytes, std::uint32_t tag);

  // Steps of an interface: each starts after those named and goes on beside what the processor does.
  Step interface_delay(Rank r, const std::vector<Step>& after, Time time);
  Step interface_send(Rank r, Step after, Rank to, std::uint64_t bytes, std::uint32_t tag);
  Step interface_receive(Rank r, Rank from, std::uint64_t bytes, std::uint32_t tag);
  // In a program that is there already: what follows starts after a step; a step waits for what was built.
  void resume(Rank r, Step after) { scripts_[r].last = after; }
  void precede(Rank r, Step step) { scripts_[r].late.push_back({step, {scripts_[r].last}}); }
  /// The next `wait` waits for it, too.
  void await(Rank r, Step step) { scripts_[r].pending.push_back(step); }
  /// Where small collectives are the interfaces'; null: all are made of messages.
  const InterfaceTimes* interfaces = nullptr;

  /// A tag that no other part of the program uses.
  std::uint32_t new_tag() { return next_tag_++; }

  Program finish(std::string name) &&;

 private:
  struct Script {
    std::vector<Operation> operations;
    std::vector<std::uint32_t> dependency_begin{0};
    std::vector<Dependency> dependencies;
    static constexpr Step kNone = ~Step{0};
    Step last = kNone;          // what later steps start after
    std::vector<Step> pending;  // sends and receives not yet waited for
    struct Late {
      Step step;
      Dependency on;
    };
    std::vector<Late> late;  // what steps before wait for, too
  };
  Step add(Rank r, Operation operation);
  /// Throws UserError where a program grows beyond what memory holds.
  void count_step();

  std::vector<Script> scripts_;
  std::uint64_t steps_ = 0;
  std::uint32_t next_tag_ = 0;
};

}  // namespace weft::workload
