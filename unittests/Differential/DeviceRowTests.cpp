//===- DeviceRowTests.cpp - Steps of rows on a device and the CPU -----------------------------===//
// The same rule steps the same rows of the same tensors through the C API. The device must refuse
// the same steps as the CPU with the same messages. After every other step, parameters and states
// must be bitwise equal.

#include "RuleTable.h"
#include "Sides.h"
#include "SteppedOn.h"
#include "runtime/base/DType.h"
#include "runtime/capi/Handles.h"
#include "runtime/gpu/DevicePlan.h"

#include <cstring>
#include <deque>
#include <numeric>
#include <optional>
#include <random>

using namespace updraft;
using namespace updraft::differential;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

namespace {

/// A gradient of rows, or of the whole tensor if `indexDims` is empty.
struct Gradient {
  size_t param;
  std::optional<int32_t> indexDims;
  std::vector<int64_t> indices = {};
};

using Shapes = std::vector<std::vector<int64_t>>;

/// Rows of one element, of less than a chunk and of several chunks; of a vector, batches, no
/// elements, and a scalar.
const Shapes shapes = {{300},     {70, 1},     {20, 7}, {12, 64}, {20, 129}, {2, 9000},
                       {2, 8192}, {10, 3, 50}, {0, 4},  {4, 0},   {},        {2, 3, 4, 5}};
const Shapes matrices = {{70, 1}, {20, 7}, {12, 64}, {20, 129}, {2, 9000}};

/// The rule on the CPU and on a device, in two groups.
class RowSides {
public:
  RowSides(RuleCase ruleCase, const SteppedOn &on, Shapes dimensions)
      : ruleCase(std::move(ruleCase)), on(on), dimensions(std::move(dimensions)),
        random(this->ruleCase.seed + 1) {}

  AssertionResult make();
  /// Steps both. `text` is the result of both.
  AssertionResult step(const std::vector<Gradient> &given, float foundInf = 0);
  AssertionResult compare();
  /// Chooses some rows of some tensors, and all of others.
  std::vector<Gradient> choose();
  /// All rows of every tensor.
  std::vector<Gradient> whole() const;
  std::vector<int64_t> chooseRows(int64_t rows);
  int64_t rowsOf(size_t param, int32_t indexDims) const;
  upd_optimizer *onDevice() { return device.optimizer.get(); }
  /// The result of the last step on both.
  std::string text;
  bool ofMatrices = false; ///< rows are matrices in all tensors
  /// The CPU gets the rows with these positions in the device's lists.
  std::optional<std::vector<size_t>> rowsOfCpu;

private:
  struct Side {
    RuleHandle rule;
    OptimizerHandle optimizer;
    std::vector<void *> params;
  };
  struct Call {
    std::vector<upd_tensor> grads;
    std::vector<upd_row_grad> rows;
  };

  const runtime::RuleInterface &interface() const { return cpu.rule->kernels->interface; }
  AssertionResult makeOptimizer(Side &side, upd_device kind);
  upd_tensor view(void *data, const std::vector<int64_t> &shape, upd_dtype dtype, upd_device kind);
  std::vector<char> &randomValues(int64_t count, upd_dtype dtype);
  void *copy(const void *data, size_t bytes);
  std::string stepSide(Side &side, const Call &call, const upd_tensor &foundInf);
  static int64_t count(const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  }

