//===- SquareStateTests.cpp - States of square matrices, through the C API --------------------===//
// Rules with states of rows x rows and columns x columns, over matrices of many shapes. Parameters
// and states must be bitwise equal to the interpreter's, for any number of threads and any CPU.

#include "GroupRun.h"

using namespace updraft;
using namespace updraft::differential;

namespace {

struct SquareCase {
  const char *name;
  const char *rule; // the body of a rule
};

void PrintTo(const SquareCase &squareCase, std::ostream *out) { *out << squareCase.name; }

const SquareCase cases[] = {
    // Shampoo without roots.
    {"Preconditioned", R"(
  state l over (row, row)       = 0 when matrix
  state r over (column, column) = 0 when matrix

  update(param, grad) {
    let left  = if matrix then lerp(l, gram(grad), 0.1) else 0
    let right = if matrix then lerp(r, gram(transpose(grad)), 0.1) else 0

    next l     = left
    next r     = right
    next param = param - lr * (if matrix then left @ grad @ right else grad)
  })"},
    // Products read the states as they were before the step.
    {"Before", R"(
  state q over (row, row)       = identity(param) when matrix
  state p over (column, column) = lr * identity(transpose(param)) when matrix
  state m                       = 0

  update(param, grad) {
    let turned = if matrix then transpose(q) @ grad @ p else grad
    let moved  = lerp(m, turned, 0.5)
    let back   = if matrix then q @ moved @ transpose(p) else moved

    next q     = if matrix then q - lr * (q @ gram(turned)) else 0
    next p     = if matrix then lerp(p, gram(transpose(turned)), 0.25) else 0
    next m     = moved
    next param = param - lr * back
  })"},
    // One state of each storage type, and one that starts from a number.
    {"Stored", R"(
  state a over (row, row)       = 0.5 : bf16 when matrix
  state b over (column, column) = lr : f16 when matrix
  state c over (row, row)       = -1 : f32 when matrix
  state d over (column, column) = 0 when matrix

  update(param, grad, first) {
    let g = if matrix then a @ grad @ b + c @ grad else grad

    next a     = if matrix then (a + c) / 2 else 0
    next b     = if matrix then gram(transpose(grad)) * 1e-2 + lr * identity(transpose(grad)) else 0
    next c     = if matrix then (if first then identity(grad) else c * 0.5) else 0
    next d     = if matrix then d + b else 0
    next param = param - lr * g
  })"},
    // States without products: they only depend on themselves and on numbers.
    {"Alone", R"(
  state l over (row, row)       = identity(param) when matrix
  state r over (column, column) = 2 when matrix

  update(param, grad, step) {
    next l     = if matrix then l * step + lr * identity(param) else 0
    next r     = if matrix then r / (1 + step) - identity(transpose(param)) else 0
    next param = param - lr * grad
  })"},
    // Reductions of states, and values of rows in their arithmetic.
    {"Reduced", R"(
  state l over (row, row) = lr * identity(param) when matrix
  state n over row        = 0 when matrix

  update(param, grad) {
    let g    = if matrix then gram(grad) + 1e-3 * identity(grad) else 0
    let size = if matrix then batch_norm(l) + abs(trace(g)) + 1 else 1
    let next_l = if matrix then lerp(l, g, 0.1) / size + row_mean(grad) * 1e-3 else 0

    next l     = next_l
    next n     = if matrix then row_sum(next_l) + row_max(l) else 0
    next param = param - lr * (if matrix then next_l @ grad / (1 + sum(abs(l))) else grad)
  })"},
    // Products read new states before the first sweep.
    {"Started", R"(
  state l over (row, row) = 0.5 when matrix
  state m                 = 0.25

  update(param, grad) {
    let g = if matrix then l @ m @ transpose(grad) @ m else m * grad

    next l     = if matrix then gram(m) else 0
    next m     = lerp(m, g, 0.5)
    next param = param - lr * g
  })"},
    // A step that is skipped leaves the states alone; `first` holds until one isn't.
    {"Skipped", R"(
  state l over (row, row) = identity(param) when matrix

  update(param, grad, step, first) {
    let g = if matrix then l @ grad else grad

    skip when !isfinite(sum(g)) || step > 2
    next l     = if matrix then (if first then 2 * l else symmetric_product(l, l)) else 0
    next param = param - lr * g
  })"},
};

class SquareStates : public testing::TestWithParam<SquareCase> {};

RuleCase caseOf(const SquareCase &squareCase) {
  RuleCase ruleCase;
  ruleCase.filename = "squares.upd";
  ruleCase.source = std::string("rule R(lr = 0.1) {") + squareCase.rule + "\n}\n";
  return ruleCase;
}

const Shapes shapes = {{7},      {},      {1, 1},    {1, 9},    {9, 1},      {5, 5},
                       {13, 33}, {70, 3}, {64, 64},  {3, 8, 5}, {2, 33, 33}, {2, 2, 3, 4},
                       {0, 4},   {4, 0},  {0, 2, 2}, {3, 0, 2}, {2, 3, 0},   {100, 131}};

TEST_P(SquareStates, StepAsInterpreted) {
  GroupRun::stepInEveryType(caseOf(GetParam()), shapes, 3);
}

// Large enough for several threads, which share the sweeps over a matrix and its products.
TEST_P(SquareStates, StepAsInterpretedOnSeveralThreads) {
  RuleCase ruleCase = caseOf(GetParam());
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, {{60, 400}, {300, 90}, {170, 170}}, 4));
  for (int step = 1; step <= 2; ++step)
    ASSERT_NO_FATAL_FAILURE(run.step(step));
}

