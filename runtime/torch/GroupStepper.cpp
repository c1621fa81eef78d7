//===- GroupStepper.cpp - A compiled rule over a parameter group of torch ---------------------===//

#include "runtime/torch/GroupStepper.h"

#include "runtime/torch/IntraOpPool.h"
#include "runtime/torch/TensorView.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_as_complex.h>

#include <cmath>
#include <utility>

using namespace updraft::torch_adapter;

namespace {
upd_tensor absentGradient() {
  upd_tensor none{};
  none.rank = -1;
  return none;
}
} // namespace

GroupStepper::GroupStepper(int64_t rule, std::vector<at::Tensor> tensors,
                           std::vector<double> initial, std::string sparse, std::string dense,
                           bool sparseAsDense)
    : sparseRefusal(std::move(sparse)), denseRefusal(std::move(dense)),
      sparseAsDense(sparseAsDense) {
  const Library &library = Library::get();
  auto *compiled = reinterpret_cast<upd_rule *>(static_cast<uintptr_t>(rule));
  for (size_t i = 0; i < library.upd_rule_hyper_count(compiled); ++i)
    hyperNames.push_back(library.upd_rule_hyper_name(compiled, i));
  TORCH_CHECK_VALUE(initial.size() == hyperNames.size(), "there are ", initial.size(),
                    " hyperparameters; the rule has ", hyperNames.size());

  std::vector<upd_tensor> views;
  params.reserve(tensors.size());
  for (at::Tensor &tensor : tensors) {
    Parameter &param = params.emplace_back();
    param.before = tensor.detach();
    param.real = realOf(param.before);
    param.tensor = std::move(tensor);
    views.push_back(viewOf(param.real, "a parameter"));
  }
  std::vector<upd_hyper> values;
  for (size_t i = 0; i < initial.size(); ++i)
    values.push_back({hyperNames[i], initial[i]});
  upd_group group{};
  group.params = views.data();
  group.param_count = views.size();
  group.hypers = values.data();
  group.hyper_count = values.size();
  upd_optimizer *optimizer = nullptr;
  check(library.upd_optimizer_create(compiled, &group, 1, intraOpPool(), &optimizer));
  handle = std::make_shared<Handle>(optimizer);
  hypers = std::move(initial);
  grads.resize(params.size());
  memory.resize(params.size());
}

const GroupStepper::Parameter &GroupStepper::at(int64_t param) const {
  TORCH_CHECK_INDEX(param >= 0 && param < static_cast<int64_t>(params.size()), "parameter ", param,
                    " does not exist; the group has ", params.size());
  return params[param];
}

void GroupStepper::setHypers(const std::vector<double> &values) {
  if (values == hypers)
    return;
  TORCH_CHECK_VALUE(values.size() == hyperNames.size(), "there are ", values.size(),
                    " hyperparameters; the rule has ", hyperNames.size());
  std::vector<upd_hyper> changed;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != hypers[i])
      changed.push_back({hyperNames[i], values[i]});
  check(Library::get().upd_optimizer_set_hypers(handle->optimizer, 0, changed.data(),
                                                changed.size()));
  hypers = values;
}

void GroupStepper::setRandom(int64_t seed, const std::vector<int64_t> &numbers) {
  const std::vector<uint64_t> all(numbers.begin(), numbers.end());
  const Library &library = Library::get();
  check(library.upd_optimizer_set_seed(handle->optimizer, static_cast<uint64_t>(seed)));
  check(library.upd_optimizer_set_param_numbers(handle->optimizer, all.data(), all.size()));
}

// `param.data = …` keeps the tensor and changes its memory, its shape, or only its strides.
bool GroupStepper::hasMoved() const {
  for (const Parameter &param : params)
    if (param.tensor.const_data_ptr() != param.before.const_data_ptr() ||
        param.tensor.sizes() != param.before.sizes() ||
        param.tensor.strides() != param.before.strides())
      return true;
  return false;
}

