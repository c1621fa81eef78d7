//===- GroupStepper.cpp - A compiled rule over a parameter group of torch ---------------------===//

#include "runtime/torch/GroupStepper.h"

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/torch/InterpreterLock.h"
#include "runtime/torch/SparseRows.h"
#include "runtime/torch/TensorView.h"
#include "updraft/torch/IntraOpPool.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

using namespace updraft::torch_adapter;
using updraft::runtime::forParts;
using updraft::runtime::MemoryRange;
using updraft::torch::intraOpPool;

/// The minimum number of parameters per thread. Waking a thread takes as long as checking this
/// many.
constexpr size_t paramsPerPart = 500;

GroupStepper::GroupStepper(upd_rule *rule, const std::vector<at::Tensor> &params,
                           std::vector<double> initial, std::string sparse, std::string dense,
                           bool sparseAsDense, std::vector<std::string> given, bool emulated,
                           at::ScalarType countType)
    : probeCount(Library::get().upd_rule_probe_count(rule)), names(std::move(given)),
      on(params.empty() ? StepDevice{} : StepDevice::of(params.front(), emulated)),
      table(params, on, countType), sparseRefusal(std::move(sparse)),
      denseRefusal(std::move(dense)), sparseAsDense(sparseAsDense) {
  const Library &library = Library::get();
  for (size_t i = 0; i < library.upd_rule_hyper_count(rule); ++i)
    hyperNames.push_back(library.upd_rule_hyper_name(rule, i));
  TORCH_CHECK_VALUE(initial.size() == hyperNames.size(), "there are ", initial.size(),
                    " hyperparameters; the rule has ", hyperNames.size());

  for (size_t i = 0; i < params.size() && names.size() == i; ++i)
    names.push_back(std::to_string(i));
  TORCH_CHECK_VALUE(names.size() == params.size(), "there are ", names.size(), " names for ",
                    params.size(), " parameters");
  std::vector<const char *> texts;
  texts.reserve(names.size());
  for (const std::string &name : names)
    texts.push_back(name.c_str());
  const std::vector<upd_tensor> views = table.views();
  upd_group group{};
  group.params = views.data();
  group.names = texts.data();
  group.param_count = table.size();
  upd_optimizer *optimizer = nullptr;
  check(library.upd_optimizer_create(rule, &group, 1, intraOpPool(), &optimizer));
  handle = std::make_shared<Handle>(optimizer);
  // Torch checks hyperparameters only in the constructor, and steps with any value.
  check(library.upd_optimizer_ignore_requirements(optimizer));
  std::vector<upd_hyper> values;
  values.reserve(initial.size());
  for (size_t i = 0; i < initial.size(); ++i)
    values.push_back({hyperNames[i], initial[i]});
  check(library.upd_optimizer_set_hypers(optimizer, 0, values.data(), values.size()));
  hypers = std::move(initial);
  // Contains each parameter at most once, so a step doesn't allocate memory for it.
  fresh.reserve(params.size());
  readTensors.resize(hyperNames.size() + 1);
  if (!on.isCpu())
    makeCounts();
}

void GroupStepper::setProbeEvery(int64_t every) {
  std::lock_guard lock(mutex);
  TORCH_CHECK_VALUE(every >= 0, "every ", every, " steps can't be probed; give 0 or more");
  check(Library::get().upd_optimizer_set_probe_every(handle->optimizer,
                                                     static_cast<uint64_t>(every)));
}

