//===- ProductTests.cpp - Products of matrices, through the C API -----------------------------===//
// Rules that multiply matrices, over tensors of many shapes and batches. Parameters and states must
// be bitwise equal to the interpreter's, for any number of threads and any CPU.

#include "GroupRun.h"

using namespace updraft;
using namespace updraft::differential;

namespace {

struct ProductCase {
  const char *name;
  const char *update; // of a rule R with the state `m`
};

void PrintTo(const ProductCase &productCase, std::ostream *out) { *out << productCase.name; }

const ProductCase cases[] = {
    {"Gram", R"(
    let g = if matrix then gram(grad) @ param else grad
    next m = m + g
    next param = param - lr * g)"},
    {"Columns", R"(
    let g = if matrix then param @ gram(transpose(grad)) else grad
    next m = lerp(m, g, 0.5)
    next param = param - lr * m)"},
    {"Orthogonalized", R"(
    let d = lerp(m, grad, 0.9)
    let unit = if matrix then d / (batch_norm(d) + 1e-7) else d
    let o = if matrix then newton_schulz(unit, [(3.4445, -4.775, 2.0315), (2, -1.5, 0.5)]) else d
    next m = d
    next param = param * (1 - lr) - lr * (if matrix then sqrt(max(rows(), columns())) else 1) * o)"},
    {"SymmetricOfOthers", R"(
    let a = if matrix then symmetric_product(param, transpose(grad)) else 1
    let b = if matrix then (a @ a) @ param + grad else grad
    next m = b
    next param = lerp(param, b, lr))"},
    {"Rows", R"(
    let g = if matrix then grad @ transpose(param) else 0
    let scale = if matrix then 1 / (row_sum(abs(g)) + 1) else 1
    next m = m + scale * grad
    next param = if matrix then param - lr * g @ (scale * grad) else param)"},
    {"ColumnsOfSquares", R"(
    let g = if matrix then transpose(grad) @ grad else 1
    let scale = if matrix then column_sum(abs(g)) + batch_max(g) else 1
    let all = if matrix then sum(g) + mean(transpose(param) @ grad) else 0
    next m = m + grad / (scale + 1)
    next param = param - lr * (grad + all * 1e-3))"},
    {"Transposed", R"(
    let t = if matrix then transpose(grad) else grad
    let n = norm(t) + max(abs(t)) + dot(t, t)
    let g = if matrix then transpose(2 * t / (n + 1)) + batch_norm(t) else t
    next m = m + g
    next param = param - lr * g)"},
    {"Elementwise", R"(
    let p = if matrix then grad @ transpose(param) else 0
    let q = if matrix then (p - transpose(p)) / (max(abs(p)) + 1) else 0
    let g = if matrix then q @ grad else grad
    next m = lerp(m, g, 0.5)
    next param = param - lr * g)"},
    {"Reduced", R"(
    let p = if matrix then grad @ transpose(param) else 0
    let q = if matrix then transpose(grad) @ param else 0
    let n = if matrix then rms(p) + mean(abs(q)) + batch_mean(p * p) + batch_max(abs(q)) else 1
    let g = if matrix then (grad - row_mean(p) - column_mean(q)) / (n + 1) else grad
    next m = m + g
    next param = param - lr * g)"},
    {"Sums", R"(
    let t = lerp(m, grad, 0.5)
    let square = if matrix then grad @ transpose(param) else 0
    let x = if matrix then 0.25 * (square @ grad) + lr * grad else grad
    let y = if matrix then square @ x + t else t
    let z = if matrix then transpose(x) @ y * lr + transpose(t) @ t else 0
    let w = if matrix then z + z @ z * 2e-3 else 0
    next m = t
    next param = param - lr * bounded(if matrix then y @ w else y))"},
    {"SymmetricSums", R"(
    let x = grad / (max(abs(grad)) + 1)
    let a = if matrix then gram(x) else 0
    let b = if matrix then lr * (a @ a) + -0.5 * a else 0
    let other = if matrix then param @ transpose(grad) else 0
    let c = if matrix then gram(x) * 3 + other else 0
    let d = if matrix then a @ b + b * 2 else 0
    next m = m + (if matrix then bounded(d @ x) else x)
    next param = param - lr * (if matrix then bounded(c @ x + other @ grad) else x))"},
    {"Targets", R"(
    let t = grad / (max(abs(grad)) + 1)
    let a = if matrix then gram(t) else 0
    let b = if matrix then gram(transpose(t)) else 0
    next m = 0.75 * m + (if matrix then a @ t else t)
    next param = (1 - lr) * param + -lr * (if matrix then 2 * (t @ b) + 0.5 * t else t))"},
    // Simplification finds that these values don't depend on the element.
    {"SameForAllElements", R"(
    let same = if grad > 0 then 0.25 else 0.25
    let fixed = if lr > 1 && !(lr > 1) then grad else 0.5
    let square = if matrix then gram(fixed) + grad @ transpose(same) else 0
    let turned = if matrix then transpose(transpose(fixed) * 3) @ transpose(same) @ grad else 0
    let n = sum(same) + mean(fixed) + (if matrix then max(row_norm(same)) + batch_max(fixed) else 1)
    let g = (if matrix then square @ fixed + turned else same) / n
    next m = m + g
    next param = param - lr * g)"},
    {"Group", R"(
    let n = group_norm(grad)
    let o = if matrix then (grad @ transpose(grad)) @ grad else grad
    let all = group_norm(o)
    next m = o / (all + n)
    next param = param - lr * o / all)"},
};

class Products : public testing::TestWithParam<ProductCase> {};

RuleCase caseOf(const ProductCase &productCase) {
  RuleCase ruleCase;
  ruleCase.filename = "products.upd";
  ruleCase.source = std::string("fn bounded(x) = max(-2, min(x, 2))\n"
                                "fn group_norm(x) = sqrt(group_sum(x * x)) + 1e-6\n"
                                "rule R(lr = 0.1) {\n  state m = 0\n  update(param, grad) {") +
                    productCase.update + "\n  }\n}\n";
  return ruleCase;
}

const Shapes shapes = {{7},          {1, 1},  {1, 9},   {9, 1},    {5, 5},
                       {13, 33},     {70, 3}, {64, 64}, {3, 8, 5}, {2, 33, 33},
                       {2, 2, 3, 4}, {0, 4},  {4, 0},   {0, 2, 2}, {100, 131}};

TEST_P(Products, StepAsInterpreted) { GroupRun::stepInEveryType(caseOf(GetParam()), shapes, 3); }

// Large enough for several threads and blocks of the depth.
TEST_P(Products, StepAsInterpretedOnSeveralThreads) {
  RuleCase ruleCase = caseOf(GetParam());
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, {{150, 400}, {400, 150}, {170, 170}}, 4));
  for (int step = 1; step <= 2; ++step)
    ASSERT_NO_FATAL_FAILURE(run.step(step));
}

