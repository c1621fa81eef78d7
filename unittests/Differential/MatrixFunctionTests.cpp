//===- MatrixFunctionTests.cpp - Functions of whole matrices, through the C API ---------------===//
// Rules with factorizations and sorts, and with products that only some steps need. Parameters and
// states must be bitwise equal to the interpreter's, which computes everything in every step and
// calls the same LAPACK.

#include "GroupRun.h"

using namespace updraft;
using namespace updraft::differential;

namespace {

struct MatrixFunctionCase {
  const char *name;
  const char *rule; // the body of a rule
};

void PrintTo(const MatrixFunctionCase &functionCase, std::ostream *out) {
  *out << functionCase.name;
}

const MatrixFunctionCase cases[] = {
    {"Factorized", R"(
  state l over (row, row)       = 0 when matrix
  state r over (column, column) = 0 when matrix

  update(param, grad) {
    let left  = if matrix then lerp(l, gram(grad), 0.1) + lr * identity(grad) else 0
    let right = if matrix then lerp(r, gram(transpose(grad)), 0.1) + lr * identity(transpose(grad))
                else 0
    let q = if matrix then eigenvectors(left) else 0
    let e = if matrix then eigenvalues(left) else 0
    let root = if matrix then scale_columns(q, 1 / sqrt(max(e, lr))) @ transpose(q) else 0
    let p = if matrix then eigenvectors(right) else 0
    let f = if matrix then eigenvalues(right) else 0
    let other = if matrix then scale_columns(p, sqrt(max(f, 0))) @ transpose(qr(right)) else 0

    next l     = left
    next r     = right
    next param = param - lr * (if matrix then root @ grad @ other else grad)
  })"},
    {"Solved", R"(
  state l over (row, row) = 0 when matrix

  update(param, grad) {
    let left = if matrix then lerp(l, gram(grad), 0.5) + identity(grad) else 0
    let c    = if matrix then cholesky(left) else 0
    let x    = if matrix then solve_upper(transpose(c), solve_lower(c, grad)) else grad

    next l     = if matrix then left + solve_lower(c, left) else 0
    next param = param - lr * x
  })"},
    {"Sorted", R"(
  state m = 0
  state q over (row, row)       = identity(param) when matrix
  state p over (column, column) = identity(transpose(param)) when matrix

  update(param, grad) {
    let d = if matrix then row_sum(abs(grad)) else 0
    let e = if matrix then column_max(grad) else 0

    next m     = if matrix then sort_columns(sort_rows(grad + m, d), e) else m
    next q     = if matrix then sort_columns(q, d) + lr * gram(grad) else 0
    next p     = if matrix then sort_rows(p, diagonal(p) + e) else 0
    next param = param - lr * (if matrix then q @ m @ p else grad)
  })"},
    // Chosen rows: products, reductions and arithmetic of these, and sums of rows that aren't.
    {"ChosenRows", R"(
  state m = 0

  update(param, grad) {
    let s = m + grad
    let places = if matrix then largest(row_sum(abs(s)), 0.3) else 1
    let c = if matrix then gather_rows(s, places) else s
    let g = if matrix then gram(c) else 0
    let turned = if matrix then (g @ g @ c) / (1 + batch_norm(c)) + column_max(c) else c
    let scale = if matrix then 1 / (1 + sum(abs(g)) + batch_mean(c * c) + mean(g)) else 1

    next m     = if places == 1 then 0.5 * s else s
    next param = param - lr * scale * (if matrix then scatter_rows(turned, places) else turned)
  })"},
    // Chosen columns: their transposes, solutions, and a square matrix that isn't symmetric.
    {"ChosenColumns", R"(
  state m = 0

  update(param, grad) {
    let places = if matrix then largest(column_max(grad), 0.5) else 1
    let c = if matrix then gather_columns(grad, places) else 0
    let x = if matrix then solve_lower(gram(grad) + identity(grad), c + row_sum(c)) else 0
    let k = if matrix then transpose(c) @ x else 0
    let t = if matrix then (transpose(k) - k / 2) @ transpose(x) else 0
    let back = if matrix then scatter_columns(c - transpose(t) / (1 + row_sum(x * x)), places)
               else grad

    next m     = m + back
    next param = param - lr * (m + back)
  })"},
    // Equal values, and a choice of everything.
    {"ChosenAll", R"(
  state m over row = 0 when matrix

  update(param, grad) {
    let places = if matrix then largest(sign(row_sum(grad)), 1) else 1
    let other  = if matrix then largest(column_sum(grad), 1) else 1

    next m     = if matrix then m + places else 0
    next param = param - lr * (if matrix
                               then other * scatter_rows(gather_rows(grad, places), places)
                               else grad)
  })"},
    // Transposes in arithmetic, of states and of values with rows.
    {"Transposed", R"(
  state q over (row, row)       = identity(param) when matrix
  state p over (column, column) = identity(transpose(param)) when matrix

  update(param, grad) {
    let skew = if matrix then transpose(q) - q else 0
    let t    = if matrix then transpose(p * column_sum(grad)) + p else 0

    next q     = if matrix then q + 0.1 * (skew @ q) + row_mean(grad) else 0
    next p     = if matrix then t / (1 + sum(abs(t))) else 0
    next param = param - lr * (if matrix then q @ grad @ t else grad)
  })"},
    // Only some steps need the products, the factorizations, the sums and the writes.
    {"Conditional", R"(
  state q over (row, row) = 0 when matrix
  state n over row        = 0 when matrix
  state m                 = 0
  state slow              = 0 : bf16

  update(param, grad, step, first) {
    let refreshes = !first && 2 * floor(step / 2) == step
    let late      = step > 2
    let g         = if matrix then gram(grad) + lr * identity(grad) else 0
    let turned    = if matrix then (if late then transpose(q) @ grad else grad) else grad
    let moved     = lerp(m, turned, 0.5)

    next q     = if matrix then (if first then eigenvectors(g)
                                 else if refreshes then qr(g @ q) else q) else 0
    next n     = if matrix then (if late then (if refreshes then row_sum(g) else n) else n + 1)
                 else 0
    next m     = if matrix then (if refreshes then q @ moved else moved) else moved
    next slow  = if refreshes then lerp(slow, param, 0.25) else slow
    next param = param - lr * (if matrix then (if late then q @ moved else moved) else moved)
  })"},
    // Tensors of one group choose by themselves. A tensor that is skipped keeps everything.
    {"PerTensor", R"(
  state q over (row, row) = 0 when matrix
  state turns over tensor = 0

  update(param, grad) {
    let turn = turns > 0
    let g    = if matrix then gram(grad) else 0

    skip when sum(grad) > 4
    next q     = if matrix then (if turn then qr(g + identity(g)) else q) else 0
    next turns = if turn then 0 else 1
    next param = param - lr * (if matrix then (if turn then q @ grad else grad) else grad)
  })"},
};

class MatrixFunctions : public testing::TestWithParam<MatrixFunctionCase> {};

RuleCase caseOf(const MatrixFunctionCase &functionCase) {
  RuleCase ruleCase;
  ruleCase.filename = "functions.upd";
  ruleCase.source = std::string("rule R(lr = 0.1) {") + functionCase.rule + "\n}\n";
  return ruleCase;
}

const Shapes shapes = {{7},      {},      {1, 1},    {1, 9},    {9, 1},      {5, 5},
                       {13, 33}, {70, 3}, {64, 64},  {3, 8, 5}, {2, 33, 33}, {2, 2, 3, 4},
                       {0, 4},   {4, 0},  {0, 2, 2}, {3, 0, 2}};

TEST_P(MatrixFunctions, StepAsInterpreted) {
  GroupRun::stepInEveryType(caseOf(GetParam()), shapes, 5);
}

// Large enough for several threads, which share the calls of one window.
TEST_P(MatrixFunctions, StepAsInterpretedOnSeveralThreads) {
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(run.make(caseOf(GetParam()), {{60, 400}, {2, 300, 90}, {170, 170}}, 4));
  for (int step = 1; step <= 3; ++step)
    ASSERT_NO_FATAL_FAILURE(run.step(step, step == 2 ? 1 : 0));
}

INSTANTIATE_TEST_SUITE_P(Of, MatrixFunctions, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