  const RuleCase ruleCase;
  const SteppedOn &on;
  const Shapes dimensions;
  std::mt19937_64 random;
  std::deque<std::vector<char>> memory;
  std::deque<std::vector<int64_t>> shapeMemory;
  Side cpu, device;
};

upd_tensor RowSides::view(void *data, const std::vector<int64_t> &shape, upd_dtype dtype,
                          upd_device kind) {
  upd_tensor result{};
  result.data = data;
  result.shape = shapeMemory.emplace_back(shape).data();
  result.rank = static_cast<int32_t>(shape.size());
  result.dtype = dtype;
  result.device = kind;
  return result;
}

std::vector<char> &RowSides::randomValues(int64_t count, upd_dtype dtype) {
  const size_t bytes = runtime::sizeOf(dtype);
  std::vector<char> &values = memory.emplace_back(static_cast<size_t>(count) * bytes);
  std::normal_distribution<double> distribution;
  for (size_t i = 0; i < values.size(); i += bytes)
    runtime::storeRounded(dtype, distribution(random), values.data() + i);
  return values;
}

void *RowSides::copy(const void *data, size_t bytes) {
  void *to = nullptr;
  EXPECT_TRUE(on.device->allocate(bytes, &to).ok());
  EXPECT_TRUE(on.device->write(to, data, bytes, nullptr).ok());
  return to;
}

AssertionResult RowSides::make() {
  llvm::Expected<RuleHandle> ofCpu = compile(ruleCase);
  if (!ofCpu)
    return AssertionFailure() << toString(ofCpu.takeError());
  cpu.rule = std::move(*ofCpu);
  RuleCase forDevice = ruleCase;
  forDevice.target = on.target;
  llvm::Expected<RuleHandle> ofDevice = compile(forDevice);
  if (!ofDevice)
    return AssertionFailure() << toString(ofDevice.takeError());
  device.rule = std::move(*ofDevice);
  for (const std::vector<int64_t> &shape : dimensions) {
    std::vector<char> &values = randomValues(count(shape), interface().param);
    cpu.params.push_back(values.data());
    device.params.push_back(copy(values.data(), values.size()));
  }
  AssertionResult made = makeOptimizer(cpu, UPD_CPU);
  return made ? makeOptimizer(device, on.kind) : made;
}

AssertionResult RowSides::makeOptimizer(Side &side, upd_device kind) {
  std::vector<upd_tensor> views;
  for (size_t i = 0; i < dimensions.size(); ++i)
    views.push_back(view(side.params[i], dimensions[i], interface().param, kind));
  const size_t half = views.size() / 2;
  upd_group groups[2] = {};
  groups[0].params = views.data();
  groups[0].param_count = half;
  groups[1].params = views.data() + half;
  groups[1].param_count = views.size() - half;
  upd_optimizer *made = nullptr;
  if (upd_optimizer_create(side.rule.get(), groups, 2, nullptr, &made) != UPD_OK)
    return AssertionFailure() << upd_last_error();
  side.optimizer.reset(made);
  return AssertionSuccess();
}

int64_t RowSides::rowsOf(size_t param, int32_t indexDims) const {
  const std::vector<int64_t> &shape = dimensions[param];
  const auto dims = std::min<size_t>(static_cast<size_t>(std::max(indexDims, 1)), shape.size());
  return count({shape.begin(), shape.begin() + static_cast<ptrdiff_t>(dims)});
}

std::vector<int64_t> RowSides::chooseRows(int64_t rows) {
  std::vector<int64_t> indices;
  const auto kind = random() % 4;
  const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1));
  for (int64_t i = 0; i < rows; ++i)
    if (kind == 1 || (kind == 2 && i >= first) || (kind == 3 && random() % 3 != 0))
      indices.push_back(i);
  return indices;
}

std::vector<Gradient> RowSides::choose() {
  std::vector<Gradient> result;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const auto kind = random() % 8;
    if (kind == 0)
      continue;
    Gradient &gradient = result.emplace_back(Gradient{i, std::nullopt});
    if (kind == 1)
      continue;
    const size_t rank = dimensions[i].size();
    const bool isWhole = rank == 0 || ofMatrices || random() % 2 != 0;
    gradient.indexDims = isWhole ? 0 : static_cast<int32_t>(random() % rank) + 1;
    gradient.indices = chooseRows(rowsOf(i, *gradient.indexDims));
  }
  return result;
}

std::vector<Gradient> RowSides::whole() const {
  std::vector<Gradient> result;
  for (size_t i = 0; i < dimensions.size(); ++i)
    result.push_back({i, std::nullopt});
  return result;
}

std::string RowSides::stepSide(Side &side, const Call &call, const upd_tensor &foundInf) {
  EXPECT_EQ(upd_optimizer_bind_found_inf(side.optimizer.get(), &foundInf), UPD_OK);
  // No step reads it, because its length is given as 0.
  const std::vector<upd_tensor> unread(dimensions.size());
  const upd_tensor *grads = call.grads.empty() ? unread.data() : call.grads.data();
  const upd_status status = upd_optimizer_step_rows(side.optimizer.get(), grads, call.grads.size(),
                                                    call.rows.data(), call.rows.size());
  return status == UPD_OK ? "ok" : upd_last_error();
}