std::tuple<at::Tensor, at::Tensor, int64_t, int64_t>
GroupStepper::readProbes(int64_t cursor) const {
  constexpr size_t rowsPerCall = 1024;
  std::vector<upd_probe_row> rows(rowsPerCall);
  std::vector<double> some(rowsPerCall * probeCount), values;
  std::vector<int64_t> places;
  auto next = static_cast<uint64_t>(cursor), lost = uint64_t(0);
  for (size_t count = rowsPerCall; count == rowsPerCall;) {
    uint64_t missed = 0;
    check(Library::get().upd_optimizer_read_probes(handle->optimizer, &next, rows.data(),
                                                   some.data(), rowsPerCall, &count, &missed));
    lost += missed;
    for (size_t i = 0; i < count; ++i)
      places.insert(places.end(), {rows[i].step, static_cast<int64_t>(rows[i].param)});
    values.insert(values.end(), some.begin(),
                  some.begin() + static_cast<ptrdiff_t>(count * probeCount));
  }
  const auto count = static_cast<int64_t>(places.size() / 2);
  const at::Tensor steps = at::empty({count, 2}, at::kLong);
  const at::Tensor read = at::empty({count, static_cast<int64_t>(probeCount)}, at::kDouble);
  std::copy(places.begin(), places.end(), steps.mutable_data_ptr<int64_t>());
  std::copy(values.begin(), values.end(), read.mutable_data_ptr<double>());
  return {steps, read, static_cast<int64_t>(next), static_cast<int64_t>(lost)};
}

/// Creates the step count tensors, in which a GPU counts steps.
void GroupStepper::makeCounts() {
  setStream();
  const at::Tensor all =
      at::zeros({static_cast<int64_t>(table.size())},
                at::TensorOptions(table.stepCounts.madeType()).device(on.device));
  const auto memory = std::make_shared<c10::Storage>(all.storage());
  for (size_t i = 0; i < table.size(); ++i) {
    upd_tensor view{};
    view.data = static_cast<std::byte *>(all.mutable_data_ptr()) + i * all.element_size();
    view.dtype = table.stepCounts.madeType() == at::kDouble ? UPD_F64 : UPD_F32;
    view.device = on.kind;
    view.device_index = on.index();
    check(Library::get().upd_optimizer_bind_step(handle->optimizer, i, &view));
    table.stepCounts.set(i, view.data, memory);
  }
}

/// Sets torch's current stream. Called before every access to GPU memory, to order it after torch's
/// earlier work on the stream. A prepared step keeps its stream: before it is applied, another
/// thread with another stream may ask for states.
void GroupStepper::setStream() const {
  if (on.kind != UPD_CUDA || isPrepared)
    return;
  const c10::impl::VirtualGuardImpl guard(on.device.type());
  void *stream = guard.getStreamNativeHandle(guard.getStream(on.device));
  check(Library::get().upd_optimizer_set_stream(handle->optimizer, stream));
}

void GroupStepper::bindHyper(int64_t hyper, const std::optional<at::Tensor> &value) {
  std::lock_guard lock(mutex);
  TORCH_CHECK_INDEX(hyper >= 0 && hyper < static_cast<int64_t>(hyperNames.size()),
                    "hyperparameter ", hyper, " does not exist; the rule has ", hyperNames.size());
  const auto index = static_cast<size_t>(hyper);
  upd_tensor view{};
  if (value)
    view = viewOf(*value, "a hyperparameter", on);
  check(Library::get().upd_optimizer_bind_hyper(handle->optimizer, 0, hyperNames[index],
                                                value ? &view : nullptr));
  readTensors[index] = value.value_or(at::Tensor());
}

void GroupStepper::bindFoundInf(const std::optional<at::Tensor> &found) {
  std::lock_guard lock(mutex);
  upd_tensor view{};
  if (found)
    view = viewOf(*found, "found_inf", on);
  check(Library::get().upd_optimizer_bind_found_inf(handle->optimizer, found ? &view : nullptr));
  readTensors.back() = found.value_or(at::Tensor());
}

size_t GroupStepper::checked(int64_t param) const {
  TORCH_CHECK_INDEX(param >= 0 && param < static_cast<int64_t>(table.size()), "parameter ", param,
                    " does not exist; the group has ", table.size());
  return static_cast<size_t>(param);
}

