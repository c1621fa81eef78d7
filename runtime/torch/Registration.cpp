//===- Registration.cpp - The adapter's operators and classes in torch ------------------------===//
// Names contain the version of the interface, because a process may load an adapter of another
// version.

#include "runtime/torch/JointStep.h"
#include "runtime/torch/Library.h"
#include "runtime/torch/Orthogonalize.h"
#include "runtime/torch/rpc/PackagePolicy.h"
#include "runtime/torch/rpc/TensorLocks.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/library.h>
#include <torch/version.h>

using namespace updraft::torch_adapter;

namespace {
using Stepper = c10::intrusive_ptr<GroupStepper>;

void loadLibrary(const std::string &path) { Library::load(path); }
/// `rule` is the address of an upd_rule.
Stepper makeStepper(int64_t rule, const std::vector<at::Tensor> &params, std::vector<double> hypers,
                    std::string sparseRefusal, std::string denseRefusal, bool sparseAsDense,
                    std::vector<std::string> names, bool emulated, at::ScalarType countType) {
  // Operators can't take pointers. NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto *compiled = reinterpret_cast<upd_rule *>(static_cast<uintptr_t>(rule));
  return c10::make_intrusive<GroupStepper>(compiled, params, std::move(hypers),
                                           std::move(sparseRefusal), std::move(denseRefusal),
                                           sparseAsDense, std::move(names), emulated, countType);
}

int64_t addressOf(const c10::intrusive_ptr<JointStep> &step) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(step.get()));
}

std::string torchVersion() { return TORCH_VERSION; }
} // namespace

TORCH_LIBRARY(updraft, library) {
  library.def("load_library(str path) -> ()", loadLibrary);
  library.def("torch_version() -> str", torchVersion);
  library.def("orthogonalized(Tensor direction, float a, float b, float c, int steps, float eps) "
              "-> Tensor",
              orthogonalized);
  library.def("limit_packages(str public_key) -> ()",
              [](std::string key) { PackagePolicy::process().limitTo(std::move(key)); });
  library.class_<TensorLocks>("StorageLocks")
      .def(torch::init<std::vector<at::Tensor>>())
      .def("lock", &TensorLocks::lock)
      .def("unlock", &TensorLocks::unlock);
  library.class_<GroupStepper>("GroupStepper")
      .def(torch::init(makeStepper))
      .def("set_hypers", &GroupStepper::setHypers)
      .def("bind_hyper", &GroupStepper::bindHyper)
      .def("bind_found_inf", &GroupStepper::bindFoundInf)
      .def("set_random", &GroupStepper::setRandom)
      .def("prepare", [](const Stepper &stepper) { return stepper->lookAndPrepare(); })
      .def("apply", [](const Stepper &stepper) { return stepper->apply(/*countVersions=*/true); })
      .def("abandon", &GroupStepper::abandon)
      .def("set_probe_every", &GroupStepper::setProbeEvery)
      .def("read_probes", &GroupStepper::readProbes)
      .def("take_fresh", &GroupStepper::takeFresh)
      .def("has_state", &GroupStepper::hasState)
      .def("states", &GroupStepper::states)
      .def("step_counts", &GroupStepper::stepCounts)
      .def("bind_state", &GroupStepper::bindState)
      .def("bind_blocks", &GroupStepper::bindBlocks)
      .def("bind_step_count", &GroupStepper::bindStepCount)
      .def("set_step_count", &GroupStepper::setStepCount);
  library.class_<JointStep>("JointStep")
      .def(torch::init<std::vector<Stepper>>())
      .def("address", addressOf)
      .def("raise_refusal", &JointStep::raise);
}

/// Runs the JointStep at this address, and returns its outcome. Python calls it through ctypes with
/// the GIL held, which is faster than calling a method.
extern "C" __attribute__((visibility("default"))) int updraft_torch_step(JointStep *step) {
  return step->step();
}

/// Whether this thread's operators don't compute plain results: they create fake tensors, record a
/// graph or are batched.
static bool areTransformed() {
  using c10::DispatchKey;
  using c10::impl::TorchDispatchModeKey;
  using c10::impl::TorchDispatchModeTLS;
  constexpr c10::DispatchKeySet keys{DispatchKey::FuncTorchDynamicLayerFrontMode,
                                     DispatchKey::VmapMode, DispatchKey::Functionalize,
                                     DispatchKey::Tracer, DispatchKey::PreDispatch};
  if (!(c10::impl::tls_local_dispatch_key_set().included_ & keys).empty())
    return true;
  if (!TorchDispatchModeTLS::any_modes_set())
    return false;
  for (auto key :
       {TorchDispatchModeKey::FAKE, TorchDispatchModeKey::PROXY, TorchDispatchModeKey::FUNCTIONAL})
    if (TorchDispatchModeTLS::get_mode(key))
      return true;
  return false;
}

/// Returns the listeners of this thread's operators, as the bits named in `listeners.py`. Python
/// calls it through ctypes, which is faster than an operator. Thread-safe.
extern "C" __attribute__((visibility("default"))) int updraft_torch_listeners() {
  const bool profilers = at::hasCallbacks();
  const bool functionModes = at::impl::torch_function_mode_enabled();
  const bool dispatchModes =
      c10::impl::TorchDispatchModeTLS::any_modes_set(/*skip_infra_modes=*/true);
  return profilers | functionModes << 1 | dispatchModes << 2 | areTransformed() << 3;
}
