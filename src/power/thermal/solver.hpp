// Differential equations through time, by SUNDIALS' CVODE: stiff, with steps as long as the error allows.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace weft::power::thermal {

class Solver {
 public:
  using Derivative = std::function<void(const double* state, double* change)>;

  /// `relative`: the error that may be made of each state, besides its absolute tolerance.
  Solver(Derivative derivative, std::vector<double> start, std::vector<double> absolute, double relative);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// To a later time, in seconds; throws std::runtime_error where the equations cannot be followed.
  void advance(double until);
  /// Something has changed at once: history before now says nothing about what comes.
  void disturbed();
  /// From this state on, at this time.
  void restart(double now, const std::vector<double>& state);
  const double* state() const;
  double now() const { return now_; }
  long steps() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  double now_ = 0;
  bool disturbed_ = false;
};

}  // namespace weft::power::thermal