void GroupStepper::setHypers(const std::vector<double> &values) {
  std::lock_guard lock(mutex);
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
  std::lock_guard lock(mutex);
  const std::vector<uint64_t> all(numbers.begin(), numbers.end());
  const Library &library = Library::get();
  check(library.upd_optimizer_set_seed(handle->optimizer, static_cast<uint64_t>(seed)));
  check(library.upd_optimizer_set_param_numbers(handle->optimizer, all.data(), all.size()));
}

int64_t updraft::torch_adapter::asStepCount(double count, const std::string &param) {
  TORCH_CHECK_VALUE(count >= 0 && count <= 0x1p53 && count == std::floor(count),
                    "the step count of parameter ", param, " is ", count,
                    "; it is a whole number from 0 to 2^53");
  return static_cast<int64_t>(count);
}

void GroupStepper::readCounts() {
  for (size_t i = 0; i < table.size(); ++i) {
    if (!table.stepCounts.isChanged(i, table.steps[i]))
      continue;
    const int64_t count = asStepCount(table.stepCounts.valueOf(i), names[i]);
    check(Library::get().upd_optimizer_set_step(handle->optimizer, i, count));
    table.steps[i] = count;
  }
}

/// Takes a gradient that `ParameterTable::look` couldn't take.
void GroupStepper::takeGradient(const Unusual &given) {
  const size_t index = given.param;
  // With `Tensor.grad_dtype` a gradient can have another dtype than its parameter.
  const at::ScalarType wanted = table.scalarType(index);
  const bool isOther =
      given.grad.scalar_type() != wanted && c10::canCast(given.grad.scalar_type(), wanted);
  const at::Tensor grad = isOther ? given.grad.detach().to(wanted) : given.grad;
  if (grad.is_sparse() && !sparseAsDense) {
    TORCH_CHECK(sparseRefusal.empty(), sparseRefusal);
    TORCH_CHECK_VALUE(grad.sizes() == table.shape(index), "the gradient of parameter ",
                      names[index], " is ", grad.sizes(), ", but the parameter is ",
                      table.shape(index), "; give a tensor of the same shape");
    SparseRows rows = sparseRowsOf(grad, table.sizes(index), table.strides(index));
    table.setAbsent(index);
    rowGrads.push_back(rows.of(index, on));
    held.push_back(std::move(rows.indices));
    held.push_back(std::move(rows.values));
    return;
  }
  TORCH_CHECK(denseRefusal.empty(), denseRefusal);
  at::Tensor real = grad;
  if (grad.is_complex() || grad.is_neg() || grad.is_sparse() || grad._is_zerotensor()) {
    at::Tensor dense = grad.is_sparse() ? grad.to_dense() : grad;
    // A zero tensor has no memory.
    if (dense._is_zerotensor())
      dense = dense.clone();
    real = realOf(dense.resolve_conj().resolve_neg());
  }
  const bool sameShape = real.sizes() == table.sizes(index);
  if (real.strides() != table.strides(index) && sameShape) {
    at::Tensor same = at::empty_strided(real.sizes(), table.strides(index), real.options());
    same.copy_(real.detach());
    real = std::move(same);
  }
  const upd_tensor view = viewOf(real, "a gradient", on);
  if (!sameShape || view.dtype != table.elementType() || (!view.data && real.numel() != 0))
    refuse(index, view);
  table.setGradient(index, view, real.storage());
}

/// Throws the library's error for an invalid gradient.
void GroupStepper::refuse(size_t param, const upd_tensor &grad) const {
  upd_tensor absent{};
  absent.rank = UPD_ABSENT;
  std::vector<upd_tensor> grads(table.size(), absent);
  grads[param] = grad;
  check(Library::get().upd_optimizer_prepare_rows(handle->optimizer, grads.data(), grads.size(),
                                                  nullptr, 0));
  TORCH_INTERNAL_ASSERT(false, "a gradient of parameter ", names[param], " was not refused");
}

/// Releases the GIL while waiting, because the thread that holds the mutex may be waiting for the
/// GIL.
std::unique_lock<std::mutex> GroupStepper::lockInTurn() const {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) {
    const InterpreterPause pause;
    lock.lock();
  }
  return lock;
}

