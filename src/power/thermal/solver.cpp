#include "power/thermal/solver.hpp"

#include <cvode/cvode.h>
#include <fmt/format.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <algorithm>
#include <stdexcept>

#include "base/check.hpp"

namespace weft::power::thermal {

struct Solver::Parts {
  Derivative derivative;
  SUNContext context = nullptr;
  N_Vector state = nullptr, absolute = nullptr;
  SUNMatrix matrix = nullptr;
  SUNLinearSolver linear = nullptr;
  void* cvode = nullptr;
  long steps_before = 0;

  ~Parts() {
    CVodeFree(&cvode);
    SUNLinSolFree(linear);
    SUNMatDestroy(matrix);
    N_VDestroy(absolute);
    N_VDestroy(state);
    SUNContext_Free(&context);
  }
};

namespace {

void must(int result, const char* what) {
  WEFT_CHECK(result >= 0, fmt::format("{} failed: {}", what, result));
}

}  // namespace

Solver::Solver(Derivative derivative, std::vector<double> start, std::vector<double> absolute,
               double relative)
    : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  p.derivative = std::move(derivative);
  const auto size = static_cast<sunindextype>(start.size());
  must(SUNContext_Create(nullptr, &p.context), "SUNContext_Create");
  p.state = N_VNew_Serial(size, p.context);
  p.absolute = N_VNew_Serial(size, p.context);
  std::copy(start.begin(), start.end(), N_VGetArrayPointer(p.state));
  std::copy(absolute.begin(), absolute.end(), N_VGetArrayPointer(p.absolute));
  p.cvode = CVodeCreate(CV_BDF, p.context);
  WEFT_CHECK(p.cvode, "CVodeCreate failed");
  auto call = [](realtype, N_Vector y, N_Vector change, void* solver) {
    static_cast<Parts*>(solver)->derivative(N_VGetArrayPointer(y), N_VGetArrayPointer(change));
    return 0;
  };
  must(CVodeInit(p.cvode, call, 0, p.state), "CVodeInit");
  must(CVodeSetUserData(p.cvode, &p), "CVodeSetUserData");
  must(CVodeSVtolerances(p.cvode, relative, p.absolute), "CVodeSVtolerances");
  p.matrix = SUNDenseMatrix(size, size, p.context);
  p.linear = SUNLinSol_Dense(p.state, p.matrix, p.context);
  must(CVodeSetLinearSolver(p.cvode, p.linear, p.matrix), "CVodeSetLinearSolver");
  must(CVodeSetMaxNumSteps(p.cvode, 200'000), "CVodeSetMaxNumSteps");
  must(CVodeSetErrFile(p.cvode, nullptr), "CVodeSetErrFile");
}

Solver::~Solver() = default;

void Solver::advance(double until) {
  if (until <= now_) return;
  if (disturbed_) {
    long taken = 0;
    CVodeGetNumSteps(parts_->cvode, &taken);
    parts_->steps_before += taken;
    must(CVodeReInit(parts_->cvode, now_, parts_->state), "CVodeReInit");
    disturbed_ = false;
  }
  realtype reached = now_;
  const int result = CVode(parts_->cvode, until, parts_->state, &reached, CV_NORMAL);
  if (result < 0)
    throw std::runtime_error(
        fmt::format("the heat equations cannot be followed beyond {:.3f} s (CVODE: {})", reached, result));
  now_ = until;
}

void Solver::disturbed() { disturbed_ = true; }

void Solver::restart(double now, const std::vector<double>& state) {
  std::copy(state.begin(), state.end(), N_VGetArrayPointer(parts_->state));
  now_ = now;
  disturbed_ = true;
}

const double* Solver::state() const { return N_VGetArrayPointer(parts_->state); }

long Solver::steps() const {
  long taken = 0;
  CVodeGetNumSteps(parts_->cvode, &taken);
  return parts_->steps_before + taken;
}

}  // namespace weft::power::thermal
