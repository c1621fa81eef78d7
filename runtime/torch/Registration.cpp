//===- Registration.cpp - What torch.ops and torch.classes have of the adapter ----------------===//
// Names have the version of the interface: a process may meet an adapter of another version.

#include "runtime/torch/JointStep.h"
#include "runtime/torch/Library.h"
#include "runtime/torch/rpc/TensorLocks.h"

#include <ATen/record_function.h>
#include <torch/library.h>
#include <torch/version.h>

using namespace updraft::torch_adapter;

namespace {
using Stepper = c10::intrusive_ptr<GroupStepper>;

void loadLibrary(const std::string &path) { Library::load(path); }
/// `rule` is the address of a upd_rule.
Stepper makeStepper(int64_t rule, std::vector<at::Tensor> params, std::vector<double> hypers,
                    std::string sparseRefusal, std::string denseRefusal, bool sparseAsDense,
                    bool emulated) {
  // Operators take no pointers. NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto *compiled = reinterpret_cast<upd_rule *>(static_cast<uintptr_t>(rule));
  return c10::make_intrusive<GroupStepper>(compiled, std::move(params), std::move(hypers),
                                           std::move(sparseRefusal), std::move(denseRefusal),
                                           sparseAsDense, std::vector<int64_t>(), emulated);
}

std::string torchVersion() { return TORCH_VERSION; }
} // namespace

TORCH_LIBRARY(updraft, library) {
  library.def("load_library(str path) -> ()", loadLibrary);
  library.def("torch_version() -> str", torchVersion);
  library.class_<TensorLocks>("StorageLocks")
      .def(torch::init<std::vector<at::Tensor>>())
      .def("lock", &TensorLocks::lock)
      .def("unlock", &TensorLocks::unlock);
  library.class_<GroupStepper>("GroupStepper")
      .def(torch::init(makeStepper))
      .def("set_hypers", &GroupStepper::setHypers)
      .def("read_hyper", &GroupStepper::readHyper)
      .def("set_found_inf", &GroupStepper::setFoundInf)
      .def("set_random", &GroupStepper::setRandom)
      .def("step", &GroupStepper::step)
      .def("prepare", [](const Stepper &stepper) { return stepper->prepare(); })
      .def("apply", [](const Stepper &stepper) { return stepper->apply(/*countVersions=*/true); })
      .def("abandon", &GroupStepper::abandon)
      .def("take_fresh", &GroupStepper::takeFresh)
      .def("has_state", &GroupStepper::hasState)
      .def("states", &GroupStepper::states)
      .def("step_counts", &GroupStepper::stepCounts)
      .def("bind_state", &GroupStepper::bindState)
      .def("bind_blocks", &GroupStepper::bindBlocks)
      .def("bind_step_count", &GroupStepper::bindStepCount);
  library.class_<JointStep>("JointStep")
      .def(torch::init<std::vector<Stepper>>())
      .def("step", &JointStep::step);
}

/// Whether anyone listens to at::RecordFunction. Called through ctypes, which is cheaper than an
/// operator; any thread.
extern "C" __attribute__((visibility("default"))) bool updraft_torch_has_observers() {
  return at::hasCallbacks();
}