bool GroupStepper::look() {
  const std::unique_lock lock = lockInTurn();
  return lookAt(nullptr);
}

void GroupStepper::prepare() {
  std::lock_guard lock(mutex);
  prepareTaken();
}

bool GroupStepper::lookAndPrepare() {
  std::lock_guard lock(mutex);
  {
    const InterpreterLock python;
    if (!lookAt(nullptr))
      return false;
  }
  prepareTaken();
  return true;
}

bool GroupStepper::lookAndPrepare(const std::vector<at::Tensor> &grads) {
  std::lock_guard lock(mutex);
  TORCH_CHECK_VALUE(grads.size() == table.size(), "there are ", grads.size(), " gradients for ",
                    table.size(), " parameters");
  if (!lookAt(grads.data()))
    return false;
  prepareTaken();
  return true;
}

/// Keeps references to the gradients' memory until the step is done: another thread may replace
/// `.grad`, which otherwise holds the only reference.
bool GroupStepper::lookAt(const at::Tensor *grads) {
  isPrepared = false;
  auto undo = c10::make_scope_exit([this] { drop(); });
  std::atomic<bool> moved = false, isUnusual = !denseRefusal.empty(), counted = false;
  forParts(*intraOpPool(), table.size(), paramsPerPart, [&](size_t begin, size_t end) {
    const ParameterTable::Found found = table.look(begin, end, grads);
    if (found.moved)
      moved = true;
    if (found.unusual)
      isUnusual = true;
    if (found.counted)
      counted = true;
  });
  if (moved)
    return false;
  areCountsWritten = counted;
  for (size_t i = 0; i < table.size() && isUnusual; ++i)
    if (table.isUnusual(i) || (table.hasGradient(i) && !denseRefusal.empty()))
      unusual.push_back({i, grads ? grads[i] : table.gradOf(i)});
  undo.release();
  return true;
}

void GroupStepper::prepareTaken() {
  auto undo = c10::make_scope_exit([this] { drop(); });
  if (areCountsWritten)
    readCounts();
  for (const Unusual &given : unusual)
    takeGradient(given);
  setStream();
  check(Library::get().upd_optimizer_prepare_addresses(
      handle->optimizer, table.gradients(), table.size(), rowGrads.data(), rowGrads.size()));
  undo.release();
  isPrepared = true;
}

void GroupStepper::forPrepared(
    const std::function<void(size_t param, const MemoryRange &grad)> &look) const {
  std::lock_guard lock(mutex);
  const size_t bytes = updraft::runtime::sizeOf(table.elementType());
  auto range = [&](const void *data, at::IntArrayRef sizes) {
    return MemoryRange(data, static_cast<size_t>(c10::multiply_integers(sizes)) * bytes);
  };
  for (size_t i = 0; i < table.size(); ++i)
    if (table.hasGradient(i))
      look(i, range(table.gradients()[i], table.sizes(i)));
  for (const upd_row_grad &rows : rowGrads)
    look(rows.param,
         range(rows.values.data, {rows.values.shape, static_cast<size_t>(rows.values.rank)}));
}

bool GroupStepper::apply(bool countVersions) {
  std::lock_guard lock(mutex);
  auto undo = c10::make_scope_exit([this] { drop(); });
  struct Job {
    ParameterTable &table;
    bool countVersions;
  } job{table, countVersions};
  const upd_step_observer observer = {[](void *context, const uint32_t *params, size_t count) {
                                        const Job &job = *static_cast<Job *>(context);
                                        job.table.stepped({params, count}, job.countVersions);
                                      },
                                      &job};
  check(Library::get().upd_optimizer_apply_observed(handle->optimizer, &observer));
  if (!on.isCpu())
    afterDeviceStep(countVersions);
  const bool anyFresh = table.takeFresh(fresh);
  // Parameters that the device has skipped stay fresh until it steps them.
  return on.isCpu() ? anyFresh : !fresh.empty();
}

