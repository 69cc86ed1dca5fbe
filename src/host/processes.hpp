// Ranks as operating system processes: started, watched, ended.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::host {

struct Launch {
  std::vector<std::string> command;
  std::string library;  // preloaded into every rank
  int segment = -1, bell = -1;
  int calls = -1;  // log of calls to MPI; -1: none is kept
  int out = -1, error = -1;
  int kept = -1;  // another file it has open
  unsigned rank = 0, ranks = 0;
  std::vector<std::pair<std::string, std::string>> environment;  // besides what is there
  std::atomic<std::int32_t>* owner = nullptr;  // in the segment: the new process writes its number there
};

/// How a process ended.
struct Ending {
  int code = 0;    // exit code
  int signal = 0;  // or the signal that ended it
  bool fine() const { return code == 0 && signal == 0; }
  std::string text() const;
};

/// The program's file, by PATH as a shell finds it; throws UserError where there is none.
std::string find_program(const std::string& name);

/// Would it run with rights that this user has not (setuid, setgid, capabilities)? Ranks never do.
bool has_other_rights(const std::string& program);

pid_t start(const std::string& program, const Launch& launch);
/// Its ending, or nothing while it lives.
std::optional<Ending> ending_of(pid_t process);
/// Ends a rank and its group.
void kill_rank(pid_t process);
/// From now on, what the ranks' processes leave behind becomes a child of this one. Returns the children it
/// has already.
std::vector<pid_t> adopt_orphans();
/// Ends all children but these, and what they started.
void kill_orphans(const std::vector<pid_t>& but);

/// Is `process` the rank's own or one that it started, however far down?
bool belongs_to(pid_t process, pid_t rank);
unsigned threads_of(pid_t process);

/// How the system has a thread.
struct SystemThread {
  bool asleep = false;
  std::uint64_t switches = 0;  // changes whenever it has run
  bool operator==(const SystemThread&) const = default;
};
SystemThread system_thread(pid_t process, pid_t thread);
/// The same of all threads there are, by number.
std::vector<std::pair<pid_t, SystemThread>> system_threads(pid_t process);
/// Does it wait for a word of memory to change, as in a lock, a condition or a barrier?
bool waits_for_memory(pid_t process, pid_t thread);

/// What a thread does, as the system sees it.
struct Activity {
  enum Kind { Computes, Sleeps, Stopped, Stuck, Gone } kind = Gone;
  long call = -1;  // the system call it is in, where known
};
Activity activity_of(pid_t process, pid_t thread);
/// "computes", "is stopped by a signal", "waits in accept"...
std::string activity_text(const Activity& activity);
std::string system_call_name(long number);
/// Processor time of a thread, nanoseconds; 0 where the system does not say.
std::uint64_t processor_time(pid_t process, pid_t thread);

/// Asks a thread whether it waits for memory to change (kPoke).
void poke(pid_t process, pid_t thread, bool hard);

/// The same file as a process has open by that number; -1 where it has none, or the system does not allow it.
int borrow_file(pid_t process, int file);

bool read_memory(pid_t process, std::uint64_t address, void* to, std::uint64_t length);
bool write_memory(pid_t process, std::uint64_t address, const void* from, std::uint64_t length);

}  // namespace weft::host
