//===- Operators.cpp - Operators for remote calls on a worker ---------------------------------===//
// torch's RPC runs operators of the namespace `aten` without Python. The names here contain the
// version of the interface between client and worker. Each returns one value.

#include "runtime/dist/Lock.h"
#include "runtime/dist/NumberedObjects.h"
#include "runtime/torch/rpc/Answer.h"
#include "runtime/torch/rpc/LocalOptimizer.h"
#include "runtime/torch/rpc/RemoteParameters.h"

#include <torch/library.h>

#include <memory>

using namespace updraft::torch_adapter;
namespace dist = updraft::dist;

namespace {
using LocalOptimizers = dist::NumberedObjects<LocalOptimizer>;

/// This worker's optimizers, by the numbers that their clients have chosen.
LocalOptimizers &optimizers() {
  // Never destroyed, because threads of the agent may outlive static objects.
  static auto *all = new LocalOptimizers;
  return *all;
}

std::shared_ptr<LocalOptimizer> optimizer(int64_t number) {
  std::shared_ptr<LocalOptimizer> found = optimizers().get(number);
  TORCH_CHECK_INDEX(found, "this worker has no optimizer ", number,
                    "; it was released, or the worker was restarted");
  return found;
}

template <typename Params>
std::string make(int64_t number, const std::string &request, const Params &params) {
  std::string parts;
  const LocalOptimizers::Outcome outcome = optimizers().add(number, [&] {
    const OptimizerRequest parsed = OptimizerRequest::parse(request);
    auto made = std::make_shared<LocalOptimizer>(parsed, params(parsed));
    // If it is gone, nobody can ask for the contexts that it applied.
    if (const auto replaced = parsed.replaces ? optimizers().get(*parsed.replaces) : nullptr)
      made->replace(*replaced);
    parts = made->parts();
    return made;
  });
  TORCH_CHECK(outcome != LocalOptimizers::Outcome::Released, "optimizer ", number,
              " was released before it was created");
  TORCH_CHECK_VALUE(outcome == LocalOptimizers::Outcome::Made, "this worker has an optimizer ",
                    number, " already");
  return parts;
}

std::string create(int64_t number, const std::string &request,
                   const std::vector<int64_t> &createdOn, const std::vector<int64_t> &localIds) {
  return answering(__func__, [&] {
    return make(number, request, [&](const OptimizerRequest &parsed) {
      return ownedTensors(createdOn, localIds, parsed.paramNames());
    });
  });
}

std::string createHere(int64_t number, const std::string &request,
                       const std::vector<at::Tensor> &params) {
  return answering(__func__, [&] {
    return make(number, request, [&](const OptimizerRequest &) { return params; });
  });
}

int64_t step(int64_t number, int64_t context, int64_t before, const std::vector<double> &hypers) {
  return answering(__func__, [&] { return optimizer(number)->step(context, before, hypers); });
}

c10::Dict<std::string, at::Tensor> states(int64_t number) {
  return answering(__func__, [&] { return optimizer(number)->states(); });
}

int64_t loadStates(int64_t number, const c10::Dict<std::string, at::Tensor> &states,
                   const std::vector<std::string> &optional) {
  return answering(__func__, [&] {
    optimizer(number)->loadStates(states, optional);
    return int64_t(0);
  });
}

std::vector<at::Tensor> copies(const std::vector<int64_t> &createdOn,
                               const std::vector<int64_t> &localIds,
                               const std::vector<int64_t> &numbers) {
  return answering(__func__, [&] {
    std::vector<std::string> names;
    names.reserve(numbers.size());
    for (int64_t number : numbers)
      names.push_back("parameter " + std::to_string(number));
    return copiesOf(ownedTensors(createdOn, localIds, names));
  });
}

int64_t await(const std::vector<int64_t> &createdOn, const std::vector<int64_t> &localIds,
              double seconds) {
  return answering(__func__, [&] { return awaitOwned(createdOn, localIds, seconds); });
}

int64_t release(int64_t number) {
  return answering(__func__, [&] {
    optimizers().release(number);
    return int64_t(0);
  });
}

void rrefId(const c10::OperatorHandle &, c10::Stack *stack) {
  const RRefNumber id = numberOf(torch::jit::pop(*stack));
  torch::jit::push(*stack, c10::List<int64_t>({id.createdOn, id.localId}));
}

void awaitMadeOf(const c10::OperatorHandle &, c10::Stack *stack) {
  awaitMade(torch::jit::pop(*stack).toListRef().vec());
}
} // namespace

TORCH_LIBRARY_FRAGMENT(aten, library) {
  library.def("_updraft_1_create(int optimizer, str request, int[] created_on, int[] local_ids) "
              "-> str",
              create);
  library.def("_updraft_1_step(int optimizer, int context, int before, float[] hypers) -> int",
              step);
  library.def("_updraft_1_states(int optimizer) -> Dict(str, Tensor)", states);
  library.def("_updraft_1_load_states(int optimizer, Dict(str, Tensor) states, str[] optional) "
              "-> int",
              loadStates);
  library.def("_updraft_1_copies(int[] created_on, int[] local_ids, int[] numbers) -> Tensor[]",
              copies);
  library.def("_updraft_1_await(int[] created_on, int[] local_ids, float seconds) -> int", await);
  library.def("_updraft_1_release(int optimizer) -> int", release);
  library.def("_updraft_1_lock_wait() -> int", updraft::dist::lockWait);
}

TORCH_LIBRARY_FRAGMENT(updraft, library) {
  library.def("create_here(int optimizer, str request, Tensor[] params) -> str", createHere);
  library.def("copies_here(Tensor[] params) -> Tensor[]", copiesOf);
  library.def("rref_id(RRef(Tensor) rref) -> int[]",
              torch::CppFunction::makeFromBoxedFunction<&rrefId>());
  library.def("await_made(RRef(Tensor)[] rrefs) -> ()",
              torch::CppFunction::makeFromBoxedFunction<&awaitMadeOf>());
}