/// Treats all parameters with gradients as stepped: the host doesn't know yet whether the device
/// skips the step.
void GroupStepper::afterDeviceStep(bool countVersions) {
  for (uint32_t i = 0; i < table.size(); ++i)
    if (table.hasGradient(i))
      table.stepped({&i, 1}, countVersions);
  for (const upd_row_grad &rows : rowGrads) {
    const auto param = static_cast<uint32_t>(rows.param);
    table.stepped({&param, 1}, countVersions);
  }
}

void GroupStepper::abandon() {
  std::lock_guard lock(mutex);
  drop();
}

void GroupStepper::drop() {
  held.clear();
  rowGrads.clear();
  unusual.clear();
  table.dropGradients();
  isPrepared = false;
}

std::vector<int64_t> GroupStepper::takeFresh() {
  std::lock_guard lock(mutex);
  setStream();
  std::vector<int64_t> result;
  if (on.isCpu() || fresh.empty()) {
    result = fresh;
    fresh.clear();
    return result;
  }
  std::vector<int64_t> reached(table.size());
  check(Library::get().upd_optimizer_get_steps(handle->optimizer, reached.data(), reached.size()));
  auto isTaken = [&](int64_t param) {
    return reached[static_cast<size_t>(param)] != table.steps[static_cast<size_t>(param)];
  };
  std::copy_if(fresh.begin(), fresh.end(), std::back_inserter(result), isTaken);
  std::erase_if(fresh, isTaken);
  return result;
}

bool GroupStepper::hasState(int64_t param, const std::string &name) const {
  std::lock_guard lock(mutex);
  checked(param);
  setStream();
  upd_tensor view;
  return Library::get().upd_optimizer_state(handle->optimizer, param, name.c_str(), &view) ==
         UPD_OK;
}

std::vector<at::Tensor> GroupStepper::states(const std::vector<int64_t> &numbers,
                                             const std::string &name) {
  std::lock_guard lock(mutex);
  std::vector<at::Tensor> result;
  result.reserve(numbers.size());
  setStream();
  for (int64_t number : numbers) {
    const size_t index = checked(number);
    upd_tensor view;
    check(Library::get().upd_optimizer_state(handle->optimizer, number, name.c_str(), &view));
    const at::Tensor state = tensorOver(view, on.device, [kept = handle](void *) {});
    const bool pairs = table.isComplex(index) && state.sizes() == table.sizes(index);
    result.push_back(pairs ? at::view_as_complex(state) : state);
  }
  for (size_t i = 0; i < numbers.size(); ++i)
    table.shownStates.show(static_cast<size_t>(numbers[i]), result[i]);
  return result;
}

at::Tensor GroupStepper::copyOfState(int64_t param, const std::string &name) const {
  std::lock_guard lock(mutex);
  const size_t index = checked(param);
  if (name == "step")
    return table.steps[index] == 0 && table.hasNoStates(index)
               ? at::Tensor()
               : at::scalar_tensor(static_cast<double>(table.steps[index]),
                                   table.stepCounts.madeType());
  upd_tensor view;
  if (Library::get().upd_optimizer_state(handle->optimizer, param, name.c_str(), &view) != UPD_OK)
    return {};
  at::Tensor state = tensorOver(view, on.device, [](void *) {}).clone();
  const bool pairs = table.isComplex(index) && state.sizes() == table.sizes(index);
  return pairs ? at::view_as_complex(state) : state;
}

std::vector<at::Tensor> GroupStepper::stepCounts(const std::vector<int64_t> &numbers) {
  std::lock_guard lock(mutex);
  for (int64_t number : numbers)
    checked(number);
  std::vector<at::Tensor> result = table.stepCounts.make(numbers, table.steps);
  for (size_t i = 0; i < numbers.size() && !on.isCpu(); ++i) {
    const auto index = static_cast<size_t>(numbers[i]);
    table.shownStates.hide(index, table.stepCounts.of(index));
    table.shownStates.show(index, result[i]);
  }
  return result;
}

