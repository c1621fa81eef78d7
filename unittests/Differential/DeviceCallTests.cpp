//===- DeviceCallTests.cpp - Functions of matrices on a device --------------------------------===//
// Calls of the host between the kernels of a step, which have the bits of the CPU's; when they wait
// for the device; their errors; and the kernel that transposes.

#include "RuleTable.h"
#include "SteppedSides.h"
#include "WatchedSteps.h"
#include "runtime/base/PoolParts.h"
#include "runtime/gpu/DeviceStep.h"

#include <bit>
#include <limits>
#include <set>

using namespace updraft;
using namespace updraft::differential;

namespace {

class DeviceCalls : public OnDevice<> {};

INSTANTIATE_TEST_SUITE_P(All, DeviceCalls, testing::Combine(testing::ValuesIn(SteppedOn::names())),
                         [](const auto &info) { return std::get<0>(info.param); });

/// Wide, tall and square matrices, batches, vectors, and matrices without elements. Their
/// temporaries are more than the emulator's tensors may have at once.
std::vector<GroupTensor> tensorsOfTwoGroups() {
  return {{{5}, 0},      {{5, 5}, 0}, {{40, 33}, 0, 3}, {{0, 4}, 0},         {{4, 0}, 0},
          {{70, 3}, 0},  {{1, 9}, 1}, {{9, 1}, 1},      {{2, 33, 20}, 1, 1}, {{2, 2, 3, 4}, 1},
          {{63, 64}, 1}, {{}, 1}};
}

TEST_P(DeviceCalls, HaveTheBitsOfTheCPU) {
  for (const char *file : {"soap", "shampoo", "kl_shampoo", "psgd_pro", "dion2"})
    for (const RuleVariant &variant : variantsOf(file)) {
      const RuleCase ruleCase = variant.instantiate({});
      SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
      ASSERT_TRUE(sides.make());
      for (int step = 1; step <= 5; ++step) {
        if (step == 4)
          sides.moveGradients(1);
        ASSERT_TRUE(sides.stepBoth());
      }
      ASSERT_TRUE(sides.compare());
    }
}

TEST_P(DeviceCalls, HaveTheBitsOfTheCPUInF64AndAreLeftOutWithTheStep) {
  for (const char *file : {"soap", "shampoo", "kl_shampoo", "dion2"}) {
    const RuleCase ruleCase = variantsOf(file).front().instantiate(
        {{"param", StorageType::F64}, {"grad", StorageType::F64}, {"state", StorageType::F64}});
    SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    ASSERT_TRUE(sides.step(1));
    ASSERT_TRUE(sides.step());
    ASSERT_TRUE(sides.step(1));
    sides.setPresent(2, false);
    ASSERT_TRUE(sides.stepBoth());
    sides.setPresent(2, true);
    ASSERT_TRUE(sides.step());
    ASSERT_TRUE(sides.exchangeFiles());
    ASSERT_TRUE(sides.step());
    ASSERT_TRUE(sides.bindSteps());
    ASSERT_TRUE(sides.stepBoth());
    ASSERT_TRUE(sides.step());
  }
}

RuleCase caseOf(const char *source) {
  RuleCase ruleCase;
  ruleCase.filename = "calls.upd";
  ruleCase.source = source;
  return ruleCase;
}

/// Conditions that the host can't evaluate: they depend on a state, or on a hyperparameter in the
/// device's memory; and steps that the rule itself leaves out.
TEST_P(DeviceCalls, ReadConditionsFromTheDevice) {
  const RuleCase ofState = caseOf(R"(
rule OfState(lr = 0.1) {
  state turns over tensor = 0
  state q over (row, row) = identity(param) when matrix
  update(param, grad) {
    let turn = turns == 2
    next turns = if turn then 0 else turns + 1
    next q     = if turn then qr(gram(grad) + q) else q when matrix
    next param = param - lr * (if matrix then q @ grad else grad)
  }
})");
  const RuleCase skipping = caseOf(R"(
rule Skipping(lr = 0.1, every = 2) {
  state q over (row, row) = identity(param) when matrix
  update(param, grad, step) {
    skip when sum(grad) > 0.5
    let turn = is_multiple(step, every)
    next q     = if turn then qr(gram(grad) + q) else q when matrix
    next param = param - lr * (if matrix then q @ grad else grad)
  }
})");
  for (const RuleCase *ruleCase : {&ofState, &skipping}) {
    SteppedSides sides(*ruleCase, on, tensorsOfTwoGroups());
    ASSERT_TRUE(sides.make());
    for (int step = 0; step < 7; ++step)
      ASSERT_TRUE(sides.stepBoth());
    ASSERT_TRUE(sides.compare());
  }
  SteppedSides sides(skipping, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  ASSERT_TRUE(sides.setHyperInMemory("every", 3));
  for (int step = 0; step < 7; ++step)
    ASSERT_TRUE(sides.stepBoth());
  ASSERT_TRUE(sides.compare());
}

/// A result that one section makes and another one reads.
TEST_P(DeviceCalls, OutliveReductionsOverTheGroup) {
  const RuleCase ruleCase = caseOf(R"(
rule Outliving(lr = 0.1) {
  state m = 0
  update(param, grad) {
    let sorted = if matrix then sort_rows(grad, row_sum(grad)) else grad
    let turned = if matrix then transpose(gram(sorted) @ gram(sorted)) - gram(sorted) else 0
    let n = sqrt(group_sum(sorted * sorted)) + 1
    next m = m + sorted / n
    next param = param - lr * (if matrix then turned @ m else m)
  }
})");
  SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
  ASSERT_TRUE(sides.make());
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(sides.step());
}

//===----------------------------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------------------------===//

class DeviceCallReads : public WatchedSteps {
protected:
  void SetUp() override { shape = {6, 4}; }
  /// The reads of a step.
  size_t readsOfAStep() {
    const size_t before = device->reads + device->waits;
    stepBoth();
    return device->reads + device->waits - before;
  }
};

TEST_F(DeviceCallReads, AreLeftOutOfStepsThatNeedNone) {
  // Eigenvectors in the first step, and a refresh in every second one after it.
  compileRule("soap");
  make(2);
  for (const bool isNeeded : {true, false, true, false, true})
    EXPECT_EQ(readsOfAStep() != 0, isNeeded);
  compare();
  for (runtime::Optimizer *optimizer : {cpu.get(), onDevice.get()})
    ASSERT_TRUE(ok(optimizer->setStep(0, 10)));
  EXPECT_NE(readsOfAStep(), 0u); // the first tensor's
  for (runtime::Optimizer *optimizer : {cpu.get(), onDevice.get()})
    ASSERT_TRUE(ok(optimizer->setHyper(0, "precondition_frequency", 3)));
  EXPECT_NE(readsOfAStep(), 0u); // step 7 of the second tensor
  EXPECT_NE(readsOfAStep(), 0u); // step 13 of the first one
  EXPECT_EQ(readsOfAStep(), 0u);
  EXPECT_NE(readsOfAStep(), 0u); // step 10 of the second one
  compare();
}

TEST_F(DeviceCallReads, AskTheDeviceWhereItMayLeaveOutSteps) {
  compileRule("soap");
  make(2);
  float found[2] = {};
  const upd_tensor views[] = {number(&found[0], UPD_CPU),
                              number(&found[1], runtime::emulatorDevice)};
  ASSERT_TRUE(ok(cpu->bindFoundInf(&views[0])));
  ASSERT_TRUE(ok(onDevice->bindFoundInf(&views[1])));
  EXPECT_NE(readsOfAStep(), 0u);
  found[0] = found[1] = 1;
  EXPECT_EQ(readsOfAStep(), 1u); // the row
  found[0] = found[1] = 0;
  EXPECT_EQ(readsOfAStep(), 1u);
  ASSERT_TRUE(ok(cpu->bindFoundInf(nullptr)));
  ASSERT_TRUE(ok(onDevice->bindFoundInf(nullptr)));
  EXPECT_NE(readsOfAStep(), 0u);
  EXPECT_EQ(readsOfAStep(), 0u);
  compare();
}

TEST_F(DeviceCallReads, AskTheDeviceForCountsOfTheCaller) {
  compileRule("soap");
  make(2);
  float count = 0;
  ASSERT_TRUE(ok(onDevice->bindStep(1, number(&count, runtime::emulatorDevice))));
  for (int step = 0; step < 4; ++step)
    EXPECT_NE(readsOfAStep(), 0u);
  count = 10;
  ASSERT_TRUE(ok(cpu->setStep(1, 10)));
  for (int step = 0; step < 3; ++step)
    EXPECT_NE(readsOfAStep(), 0u);
  compare();
}

TEST_F(DeviceCallReads, AreNoneForTransposes) {
  compileRule("psgd_pro");
  make(2);
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(readsOfAStep(), 0u);
  compare();
}

//===----------------------------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------------------------===//

// Before the step everything is as it was. Copies in the middle of a step fail as launches do.
TEST_F(DeviceCallReads, ThatFailLeaveConsistentCounts) {
  compileRule("soap");
  bool anyFailed = false;
  for (ptrdiff_t calls = 0;; ++calls) {
    make(2);
    stepBoth();
    stepBoth();
    device->callsToFailure = calls;
    const Status status = stepDevice();
    device->callsToFailure = -1;
    if (status.ok())
      break;
    anyFailed = true;
    EXPECT_EQ(status.message(), "the device is full");
    int64_t before[2], after[2];
    ASSERT_TRUE(ok(onDevice->getSteps(before, 2)));
    EXPECT_EQ(before[0], 2);
    ASSERT_TRUE(ok(stepDevice()));
    ASSERT_TRUE(ok(onDevice->getSteps(after, 2)));
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(after[i], before[i] + 1) << calls;
  }
  EXPECT_TRUE(anyFailed);
}

TEST_F(DeviceCallReads, NeedHostMemory) {
  compileRule("soap");
  gpu::DevicePlan plan(deviceRule->kernels, 1);
  ASSERT_EQ(plan.interface().tensors, runtime::TensorClass::Matrix);
  double first = 1;
  constexpr int64_t side = int64_t(1) << 22;
  plan.add({0, 0, {1, side, side}, 0, &first, UPD_F64, &first});
  auto emulator = std::make_shared<emulator::EmulatedDevice>();
  gpu::DeviceArena tables(emulator, gpu::DeviceArena::Use::Filled);
  gpu::DeviceArena scratch(emulator, gpu::DeviceArena::Use::Scratch);
  const Status status =
      plan.reserve(tables, scratch, emulator->matrixBytes(), runtime::callingThread());
  EXPECT_EQ(status.code(), UPD_OUT_OF_MEMORY);
  const std::string start = "no host memory for ",
                    end = " bytes; rule `SOAP` computes `eigenvalues` on the host";
  EXPECT_TRUE(status.message().starts_with(start)) << status.message();
  EXPECT_TRUE(status.message().ends_with(end)) << status.message();
}

// Code for a GPU evaluates conditions as the CPU's code does.
TEST(DeviceCallRule, ForAGPUHasTheFirstPrologueOnTheHost) {
  for (const char *file : {"soap", "shampoo", "psgd_pro"}) {
    RuleCase ruleCase = variantsOf(file).front().instantiate({});
    const RuleHandle ofCpu = llvm::cantFail(compile(ruleCase));
    ruleCase.target = "nvptx:sm_90";
    const RuleHandle ofGPU = llvm::cantFail(compile(ruleCase));
    const runtime::Kernels &kernels = *ofGPU->kernels;
    ASSERT_EQ(kernels.hostPrologues.size(), 2u);
    EXPECT_EQ(kernels.hostPrologues[0], nullptr);
    EXPECT_TRUE(ofCpu->kernels->hostPrologues.empty());
    if (file == std::string_view("psgd_pro")) {
      EXPECT_EQ(kernels.hostPrologues[1], nullptr);
      continue;
    }
    std::vector<double> hypers;
    for (const runtime::HyperInterface &hyper : kernels.interface.hypers)
      hypers.push_back(hyper.defaultValue);
    std::set<std::vector<float>> rows;
    for (int step = 1; step <= 25; ++step) {
      const double facts[UPD_TENSOR_FACTS] = {double(step), double(step == 1), 20, 4, 5, 20};
      std::vector<float> expected(kernels.interface.plans[1].rowScalars), row(expected);
      ofCpu->kernels->plans[1].prologues[0](hypers.data(), facts, nullptr, nullptr, expected.data(),
                                            nullptr);
      kernels.hostPrologues[1](hypers.data(), facts, nullptr, nullptr, row.data(), nullptr);
      // The corrections of the first step are NaN.
      EXPECT_EQ(std::memcmp(row.data(), expected.data(), row.size() * sizeof(float)), 0) << step;
      rows.insert(row);
    }
    EXPECT_GT(rows.size(), 1u);
  }
}

//===----------------------------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------------------------===//

class Transpositions : public OnDevice<> {
protected:
  void SetUp() override { ASSERT_TRUE(gpu::EngineKernels::load(*on.device, engine).ok()); }

  void TearDown() override {
    for (void *memory : allocated)
      on.device->release(memory);
  }

  template <typename T> void *copy(const std::vector<T> &from) {
    void *memory = nullptr;
    EXPECT_TRUE(on.device->allocate(from.size() * sizeof(T) + 1, &memory).ok());
    allocated.push_back(memory);
    EXPECT_TRUE(on.device->write(memory, from.data(), from.size() * sizeof(T), nullptr).ok());
    return memory;
  }

  struct Case {
    runtime::TensorShape shape;
    bool isSkipped = false, isLeftOut = false;
  };

  /// Transposes all in one launch. Elements are integers of the same size, for all bits.
  template <typename Element, typename Bits> void transpose(const std::vector<Case> &cases) {
    std::mt19937_64 random(3);
    std::vector<std::vector<Bits>> all;
    std::vector<void *> results;
    std::vector<gpu::Transposition> jobs;
    int64_t tiles = 0;
    for (const auto &[shape, isSkipped, isLeftOut] : cases) {
      std::vector<Bits> values(static_cast<size_t>(shape.elements()));
      for (Bits &value : values) // quiet and signaling NaNs among them
        value = static_cast<Bits>(random()) |
                (random() % 4 == 0 ? std::bit_cast<Bits>(std::numeric_limits<Element>::infinity())
                                   : Bits(0));
      results.push_back(copy(std::vector<Bits>(values.size(), Bits(77))));
      const std::vector<void *> streams = {copy(values), results.back()};
      const std::vector<Element> row = {Element(isSkipped), 0, Element(!isLeftOut)};
      jobs.push_back({static_cast<void *const *>(copy(streams)), copy(row), 2,
                      sizeof(Element) == 4 ? UPD_F32 : UPD_F64, 0, 1, shape.rows, shape.columns,
                      shape.batches, tiles});
      tiles += jobs.back().tiles();
      all.push_back(std::move(values));
    }
    auto *first = static_cast<gpu::Transposition *>(copy(jobs));
    auto count = static_cast<int64_t>(jobs.size());
    void *arguments[] = {&first, &count, &tiles};
    ASSERT_TRUE(on.device
                    ->launch(engine.transpose, on.device->blocksFor(static_cast<size_t>(tiles), 1),
                             arguments, nullptr)
                    .ok());
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto &[shape, isSkipped, isLeftOut] = cases[i];
      std::vector<Bits> read(all[i].size()), expected(all[i].size(), Bits(77));
      ASSERT_TRUE(
          on.device->read(read.data(), results[i], read.size() * sizeof(Bits), nullptr).ok());
      size_t next = 0;
      for (int64_t b = 0; b < shape.batches && !isSkipped && !isLeftOut; ++b)
        for (int64_t column = 0; column < shape.columns; ++column)
          for (int64_t line = 0; line < shape.rows; ++line)
            expected[next++] = all[i][(b * shape.rows + line) * shape.columns + column];
      EXPECT_EQ(read, expected) << "job " << i;
    }
  }

  gpu::EngineKernels engine;
  std::vector<void *> allocated;
};

// Tiles are 32 wide, and threads of a block take 8 lines at a time.
TEST_P(Transpositions, HaveTheBitsOfTheirOperandAtTheEdgesOfTiles) {
  const std::vector<Case> cases = {
      {{1, 1, 1}},         {{1, 1, 40}},  {{1, 40, 1}}, {{2, 31, 33}}, {{1, 32, 32}},
      {{1, 32, 32}, true}, {{0, 3, 3}},   {{1, 0, 5}},  {{1, 5, 0}},   {{1, 7, 9}, false, true},
      {{3, 65, 8}},        {{1, 100, 70}}};
  transpose<float, uint32_t>(cases);
  transpose<double, uint64_t>(cases);
}

INSTANTIATE_TEST_SUITE_P(All, Transpositions,
                         testing::Combine(testing::ValuesIn(SteppedOn::names())),
                         [](const auto &info) { return std::get<0>(info.param); });

} // namespace