AssertionResult RowSides::step(const std::vector<Gradient> &given, float foundInf) {
  upd_tensor absent{};
  absent.rank = UPD_ABSENT;
  Call here, there;
  for (const Gradient &gradient : given)
    if (!gradient.indexDims)
      here.grads.assign(dimensions.size(), absent);
  there.grads = here.grads;
  for (const Gradient &gradient : given) {
    const size_t param = gradient.param;
    std::vector<int64_t> shape = dimensions[param];
    if (gradient.indexDims) {
      const auto dims = static_cast<size_t>(std::max(*gradient.indexDims, 1));
      shape.erase(shape.begin(),
                  shape.begin() + static_cast<ptrdiff_t>(std::min(dims, shape.size())));
      shape.insert(shape.begin(), static_cast<int64_t>(gradient.indices.size()));
    }
    std::vector<char> &values = randomValues(count(shape), interface().grad);
    const upd_tensor own = view(values.data(), shape, interface().grad, UPD_CPU);
    const upd_tensor other =
        view(copy(values.data(), values.size()), shape, interface().grad, on.kind);
    if (!gradient.indexDims) {
      here.grads[param] = own;
      there.grads[param] = other;
      continue;
    }
    const std::vector<int64_t> &indices = shapeMemory.emplace_back(gradient.indices);
    const void *copied = copy(indices.data(), indices.size() * sizeof(int64_t));
    there.rows.push_back(
        {param, static_cast<const int64_t *>(copied), indices.size(), other, *gradient.indexDims});
    if (!rowsOfCpu) {
      here.rows.push_back({param, indices.data(), indices.size(), own, *gradient.indexDims});
      continue;
    }
    std::vector<int64_t> &kept = shapeMemory.emplace_back();
    std::vector<char> &keptValues = memory.emplace_back();
    const auto rowBytes = static_cast<ptrdiff_t>(values.size() / indices.size());
    for (const size_t row : *rowsOfCpu) {
      const auto begin = values.begin() + static_cast<ptrdiff_t>(row) * rowBytes;
      kept.push_back(indices[row]);
      keptValues.insert(keptValues.end(), begin, begin + rowBytes);
    }
    shape[0] = static_cast<int64_t>(kept.size());
    here.rows.push_back({param, kept.data(), kept.size(),
                         view(keptValues.data(), shape, interface().grad, UPD_CPU),
                         *gradient.indexDims});
  }
  const upd_tensor found = view(&foundInf, {}, UPD_F32, UPD_CPU);
  const upd_tensor foundThere = view(copy(&foundInf, sizeof(foundInf)), {}, UPD_F32, on.kind);
  text = stepSide(cpu, here, found);
  const std::string onDevice = stepSide(device, there, foundThere);
  upd_optimizer_bind_found_inf(cpu.optimizer.get(), nullptr);
  if (text != onDevice)
    return AssertionFailure() << "the CPU says: " << text << "\nthe device: " << onDevice;
  return AssertionSuccess();
}

AssertionResult RowSides::compare() {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    int64_t steps = 0, stepsOnDevice = 0;
    upd_optimizer_get_step(cpu.optimizer.get(), i, &steps);
    upd_optimizer_get_step(onDevice(), i, &stepsOnDevice);
    if (steps != stepsOnDevice)
      return AssertionFailure() << "tensor " << i << " took " << steps << " steps, on the device "
                                << stepsOnDevice;
    const auto elements = static_cast<size_t>(count(dimensions[i]));
    if (!on.has(device.params[i], interface().param, cpu.params[i],
                elements * runtime::sizeOf(interface().param)))
      return AssertionFailure() << "tensor " << i << " differs";
    for (const runtime::StateInterface &state : interface().states) {
      upd_tensor here, there;
      const upd_status has = upd_optimizer_state(cpu.optimizer.get(), i, state.name.c_str(), &here);
      if (has != upd_optimizer_state(onDevice(), i, state.name.c_str(), &there))
        return AssertionFailure() << "state `" << state.name << "` of tensor " << i
                                  << " is only there on " << (has == UPD_OK ? "the CPU" : "device");
      if (has != UPD_OK)
        continue;
      const auto values =
          static_cast<size_t>(count(std::vector<int64_t>(here.shape, here.shape + here.rank)));
      if (!on.has(there.data, state.dtype, here.data, values * runtime::sizeOf(state.dtype)))
        return AssertionFailure() << "state `" << state.name << "` of tensor " << i << " differs";
    }
  }
  return AssertionSuccess();
}

