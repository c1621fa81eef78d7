//===- RowTests.cpp - Steps of some rows ------------------------------------------------------===//
// Lists of rows of tensors of many shapes, on one to three threads. The interpreter gathers the
// listed rows into a separate tensor, steps that, and scatters the result. Parameters and states,
// including the rows that aren't listed, must be bitwise equal.

#include "ElementText.h"
#include "GroupRun.h"
#include "Inputs.h"
#include "RuleTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;
using reference::Shape;
using reference::Stream;

namespace {

struct RowCase {
  const char *name;
  const char *source; // or a file of rules/
  std::vector<std::pair<std::string, std::string>> settings = {};
  bool worksOnRows = false;
};

void PrintTo(const RowCase &rowCase, std::ostream *out) { *out << rowCase.name; }

const RowCase cases[] = {
    {"SGD", "sgd"},
    {"Momentum", "sgd", {{"momentum", "0.9"}, {"dampening", "0.3"}}},
    {"Adagrad", "adagrad", {{"initial_accumulator_value", "0.1"}, {"lr_decay", "0.1"}}},
    {"Adam", "adam", {{"amsgrad", "true"}, {"weight_decay", "0.1"}}},
    {"SparseAdam", "sparse_adam"},
    {"ScalarState", "nadam"},
    {"RowwiseAdagrad", "rowwise_adagrad", {{"initial_accumulator_value", "0.1"}}, true},
    {"RowsTwice",
     R"(rule R(lr = 0.1) {
  state average over row = 0.5 : f64 when matrix
  state m = 0
  update(param, grad, step) {
    let n = if matrix then row_norm(grad) else 1
    let scaled = grad / (n + 1e-3)
    let a = if matrix then lerp(average, row_max(scaled * param), 0.1) else 0
    next average = a when matrix
    next m = m + scaled
    next param = param - lr * (m + a) / step
  }
})",
     {},
     true},
};

/// One parameter, its optimizer, and the interpreter's copy.
struct RowRun {
  const Interpreter &rule;
  std::vector<int64_t> dimensions;
  TaskThreads pool;
  std::vector<char> compiled = {};
  std::vector<std::vector<char>> interpreted = {}; // by stream
  OptimizerHandle optimizer = nullptr;
  std::mt19937_64 random{7};
  int64_t steps = 0;

  Shape shape() const { return Shape::of(dimensions); }
  /// The bytes of one row in a stream; 0 if all rows share them.
  size_t rowBytes(const Stream &stream) const {
    if (stream.over == Extent::tensor)
      return 0;
    return shape().places(stream.over) / dimensions[0] * elementSize(stream.format);
  }

  void make(upd_rule *compiledRule);
  std::vector<int64_t> chooseRows();
  void step();
  void interpret(const std::vector<int64_t> &indices, std::vector<char> &grad);
  void compare();
};

void RowRun::make(upd_rule *compiledRule) {
  const std::vector<double> initial = rule.initialStates(rule.hyperDefaults());
  for (auto [number, stream] : llvm::enumerate(rule.streams())) {
    std::vector<char> &memory =
        interpreted.emplace_back(shape().places(stream.over) * elementSize(stream.format));
    if (number == 0)
      fillElements(stream.format, memory.data(), shape().count(), random, false);
    for (int64_t i = 0; number >= 2 && i < shape().places(stream.over); ++i)
      storeElement(stream.format, memory.data(), i, initial[number - 2]);
  }
  compiled = interpreted[0];
  const upd_tensor param = view(compiled, dimensions, dtypeOf(rule.streams()[0].format));
  upd_group group = {};
  group.params = &param;
  group.param_count = 1;
  const upd_pool poolView = pool.view();
  upd_optimizer *created = nullptr;
  ASSERT_EQ(upd_optimizer_create(compiledRule, &group, 1, &poolView, &created), UPD_OK)
      << upd_last_error();
  optimizer.reset(created);
}

/// Chooses no rows, all, a contiguous range, or scattered ones.
std::vector<int64_t> RowRun::chooseRows() {
  std::vector<int64_t> indices;
  const int64_t rows = dimensions[0], kind = int64_t(random() % 5);
  const int64_t first = int64_t(random() % uint64_t(rows));
  for (int64_t i = 0; i < rows; ++i)
    if (kind == 1 || (kind == 2 && i >= first) || (kind > 2 && random() % 3 != 0))
      indices.push_back(i);
  return indices;
}