// Step counts that were changed from outside.
void GroupStepper::readCounts() {
  for (size_t i = 0; i < params.size(); ++i) {
    Parameter &param = params[i];
    if (!param.count.defined())
      continue;
    const bool isDouble = param.count.scalar_type() == at::kDouble;
    const void *data = param.count.const_data_ptr();
    const double count =
        isDouble ? *static_cast<const double *>(data) : *static_cast<const float *>(data);
    const auto known = static_cast<double>(param.known);
    if (count == (isDouble ? known : static_cast<float>(param.known)))
      continue;
    TORCH_CHECK_VALUE(count >= 0 && std::isfinite(count) && count == std::floor(count),
                      "the step count of parameter ", i, " is ", count, "; it is a whole number");
    param.known = static_cast<int64_t>(count);
    check(Library::get().upd_optimizer_set_step(handle->optimizer, i, param.known));
  }
}

void GroupStepper::takeGradient(size_t index) {
  Parameter &param = params[index];
  upd_tensor &view = grads[index];
  view = absentGradient();
  const at::Tensor &grad = param.tensor.grad();
  if (!grad.defined())
    return;
  if (grad.is_sparse() && !sparseAsDense) {
    TORCH_CHECK(sparseRefusal.empty(), sparseRefusal);
    at::Tensor coalesced = grad.coalesce();
    TORCH_CHECK_VALUE(coalesced.sparse_dim() == 1, "the gradient of parameter ", index,
                      " is sparse in ", coalesced.sparse_dim(),
                      " dimensions; it must be in the first, and dense in the others");
    at::Tensor indices = coalesced._indices()[0].contiguous();
    at::Tensor values = realOf(coalesced._values());
    rowGrads.push_back({index, static_cast<const int64_t *>(indices.const_data_ptr()),
                        static_cast<size_t>(indices.numel()), viewOf(values, "a gradient")});
    held.push_back(std::move(indices));
    held.push_back(std::move(values));
    return;
  }
  TORCH_CHECK(denseRefusal.empty(), denseRefusal);
  const at::Tensor *real = &grad;
  at::Tensor own;
  if (grad.is_complex() || grad.is_neg() || grad.is_sparse()) {
    at::Tensor dense = grad.is_sparse() ? grad.to_dense() : grad;
    own = realOf(dense.resolve_conj().resolve_neg());
    real = &own;
  }
  if (real->strides() != param.real.strides() && real->sizes() == param.real.sizes()) {
    at::Tensor same = at::empty_strided(real->sizes(), param.real.strides(), real->options());
    same.copy_(real->detach());
    own = std::move(same);
    real = &own;
  }
  view = viewOf(*real, "a gradient");
  memory[index] = real->storage();
  if (real->sizes() == param.real.sizes()) {
    // Of the same layout by now.
    view.shape = param.real.sizes().data();
    view.strides = param.real.strides().data();
  } else {
    held.push_back(*real);
  }
}

int64_t GroupStepper::step(const std::vector<double> &values) {
  if (hasMoved())
    return Moved;
  setHypers(values);
  readCounts();

  // References last until the step is done: another thread may replace `.grad`. They are to the
  // memory, since a tensor that Python knows takes the interpreter's lock for its second reference.
  struct Drop {
    GroupStepper &stepper;
    ~Drop() {
      stepper.held.clear();
      stepper.memory.assign(stepper.params.size(), c10::Storage());
      stepper.rowGrads.clear();
    }
  } drop{*this};
  for (size_t i = 0; i < params.size(); ++i)
    takeGradient(i);
  check(Library::get().upd_optimizer_step_rows(handle->optimizer, grads.data(), grads.size(),
                                               rowGrads.data(), rowGrads.size()));

  for (const upd_row_grad &row : rowGrads)
    grads[row.param].rank = 0;
  for (size_t i = 0; i < params.size(); ++i)
    if (grads[i].rank >= 0)
      afterStep(i);
  return fresh.empty() ? Done : Fresh;
}

// A rule may have skipped the parameter: then it is as it was.
void GroupStepper::afterStep(size_t index) {
  Parameter &param = params[index];
  int64_t count = 0;
  check(Library::get().upd_optimizer_get_step(handle->optimizer, index, &count));
  if (count == param.known)
    return;
  param.known = count;
  if (!param.hasStates) {
    param.hasStates = true;
    fresh.push_back(static_cast<int64_t>(index));
  }
  param.tensor.unsafeGetTensorImpl()->bump_version();
  for (const at::Tensor &state : param.bound)
    state.unsafeGetTensorImpl()->bump_version();
  if (param.count.defined()) {
    if (param.count.scalar_type() == at::kDouble)
      *static_cast<double *>(param.count.data_ptr()) = static_cast<double>(count);
    else
      *static_cast<float *>(param.count.data_ptr()) = static_cast<float>(count);
    param.count.unsafeGetTensorImpl()->bump_version();
  }
}

