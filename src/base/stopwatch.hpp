// Real time, by a clock that never goes back. Apart from <chrono>, which takes longer to read than most files
// that would include it for this.
#pragma once

namespace weft {

/// Since some moment before the program started.
double real_seconds();

/// Real time since it was made.
class Stopwatch {
 public:
  double seconds() const { return real_seconds() - start_; }

 private:
  double start_ = real_seconds();
};

}  // namespace weft