class DeviceRowRules : public OnDevice<std::string> {};

TEST_P(DeviceRowRules, StepAsOnTheCPU) {
  const std::string &file = std::get<1>(GetParam());
  const std::vector<RuleVariant> variants = variantsOf(file);
  for (const bool isLast : {false, true}) {
    const RuleVariant &variant = isLast ? variants.back() : variants.front();
    const std::vector<StorageChoice> choices = storageChoices(variant);
    const RuleCase ruleCase =
        variant.instantiate(isLast ? choices[choices.size() / 2] : choices[0]);
    SCOPED_TRACE(describe(ruleCase));
    const bool ofMatrices = file == "rowwise_adagrad" || file == "adam_mini";
    Shapes dimensions = ofMatrices ? matrices : shapes;
    if (hasSquareStates(*llvm::cantFail(compile(ruleCase))))
      llvm::erase_if(dimensions,
                     [](const auto &each) { return !each.empty() && each.back() > 1000; });
    RowSides sides(ruleCase, on, dimensions);
    sides.ofMatrices = ofMatrices;
    ASSERT_TRUE(sides.make());
    bool tookRows = false, isForbidden = false;
    std::string texts;
    for (int step = 0; step < 4; ++step) {
      ASSERT_TRUE(sides.step(sides.choose()));
      const std::string text = sides.text;
      tookRows |= text == "ok";
      texts += text + "\n";
      isForbidden |= text.find("cannot step some rows") != std::string::npos;
      // Some rules accept rows only after a parameter's first whole step.
      if (text != "ok")
        ASSERT_TRUE(sides.step(sides.whole()));
      ASSERT_TRUE(sides.compare());
    }
    EXPECT_NE(tookRows, isForbidden) << texts;
  }
}

class DeviceRows : public OnDevice<> {
protected:
  void make(const char *file, const Shapes &ofTensors) {
    sides.emplace(variantsOf(file).front().instantiate({}), on, ofTensors);
    ASSERT_TRUE(sides->make());
  }
  void step(const std::vector<Gradient> &gradients, float foundInf = 0) {
    ASSERT_TRUE(sides->step(gradients, foundInf));
    ASSERT_EQ(sides->text, "ok");
    ASSERT_TRUE(sides->compare());
  }
  std::optional<RowSides> sides;
};

TEST_P(DeviceRows, AreSkippedWhereTheDeviceHasFoundInfinities) {
  for (const char *file : {"adamw", "sgd", "nadam"}) {
    ASSERT_NO_FATAL_FAILURE(make(file, {{30, 4}, {9}}));
    for (const float found : {1, 0, 1, 0})
      ASSERT_NO_FATAL_FAILURE(step({{0, 0, {2, 7}}, {1, std::nullopt}}, found));
  }
}

TEST_P(DeviceRows, InvalidOrUnsortedRowsAreSkipped) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  ASSERT_NO_FATAL_FAILURE(make("adamw", {{30, 4}, {9}, {2, 9000}}));
  sides->rowsOfCpu = {1, 4};
  ASSERT_NO_FATAL_FAILURE(step({{0, 0, {-1, 3, 3, 2, 5, 30, huge, -huge}}}));
  ASSERT_NO_FATAL_FAILURE(step({{1, 0, {-huge, 0, 0, -1, 8, 9, 9, huge}}}));
  sides->rowsOfCpu = {1};
  ASSERT_NO_FATAL_FAILURE(step({{2, 0, {-1, 1}}, {0, 0, {-1, 29, 30}}}));
}

