// A kernel as a process of the host: started, watched, ended. Its processes are traced by it and end with it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "guest/socket.hpp"

namespace weft::guest {

struct KernelLaunch {
  std::string kernel;                  // its file
  std::vector<std::string> arguments;  // its command line
  std::string folder;                  // that it starts in
  std::uint64_t seed = 0;              // of all its randomness
  bool has_input = false;              // of its console
  bool has_line = false;               // to its agent: kLine of the kernel
};

struct KernelEnding {
  int code = 0, signal = 0;
};

class KernelProcess {
 public:
  KernelProcess() = default;
  ~KernelProcess() { end(); }
  KernelProcess(const KernelProcess&) = delete;
  KernelProcess& operator=(const KernelProcess&) = delete;

  /// Throws UserError where it cannot be started.
  void start(const KernelLaunch& launch);
  bool started() const { return process_ > 0; }
  pid_t process() const { return process_; }
  /// What it prints, without waiting.
  int console() const { return console_.number(); }
  /// What is typed on its console is written there, where it has an input; -1 where it has none.
  int input() const { return input_.number(); }
  /// The line to its agent, without waiting; -1 where it has none.
  int line() const { return line_.number(); }
  static constexpr int kLine = 3;  // its number in the kernel
  /// How it ended, or nothing while it lives.
  std::optional<KernelEnding> ending();
  /// Ends it and all that it started, and waits until it is gone.
  void end();

  /// Processor time of the kernel and of all its processes, in seconds.
  double processor_time() const;
  /// Most memory it has had, bytes, where it has ended.
  std::uint64_t peak_memory() const { return peak_memory_; }

 private:
  void reaped(int status);
  pid_t process_ = -1;
  File console_, input_, line_;
  std::optional<KernelEnding> ending_;
  std::uint64_t peak_memory_ = 0;
};

}  // namespace weft::guest
