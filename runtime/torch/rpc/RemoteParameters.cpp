//===- RemoteParameters.cpp - Parameters that a client names by its references ----------------===//

#include "runtime/torch/rpc/RemoteParameters.h"

#include <torch/csrc/distributed/rpc/rref_context.h>
#include <torch/csrc/distributed/rpc/rref_impl.h>

using namespace updraft::torch_adapter;
namespace rpc = torch::distributed::rpc;

RRefNumber updraft::torch_adapter::numberOf(const c10::IValue &value) {
  const auto rref = c10::static_intrusive_pointer_cast<rpc::RRef>(value.toRRef());
  const rpc::RRefId &id = rref->rrefId();
  return {id.createdOn_, id.localId_};
}

static at::Tensor tensorOf(const c10::IValue &value, size_t place) {
  if (value.isTensor())
    return value.toTensor();
  if (value.isPyObject()) {
    auto object = value.toPyObjectHolder();
    try {
      return object->toIValue(c10::TensorType::get()).toTensor();
    } catch (const std::exception &) {
      TORCH_CHECK_TYPE(false, "parameter ", place, " is a reference to ", object->toStr(),
                       ", which is no tensor");
    }
  }
  TORCH_CHECK_TYPE(false, "parameter ", place, " is a reference to ", value.tagKind(),
                   ", which is no tensor");
  __builtin_unreachable();
}

std::vector<at::Tensor> updraft::torch_adapter::ownedTensors(const std::vector<int64_t> &createdOn,
                                                             const std::vector<int64_t> &localIds) {
  TORCH_CHECK_VALUE(createdOn.size() == localIds.size(), "there are ", createdOn.size(),
                    " workers for ", localIds.size(), " references");
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < createdOn.size(); ++i) {
    const rpc::RRefId id(static_cast<rpc::worker_id_t>(createdOn[i]),
                         static_cast<rpc::local_id_t>(localIds[i]));
    auto future = rpc::RRefContext::getInstance().getOwnerRRef(id);
    future->waitAndThrow();
    auto owner = c10::static_intrusive_pointer_cast<rpc::OwnerRRef>(future->constValue().toRRef());
    tensors.push_back(tensorOf(owner->getValue(), i));
  }
  return tensors;
}