TEST_P(DeviceRows, AreAsManyAsTheStepHas) {
  ASSERT_NO_FATAL_FAILURE(make("sparse_adam", {{400, 3}, {7, 2}}));
  for (const int64_t count : {3, 0, 400, 65, 64, 1}) {
    std::vector<int64_t> indices(static_cast<size_t>(count));
    std::iota(indices.begin(), indices.end(), 400 - count);
    ASSERT_NO_FATAL_FAILURE(step({{0, 0, indices}, {1, 0, {0, 6}}}));
  }
}

TEST_P(DeviceRows, ComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(make("adamw", {{30, 4}, {9}, {5, 5}}));
  ASSERT_NO_FATAL_FAILURE(step({{0, 0, {2}}, {1, std::nullopt}}));
  ASSERT_NO_FATAL_FAILURE(step({{0, std::nullopt}, {1, std::nullopt}}));
  ASSERT_NO_FATAL_FAILURE(step({{1, 0, {0, 8}}}));
  ASSERT_NO_FATAL_FAILURE(step({{2, 2, {0, 8}}, {0, 0, {29}}}));
  ASSERT_NO_FATAL_FAILURE(step({{0, 0, {29}}, {2, 1, {1}}}));
}

// A stream with one value per row doesn't affect the alignment of vectors.
TEST_P(DeviceRows, AreAlignedWhereTheirVectorsAre) {
  gpu::EngineKernels engine;
  ASSERT_TRUE(gpu::EngineKernels::load(*on.device, engine).ok());
  auto allocate = [&](size_t bytes) {
    void *memory = nullptr;
    EXPECT_TRUE(on.device->allocate(bytes, &memory).ok());
    return memory;
  };
  auto copy = [&](const auto &values) {
    const size_t bytes = values.size() * sizeof(values[0]);
    void *memory = allocate(bytes);
    EXPECT_TRUE(on.device->write(memory, values.data(), bytes, nullptr).ok());
    return memory;
  };
  constexpr int64_t rows = 4, elements = 64, leaves = 1;
  const std::vector<int64_t> indices = {0, 1, 3};
  auto *param = static_cast<char *>(allocate((rows * elements + 1) * sizeof(float)));
  auto *state = static_cast<char *>(allocate(rows * sizeof(float)));
  for (const bool isAligned : {true, false}) {
    const std::vector<gpu::RowStream> streams = {
        {param + (isAligned ? 0 : sizeof(float)), elements * sizeof(float), 1, 1},
        {state, sizeof(float), 1, 0}};
    const size_t count = indices.size();
    auto *chunks = static_cast<upd_gpu_chunk *>(allocate(count * sizeof(upd_gpu_chunk)));
    const std::vector<gpu::PlacedRows> job = {
        {static_cast<const int64_t *>(copy(indices)), rows, elements, leaves,
         static_cast<const gpu::RowStream *>(copy(streams)), static_cast<int64_t>(streams.size()),
         copy(std::vector<float>{0}), nullptr, sizeof(float), UPD_F32, 0, chunks,
         static_cast<upd_gpu_chunk *>(allocate(count * sizeof(upd_gpu_chunk))),
         static_cast<void **>(allocate(count * streams.size() * sizeof(void *))),
         static_cast<char *>(allocate(count * sizeof(float))), nullptr}};
    ASSERT_TRUE(gpu::launchOver(*on.device, engine.placeRows, copy(job), count * leaves,
                                UPD_GPU_THREADS, nullptr)
                    .ok());
    std::vector<upd_gpu_chunk> placed(count);
    ASSERT_TRUE(on.device->read(placed.data(), chunks, count * sizeof(placed[0]), nullptr).ok());
    for (const upd_gpu_chunk &chunk : placed)
      EXPECT_EQ(chunk.aligned != 0, isAligned) << "of row " << chunk.tensor;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceRows, testing::Combine(testing::ValuesIn(SteppedOn::names())),
                         [](const auto &info) { return std::get<0>(info.param); });

INSTANTIATE_TEST_SUITE_P(All, DeviceRowRules,
                         testing::Combine(testing::ValuesIn(SteppedOn::names()),
                                          testing::ValuesIn(ruleFiles())),
                         [](const auto &info) {
                           return std::get<0>(info.param) + ("_" + std::get<1>(info.param));
                         });

} // namespace
