//===- Storage.cpp - Storage types of the tensors of a file -----------------------------------===//

#include "Storage.h"

#include "runtime/base/DType.h"

#include <fmt/format.h>

using namespace updraft::run;
using namespace updraft::runtime;

/// No request names a correction: it exists because of the tensor that it corrects.
Storage updraft::run::storageOf(const Parameter &parameter) {
  Storage storage{{"param", nameOf(parameter.param.dtype)}};
  if (parameter.grad)
    storage.emplace("grad", nameOf(parameter.grad->dtype));
  for (const auto &[name, tensor] : parameter.states)
    if (tensor.dtype != UPD_I8)
      storage.emplace(name, nameOf(tensor.dtype));
  for (const auto &[name, tensor] : parameter.states)
    if (tensor.dtype == UPD_I8)
      storage[*parameter.correctedBy(name)] = bf16Corrected;
  return storage;
}

const std::string *updraft::run::findDifference(const Storage &some, const Storage &others) {
  for (const auto &[name, type] : some)
    if (auto other = others.find(name); other != others.end() && other->second != type)
      return &name;
  return nullptr;
}

Status updraft::run::checkRequest(const Storage &request, const std::string &name,
                                  const Parameter &parameter) {
  for (const auto &[tensor, type] : storageOf(parameter)) {
    const auto wanted = request.find(tensor);
    if (wanted == request.end() || wanted->second == type)
      continue;
    const bool isRounding = wanted->second == "bf16_stochastic" || wanted->second == bf16Corrected;
    if (isRounding && type == nameOf(UPD_BF16))
      continue;
    const bool isState = tensor != "param" && tensor != "grad";
    return invalidArgument(fmt::format(
        "`--storage {}={}` does not fit `{}{}{}{}`, which is {} in the file; convert it, or omit "
        "the option",
        tensor, wanted->second, isState ? "state/" : tensor, isState ? "" : "/", name,
        isState ? "/" + tensor : "", type));
  }
  return {};
}