TEST_P(SquareStates, StepAsInterpretedOnOtherCPUs) {
  GroupRun::stepOnOtherCPUs(caseOf(GetParam()), shapes);
}

INSTANTIATE_TEST_SUITE_P(Of, SquareStates, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

// A state has a matrix for each matrix of the parameter, with the batches in the parameter's order
// in memory. A parameter without elements may have states with elements.
TEST(SquareStateShapes, AreThoseOfTheBatches) {
  llvm::Expected<RuleHandle> rule = compile(caseOf(cases[0]));
  ASSERT_TRUE(bool(rule)) << llvm::toString(rule.takeError());
  EXPECT_EQ(upd_rule_state_extent(rule->get(), 0), UPD_EXTENT_ROWS_BY_ROWS);
  EXPECT_EQ(upd_rule_state_extent(rule->get(), 1), UPD_EXTENT_COLUMNS_BY_COLUMNS);
  EXPECT_EQ(upd_rule_state_tensors(rule->get(), 1), UPD_MATRICES);
  EXPECT_EQ(upd_rule_depends_on(rule->get()), UPD_EXTENT_TENSOR);
  EXPECT_EQ(upd_rule_uses_rows(rule->get()), 1);

  std::vector<char> whole(2 * 3 * 4 * 5 * sizeof(float)), grad(whole), none(1);
  const std::vector<int64_t> dimensions = {2, 3, 4, 5}, strides = {20, 40, 5, 1}, empty = {2, 0, 3};
  upd_tensor params[] = {view(whole, dimensions, UPD_F32), view(none, empty, UPD_F32)};
  upd_tensor grads[] = {view(grad, dimensions, UPD_F32), view(none, empty, UPD_F32)};
  params[0].strides = grads[0].strides = strides.data();
  upd_group group = {};
  group.params = params;
  group.param_count = 2;
  upd_optimizer *created = nullptr;
  ASSERT_EQ(upd_optimizer_create(rule->get(), &group, 1, nullptr, &created), UPD_OK)
      << upd_last_error();
  const OptimizerHandle optimizer(created);
  ASSERT_EQ(upd_optimizer_step(created, grads, 2), UPD_OK) << upd_last_error();

  const auto expect = [&](size_t param, const char *name, std::vector<int64_t> shape,
                          std::vector<int64_t> expectedStrides) {
    upd_tensor state = {};
    ASSERT_EQ(upd_optimizer_state(created, param, name, &state), UPD_OK) << upd_last_error();
    EXPECT_EQ((std::vector<int64_t>{state.shape, state.shape + state.rank}), shape) << name;
    EXPECT_EQ((std::vector<int64_t>{state.strides, state.strides + state.rank}), expectedStrides)
        << name;
  };
  expect(0, "l", {2, 3, 4, 4}, {16, 32, 4, 1});
  expect(0, "r", {2, 3, 5, 5}, {25, 50, 5, 1});
  expect(1, "l", {2, 0, 0}, {0, 0, 1});
  expect(1, "r", {2, 3, 3}, {9, 3, 1});
}

} // namespace