void GroupStepper::bindState(int64_t number, const std::string &name, const at::Tensor &state) {
  std::lock_guard lock(mutex);
  const size_t index = checked(number);
  at::Tensor real = realOf(state.detach());
  upd_tensor view = viewOf(real, "a state", on);
  setStream();
  check(Library::get().upd_optimizer_bind_state(handle->optimizer, number, name.c_str(), &view));
  handle->bound.push_back(state.storage());
  table.shownStates.show(index, state);
  table.setKnown(index);
}

std::vector<at::Tensor> GroupStepper::bindBlocks(int64_t number, const std::string &name,
                                                 const std::string &type, const at::Tensor &codes,
                                                 const at::Tensor &scales) {
  std::lock_guard lock(mutex);
  const size_t index = checked(number);
  const auto dtype = updraft::runtime::parseDType(type);
  TORCH_INTERNAL_ASSERT(dtype, type);
  TORCH_CHECK_VALUE(codes.sizes() == table.sizes(index) && codes.scalar_type() == at::kByte &&
                        scales.scalar_type() == at::kFloat,
                    "state `", name, "` of parameter `", names[index], "` is ",
                    c10::getDtypeNames(codes.scalar_type()).first, " ", codes.sizes(), " with ",
                    c10::getDtypeNames(scales.scalar_type()).first,
                    " scales; give uint8 codes of the parameter's shape, ", table.sizes(index),
                    ", and float32 scales");
  // The library stores the scales after the codes.
  const int64_t offset = (codes.numel() + 3) / 4 * 4;
  at::Tensor memory = at::empty({offset + 4 * scales.numel()}, codes.options());
  at::Tensor ourCodes = memory.as_strided(codes.sizes(), table.strides(index));
  at::Tensor ourScales = memory.slice(0, offset).view(at::kFloat).view(scales.sizes());
  ourCodes.copy_(codes);
  ourScales.copy_(scales);
  upd_tensor view = viewOf(ourCodes, "a state", on);
  setStream();
  view.dtype = *dtype;
  check(Library::get().upd_optimizer_bind_state(handle->optimizer, number, name.c_str(), &view));
  handle->bound.push_back(memory.storage());
  table.shownStates.show(index, ourCodes);
  table.shownStates.show(index, ourScales);
  table.setKnown(index);
  return {ourCodes, ourScales};
}

void GroupStepper::bindStepCount(int64_t number, const at::Tensor &count) {
  std::lock_guard lock(mutex);
  const size_t index = checked(number);
  const at::ScalarType type = count.scalar_type();
  const bool isTaken =
      on.isCpu() ? StepCountTensors::canHave(type) : type == at::kFloat || type == at::kDouble;
  TORCH_CHECK_VALUE(count.dim() == 0 && isTaken && count.device() == on.device,
                    "a step count is a ", on.isCpu() ? "real" : "float32 or float64", " scalar on ",
                    on.device);
  if (!on.isCpu()) {
    const upd_tensor view = viewOf(count, "a step count", on);
    setStream();
    check(Library::get().upd_optimizer_bind_step(handle->optimizer, number, &view));
    check(Library::get().upd_optimizer_get_step(handle->optimizer, number, &table.steps[index]));
    table.shownStates.hide(index, table.stepCounts.of(index));
    table.stepCounts.set(index, count);
    table.shownStates.show(index, count);
    return;
  }
  table.stepCounts.set(index, count);
  table.steps[index] = 0;
  check(Library::get().upd_optimizer_set_step(handle->optimizer, number, 0));
}

void GroupStepper::setStepCount(int64_t number, int64_t count) {
  std::lock_guard lock(mutex);
  const size_t index = checked(number);
  setStream();
  check(Library::get().upd_optimizer_set_step(handle->optimizer, number, count));
  table.steps[index] = count;
}