void RowRun::interpret(const std::vector<int64_t> &indices, std::vector<char> &grad) {
  std::vector<int64_t> gatheredDimensions = dimensions;
  gatheredDimensions[0] = int64_t(indices.size());
  reference::TensorStep step;
  step.rule = &rule;
  step.shape = Shape::of(gatheredDimensions);
  step.step = double(steps + 1);
  step.first = steps == 0;
  std::vector<std::vector<char>> gathered;
  for (auto [number, stream] : llvm::enumerate(rule.streams())) {
    std::vector<char> &rows = gathered.emplace_back();
    const size_t bytes = rowBytes(stream);
    for (int64_t index : indices)
      rows.insert(rows.end(), interpreted[number].begin() + index * bytes,
                  interpreted[number].begin() + (index + 1) * bytes);
    rows.resize(rows.size() + 1);
  }
  for (auto [number, stream] : llvm::enumerate(rule.streams()))
    step.buffers.push_back(number == 1             ? grad.data()
                           : rowBytes(stream) == 0 ? interpreted[number].data()
                                                   : gathered[number].data());
  stepGroup({rule.hyperDefaults()}, step);
  for (auto [number, stream] : llvm::enumerate(rule.streams()))
    for (auto [position, index] : llvm::enumerate(indices))
      if (const size_t bytes = rowBytes(stream); number != 1)
        std::copy_n(gathered[number].begin() + position * bytes, bytes,
                    interpreted[number].begin() + index * bytes);
}

void RowRun::compare() {
  for (auto [number, stream] : llvm::enumerate(rule.streams())) {
    const void *ours = compiled.data();
    if (number == 1)
      continue;
    if (number >= 2) {
      upd_tensor state;
      ASSERT_EQ(upd_optimizer_state(optimizer.get(), 0, stream.name.c_str(), &state), UPD_OK)
          << upd_last_error();
      ours = state.data;
    }
    const void *theirs = interpreted[number].data();
    auto place = firstDifference(stream.format, ours, theirs, shape().places(stream.over));
    ASSERT_FALSE(place) << "step " << steps << ", " << stream.name << " at " << *place
                        << "\n  compiled    " << show(stream.format, ours, *place)
                        << "\n  interpreted " << show(stream.format, theirs, *place);
  }
}

void RowRun::step() {
  const std::vector<int64_t> indices = chooseRows();
  std::vector<int64_t> gradDimensions = dimensions;
  gradDimensions[0] = int64_t(indices.size());
  const reference::StorageFormat format = rule.streams()[1].format;
  const int64_t count = Shape::of(gradDimensions).count();
  std::vector<char> grad(count * elementSize(format) + 1);
  fillElements(format, grad.data(), count, random, steps == 3);
  const std::vector<char> before = grad;
  const upd_row_grad rows = {0, indices.data(), indices.size(),
                             view(grad, gradDimensions, dtypeOf(format)), 0};
  ASSERT_EQ(upd_optimizer_step_rows(optimizer.get(), nullptr, 0, &rows, 1), UPD_OK)
      << upd_last_error();
  ASSERT_EQ(grad, before);
  interpret(indices, grad);
  ++steps;
  int64_t taken = 0;
  upd_optimizer_get_step(optimizer.get(), 0, &taken);
  ASSERT_EQ(taken, steps);
  compare();
}

class Rows : public testing::TestWithParam<RowCase> {};

TEST_P(Rows, StepAsInterpretedOnAnyNumberOfThreads) {
  const RowCase &rowCase = GetParam();
  for (const auto &[dtype, threads] :
       {std::pair(StorageType::F32, 1), std::pair(StorageType::BF16, 2),
        std::pair(StorageType::F64, 3)}) {
    RuleCase ruleCase;
    ruleCase.source = rowCase.source;
    ruleCase.filename = "rows.upd";
    if (ruleCase.source.find('{') == std::string::npos)
      ruleCase = RuleVariant{rowCase.source, {}, {}}.instantiate({});
    ruleCase.settings = rowCase.settings;
    ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
    llvm::Expected<RuleHandle> compiled = compile(ruleCase);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    auto forms = interpretForms(ruleCase);
    ASSERT_TRUE(bool(forms)) << llvm::toString(forms.takeError());
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{300},
                                              {1000, 1},
                                              {200, 7},
                                              {500, 64},
                                              {130, 129},
                                              {3, 20000},
                                              {5, 8192},
                                              {40, 3, 50}}) {
      if (rowCase.worksOnRows && shape.size() > 2)
        continue;
      RowRun run{formFor(*forms, shape), shape, {threads}};
      ASSERT_NO_FATAL_FAILURE(run.make(compiled->get()));
      for (int step = 0; step < 6; ++step)
        ASSERT_NO_FATAL_FAILURE(run.step()) << "shape of rank " << shape.size() << " from "
                                            << shape[0] << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
