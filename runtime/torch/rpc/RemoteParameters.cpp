//===- RemoteParameters.cpp - Parameters that a client names by references --------------------===//

#include "runtime/torch/rpc/RemoteParameters.h"

#include "runtime/torch/rpc/Answer.h"
#include "runtime/torch/rpc/TensorLocks.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/rpc/rref_context.h>
#include <torch/csrc/distributed/rpc/rref_impl.h>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

using namespace updraft::torch_adapter;
namespace dist = updraft::dist;
namespace rpc = torch::distributed::rpc;

RRefNumber updraft::torch_adapter::numberOf(const c10::IValue &value) {
  const auto rref = c10::static_intrusive_pointer_cast<rpc::RRef>(value.toRRef());
  const rpc::RRefId &id = rref->rrefId();
  return {id.createdOn_, id.localId_};
}

static at::Tensor tensorOf(const c10::IValue &value, const std::string &name) {
  if (value.isTensor())
    return value.toTensor();
  if (value.isPyObject()) {
    const auto object = value.toPyObjectHolder();
    // The tensor for None is undefined.
    at::Tensor tensor;
    try {
      tensor = object->toIValue(c10::TensorType::get()).toTensor();
    } catch (const std::exception &) {
      tensor = at::Tensor();
    }
    TORCH_CHECK_TYPE(tensor.defined(), "expected ", name, " to refer to a tensor, got ",
                     object->toStr());
    return tensor;
  }
  TORCH_CHECK_TYPE(false, "expected ", name, " to refer to a tensor, got ", value.tagKind());
  __builtin_unreachable();
}

namespace {
/// Waits for futures with a timeout, which they don't support themselves.
class Waiting {
public:
  /// 0 means no limit.
  explicit Waiting(double seconds) {
    // Avoids overflow of the clock.
    constexpr double longest = 1e8;
    if (seconds > 0 && seconds < longest)
      deadline = std::chrono::steady_clock::now() +
                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                     std::chrono::duration<double>(seconds));
  }

  /// Whether the future has completed, possibly with an error.
  bool hasCome(rpc::JitFuture &future) const {
    if (!deadline)
      future.wait();
    if (future.completed())
      return true;
    // The future may complete after the wait has ended.
    auto done = std::make_shared<std::promise<void>>();
    future.addCallback([done](rpc::JitFuture &) { done->set_value(); }, /*uses_future=*/false);
    return done->get_future().wait_until(*deadline) != std::future_status::timeout;
  }

private:
  std::optional<std::chrono::steady_clock::time_point> deadline;
};
} // namespace

/// The longest wait for a reference in a request, in seconds. It blocks a thread of the worker.
static constexpr double longestWait = 1;

static rpc::RRefId idOf(int64_t createdOn, int64_t localId) {
  TORCH_CHECK_VALUE(std::in_range<rpc::worker_id_t>(createdOn) && createdOn >= 0,
                    "a reference came as one that worker ", createdOn,
                    " has made; workers count from 0 to ",
                    std::numeric_limits<rpc::worker_id_t>::max());
  return {static_cast<rpc::worker_id_t>(createdOn), static_cast<rpc::local_id_t>(localId)};
}

/// The owner's side of a reference when its value exists, or null.
static c10::intrusive_ptr<rpc::OwnerRRef> awaitValue(const rpc::RRefId &id,
                                                     const Waiting &waiting) {
  const auto known = rpc::RRefContext::getInstance().getOwnerRRef(id);
  if (!waiting.hasCome(*known))
    return nullptr;
  known->waitAndThrow();
  auto owner = c10::static_intrusive_pointer_cast<rpc::OwnerRRef>(known->constValue().toRRef());
  return waiting.hasCome(*owner->getFuture()) ? owner : nullptr;
}

int64_t updraft::torch_adapter::awaitOwned(const std::vector<int64_t> &createdOn,
                                           const std::vector<int64_t> &localIds, double seconds) {
  TORCH_CHECK_VALUE(createdOn.size() == localIds.size(), "there are ", createdOn.size(),
                    " workers for ", localIds.size(), " references");
  TORCH_CHECK_VALUE(seconds > 0, "a request waits ", seconds,
                    " seconds for references; give a number above 0");
  const Waiting waiting(std::min(seconds, longestWait));
  size_t come = 0;
  while (come < createdOn.size() && awaitValue(idOf(createdOn[come], localIds[come]), waiting))
    ++come;
  return static_cast<int64_t>(come);
}

std::vector<at::Tensor>
updraft::torch_adapter::ownedTensors(const std::vector<int64_t> &createdOn,
                                     const std::vector<int64_t> &localIds,
                                     const std::vector<std::string> &names) {
  TORCH_CHECK_VALUE(createdOn.size() == localIds.size() && createdOn.size() == names.size(),
                    "there are ", createdOn.size(), " workers for ", localIds.size(),
                    " references to ", names.size(), " parameters");
  const Waiting waiting(longestWait);
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < createdOn.size(); ++i) {
    const auto owner = awaitValue(idOf(createdOn[i], localIds[i]), waiting);
    if (!owner)
      throw TimeoutError(
          fmt::format("timed out after {} s waiting for {}: the call that creates it on this "
                      "worker has not finished, or was never requested",
                      longestWait, names[i]));
    owner->getFuture()->waitAndThrow();
    tensors.push_back(tensorOf(owner->getValue(), names[i]));
  }
  return tensors;
}

/// Most of the time that this worker's own calls may take, in seconds; 0 means no limit.
static double usualWait() {
  const std::chrono::duration<double> limit = rpc::RpcAgent::getCurrentRpcAgent()->getRpcTimeout();
  return 0.75 * limit.count();
}

void updraft::torch_adapter::awaitMade(const std::vector<c10::IValue> &rrefs) {
  if (!rpc::RpcAgent::isCurrentRpcAgentSet())
    return;
  const Waiting waiting(usualWait());
  for (const c10::IValue &value : rrefs) {
    const auto rref = c10::static_intrusive_pointer_cast<rpc::RRef>(value.toRRef());
    // Only the worker that requested the creation has one.
    if (const auto made = rref->getOwnerCreationFuture())
      waiting.hasCome(*made);
  }
}

std::vector<at::Tensor> updraft::torch_adapter::copiesOf(const std::vector<at::Tensor> &tensors) {
  c10::NoGradGuard unrecorded;
  std::vector<size_t> all(tensors.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<at::Tensor> copies;
  copies.reserve(tensors.size());
  const dist::StorageLocks locks(memoryOf(tensors));
  const dist::StorageLocks::Guard exclusive(locks, all);
  for (const at::Tensor &tensor : tensors)
    copies.push_back(tensor.detach().clone());
  return copies;
}