// A step has memory for the threads that there were when it was prepared.
TEST_P(Products, StepAsInterpretedIfThreadsComeOrGo) {
  RuleCase ruleCase = caseOf(GetParam());
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(
      run.make(ruleCase, {{100, 260}, {60, 60}, {33, 70}, {260, 100}, {20, 30}}, 2));
  ASSERT_NO_FATAL_FAILURE(run.step(1, 7));
  ASSERT_NO_FATAL_FAILURE(run.step(2, 1));
}

TEST_P(Products, StepAsInterpretedOnOtherCPUs) {
  GroupRun::stepOnOtherCPUs(caseOf(GetParam()), shapes);
}

/// Steps a rule R with the hyperparameter `lr` and this body, in the first steps of new states.
void stepAsInterpreted(const char *body) {
  RuleCase ruleCase;
  ruleCase.filename = "products.upd";
  ruleCase.source = std::string("rule R(lr = 0.1) {") + body + "\n}\n";
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(
      run.make(ruleCase, {{4, 3}, {5, 9}, {9, 5}, {0, 4}, {4, 0}, {2, 3, 3}, {7}}, 2));
  for (int step = 1; step <= 3; ++step)
    ASSERT_NO_FATAL_FAILURE(run.step(step));
}

// No sweep follows the product that changes `m`.
TEST(ProductTargets, AreFilledOnce) {
  stepAsInterpreted(R"(
  state m = 0.5
  update(param, grad) {
    let a = if matrix then grad @ transpose(grad) else 0
    let moved = 0.75 * m + (if matrix then a @ grad else grad)
    next m = moved
    next param = (1 - lr) * param + (if matrix then a @ moved else moved)
  })");
}

TEST(ProductTargets, AreFilledBeforeLaterSweeps) {
  stepAsInterpreted(R"(
  state m = 0.5
  update(param, grad) {
    let a = if matrix then grad @ transpose(grad) else 0
    let moved = 0.75 * m + (if matrix then a @ grad else grad)
    next m = moved
    let largest = max(abs(if matrix then a @ moved else moved))
    next param = param - lr * moved / (largest + 1)
  })");
}

// A later product decides whether the step is skipped.
TEST(ProductTargets, KeepTheirValuesInSkippedSteps) {
  stepAsInterpreted(R"(
  update(param, grad) {
    let a = if matrix then grad @ transpose(grad) else 0
    let u = if matrix then a @ grad else grad
    skip when (if matrix then max(abs(a @ a @ grad)) else 0) > 5
    next param = (1 - lr) * param + u
  })");
}

INSTANTIATE_TEST_SUITE_P(Of, Products, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