std::vector<int64_t> GroupStepper::takeFresh() { return std::exchange(fresh, {}); }

bool GroupStepper::hasState(int64_t param, const std::string &name) const {
  at(param);
  upd_tensor view;
  return Library::get().upd_optimizer_state(handle->optimizer, param, name.c_str(), &view) ==
         UPD_OK;
}

std::vector<at::Tensor> GroupStepper::states(const std::vector<int64_t> &numbers,
                                             const std::string &name) const {
  std::vector<at::Tensor> result;
  result.reserve(numbers.size());
  for (int64_t number : numbers) {
    const Parameter &param = at(number);
    upd_tensor view;
    check(Library::get().upd_optimizer_state(handle->optimizer, number, name.c_str(), &view));
    at::Tensor state = tensorOver(view, [kept = handle](void *) {});
    const bool pairs = param.tensor.is_complex() && state.sizes() == param.real.sizes();
    result.push_back(pairs ? at::view_as_complex(state) : std::move(state));
  }
  return result;
}

std::vector<at::Tensor> GroupStepper::stepCounts(const std::vector<int64_t> &numbers) {
  std::vector<at::Tensor> result;
  result.reserve(numbers.size());
  // One allocation for those that are new, and yet a storage for each, so that one can be saved.
  size_t missing = 0;
  for (int64_t number : numbers)
    missing += !at(number).count.defined();
  std::shared_ptr<float[]> fresh(new float[missing]);
  size_t used = 0;
  for (int64_t number : numbers) {
    Parameter &param = params[number];
    if (!param.count.defined()) {
      float *count = &fresh[used++];
      *count = static_cast<float>(param.known);
      param.count = at::from_blob(count, {}, [fresh](void *) {}, at::kFloat);
    }
    result.push_back(param.count);
  }
  return result;
}

void GroupStepper::bindState(int64_t number, const std::string &name, const at::Tensor &state) {
  at(number);
  Parameter &param = params[number];
  at::Tensor real = realOf(state.detach());
  upd_tensor view = viewOf(real, "a state");
  check(Library::get().upd_optimizer_bind_state(handle->optimizer, number, name.c_str(), &view));
  param.bound.push_back(std::move(real));
  param.hasStates = true;
}

std::vector<at::Tensor> GroupStepper::bindBlocks(int64_t number, const std::string &name,
                                                 int64_t dtype, const at::Tensor &codes,
                                                 const at::Tensor &scales) {
  at(number);
  Parameter &param = params[number];
  TORCH_CHECK_VALUE(codes.sizes() == param.real.sizes() && codes.scalar_type() == at::kByte &&
                        scales.scalar_type() == at::kFloat,
                    "state `", name,
                    "` has uint8 codes in the parameter's shape and float32 scales");
  // The library has the scales behind the codes.
  const int64_t offset = (codes.numel() + 3) / 4 * 4;
  at::Tensor memory = at::empty({offset + 4 * scales.numel()}, codes.options());
  at::Tensor ourCodes = memory.as_strided(codes.sizes(), param.real.strides());
  at::Tensor ourScales = memory.slice(0, offset).view(at::kFloat).view(scales.sizes());
  ourCodes.copy_(codes);
  ourScales.copy_(scales);
  upd_tensor view = viewOf(ourCodes, "a state");
  view.dtype = static_cast<upd_dtype>(dtype);
  check(Library::get().upd_optimizer_bind_state(handle->optimizer, number, name.c_str(), &view));
  param.bound.insert(param.bound.end(), {ourCodes, ourScales});
  param.hasStates = true;
  return {ourCodes, ourScales};
}

void GroupStepper::bindStepCount(int64_t number, const at::Tensor &count) {
  at(number);
  // float64 where that is torch's default type.
  const bool isFloat = count.scalar_type() == at::kFloat || count.scalar_type() == at::kDouble;
  TORCH_CHECK_VALUE(count.dim() == 0 && isFloat && count.is_cpu(),
                    "a step count is a float32 or float64 scalar on the CPU");
  params[number].count = count;
  params[number].known = 0;
  check(Library::get().upd_optimizer_set_step(handle->optimizer, number, 0));
}
