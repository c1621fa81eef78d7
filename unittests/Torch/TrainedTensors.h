//===- TrainedTensors.h - Parameters with gradients for the tests of LibTorch -----------*- C++
//-*-===//

#ifndef UPDRAFT_UNITTESTS_TORCH_TRAINEDTENSORS_H
#define UPDRAFT_UNITTESTS_TORCH_TRAINEDTENSORS_H

#include "updraft/Compiler.h"
#include "updraft/torch.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

/// Compiles rules/NAME.upd.
inline std::shared_ptr<const updraft::Rule> ruleOf(const std::string &name,
                                                   const updraft::CompileOptions &options = {}) {
  const std::string path = UPDRAFT_RULES_DIR "/" + name + ".upd";
  return std::make_shared<const updraft::Rule>(updraft::compileFile(path.c_str(), options).value());
}

using Tensors = std::vector<at::Tensor>;

inline at::Tensor asParameter(const at::Tensor &tensor) {
  return tensor.detach().clone().requires_grad_(true);
}

inline Tensors copiesOf(const Tensors &tensors) {
  Tensors result;
  for (const at::Tensor &tensor : tensors)
    result.push_back(asParameter(tensor));
  return result;
}

/// Parameters of several shapes, the same for a seed.
inline Tensors parametersOf(at::ScalarType type, uint64_t seed = 0) {
  at::manual_seed(seed);
  Tensors result;
  for (const auto &shape : std::vector<std::vector<int64_t>>{{5, 3}, {}, {17}, {0}, {2, 3, 4, 5}})
    result.push_back(at::randn(shape).to(type).requires_grad_(true));
  return result;
}

/// Sets gradients that depend on the values and on `step`.
inline void setGradients(const Tensors &params, int step) {
  const at::NoGradGuard disabled;
  for (const at::Tensor &param : params)
    param.mutable_grad() = (param * 0.5 + 0.1 * (step + 1)).to(param.scalar_type());
}

inline bool haveSameBits(const at::Tensor &left, const at::Tensor &right) {
  if (left.scalar_type() != right.scalar_type() || left.sizes() != right.sizes())
    return false;
  const at::Tensor one = left.detach().contiguous(), other = right.detach().contiguous();
  return one.numel() == 0 ||
         std::memcmp(one.const_data_ptr(), other.const_data_ptr(), one.nbytes()) == 0;
}

inline testing::AssertionResult haveSameBits(const Tensors &left, const Tensors &right) {
  if (left.size() != right.size())
    return testing::AssertionFailure() << left.size() << " tensors and " << right.size();
  for (size_t i = 0; i < left.size(); ++i)
    if (!haveSameBits(left[i], right[i]))
      return testing::AssertionFailure() << "tensor " << i << " differs:\n"
                                         << left[i] << "\n"
                                         << right[i];
  return testing::AssertionSuccess();
}

/// The message of the c10::Error that `run` throws, without its stack trace. Empty if it throws
/// none.
template <typename Run> std::string messageOf(Run run) {
  try {
    run();
  } catch (const c10::Error &error) {
    return error.msg();
  }
  return "";
}

#endif // UPDRAFT_UNITTESTS_TORCH_TRAINEDTENSORS_H
