//===- RuleInterfaceErrorTests.cpp - Invalid interfaces of rules
//--------------------------------===//
// Each test changes one member of a valid interface, writes the descriptor and reads it.

#include "InterfaceRules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

using Kind = StreamInterface::Kind;

/// The error when `rule` is read after a change. `change` gets the rule and its last plan.
std::string problemOf(RuleInterface rule,
                      const std::function<void(RuleInterface &, PlanInterface &)> &change) {
  change(rule, rule.plans.back());
  RuleInterface result;
  result.name = "untouched";
  Status status = RuleInterface::read(rule.write(), result);
  EXPECT_EQ(result.name, "untouched");
  EXPECT_EQ(status.code(), UPD_INVALID_ARGUMENT);
  const std::string start = "descriptor of a compiled rule: ";
  EXPECT_EQ(status.message().substr(0, start.size()), start);
  return status.message().substr(std::min(start.size(), status.message().size()));
}

#define EXPECT_PROBLEM(base, change, message)                                                      \
  EXPECT_EQ(problemOf(base(), [](RuleInterface &rule [[maybe_unused]],                             \
                                 PlanInterface &plan [[maybe_unused]]) { change; }),               \
            message)

TEST(RuleInterface, RefusesInvalidRules) {
  EXPECT_PROBLEM(adamw, rule.name.clear(), "the rule has no name");
  EXPECT_PROBLEM(adamw, rule.compute = UPD_F16, "rules compute in `f32` or `f64`, not `f16`");
  EXPECT_PROBLEM(adamw, rule.compute = upd_dtype(7), "unknown element type 7 of the computation");
  EXPECT_PROBLEM(adamw, rule.grad = UPD_Q8_LINEAR,
                 "the gradient is `q8_linear`, which is for states");
  EXPECT_PROBLEM(adamw, rule.hypers[0].defaultValue = NAN, "the default of `lr` is NaN");
  EXPECT_PROBLEM(adamw, rule.hypers.push_back(rule.hypers[0]), "hyperparameter `lr` appears twice");
  EXPECT_PROBLEM(adamw, rule.hypers[0].name.clear(), "a hyperparameter has no name");
  EXPECT_PROBLEM(adamw, rule.states[0].over = Extent(11),
                 "unknown extent of a state 11, expected 0 to 10");
  EXPECT_PROBLEM(adamw, rule.states[0].over = Extent::ChosenByChosen,
                 "state `exp_avg` is over chosen rows or columns");
  EXPECT_PROBLEM(adamw, rule.states[0].over = Extent::Batch, "state `exp_avg` is over a batch");
  EXPECT_PROBLEM(adamw, rule.states[0].over = plan.streams[2].over = Extent::RowsByRows,
                 "state `exp_avg` is over square matrices, but not of matrices alone");
  EXPECT_PROBLEM(adamw, (rule.states[0] = {"m", UPD_Q8_LINEAR, Extent::Row}),
                 "state `m` has blocks, but is not over elements");
  EXPECT_PROBLEM(adamw, rule.dependsOn = Extent::Row,
                 "`depends_on` is neither elements, nor tensor, nor group");
  EXPECT_PROBLEM(adamw, rule.derived[0].message = 1, "derived flag `maximize` has message 1 of 1");
  EXPECT_PROBLEM(adamw, rule.derived[0].hypers = {1},
                 "derived flag `maximize` has hyperparameter 1 of 1");
  EXPECT_PROBLEM(adamw, rule.plans.clear(), "there is no plan");
  EXPECT_PROBLEM(adamw, rule.plans.push_back(PlanInterface(plan)),
                 "there is not exactly one plan for each tensor");
  EXPECT_PROBLEM(factored, plan.tensors = TensorClass::Vector,
                 "there is not exactly one plan for each tensor");
  EXPECT_PROBLEM(adamw, plan.tensors = TensorClass(3),
                 "unknown class of tensors of a plan 3, expected 0 to 2");
  EXPECT_PROBLEM(adamw, rule.states[0].tensors = TensorClass::Matrix,
                 "no plan has state `exp_avg`");
  EXPECT_PROBLEM(factored, plan.sweeps[0].reductions[1].kind = ReductionInterface::Kind::Sum,
                 "the plans have different reductions over the group");
}

TEST(RuleInterface, RefusesInvalidStreams) {
  EXPECT_PROBLEM(adamw, plan.streams.resize(1),
                 "the first streams of a plan are not the parameter and the gradient");
  EXPECT_PROBLEM(adamw, std::swap(plan.streams[0], plan.streams[1]),
                 "the first streams of a plan are not the parameter and the gradient");
  EXPECT_PROBLEM(adamw, plan.streams[2].kind = Kind::Param,
                 "stream 2 is another parameter or gradient");
  EXPECT_PROBLEM(adamw, plan.streams[2].state = 1, "stream 2 is state 1 of 1");
  EXPECT_PROBLEM(adamw, plan.streams[2].dtype = UPD_F64,
                 "stream 2 is of `f64` over an element, expected `f32` over an element");
  EXPECT_PROBLEM(adamw, plan.streams.pop_back(), "a plan has state `exp_avg` 0 times");
  EXPECT_PROBLEM(adamw, plan.streams.push_back(StreamInterface(plan.streams[2])),
                 "a plan has state `exp_avg` 2 times");
  EXPECT_PROBLEM(adamw, plan.scalarStates = {0},
                 "`scalars` has state 0, which has no value per tensor or group");
  EXPECT_PROBLEM(adamw, rule.states[0].dtype = plan.streams[2].dtype = UPD_Q8_LINEAR,
                 "stream 2 has blocks, but no scales");
  EXPECT_PROBLEM(adamw, plan.streams.push_back({Kind::Scales, UPD_F32, Extent::Element}),
                 "stream 3 has the scales of stream 4, which needs none");
  EXPECT_PROBLEM(factored, std::swap(plan.streams[2], plan.streams[3]),
                 "stream 3 follows a temporary but is not one");
  EXPECT_PROBLEM(factored, plan.streams[3].over = Extent::Tensor,
                 "temporary 3 is of `f64` over a tensor, expected elements within the tensor");
  EXPECT_PROBLEM(factored, plan.streams[4].dtype = UPD_Q8_LINEAR,
                 "temporary 4 is of `q8_linear` over a row, expected elements within the tensor");
  EXPECT_PROBLEM(factored, plan.scalarStates.clear(), "a plan has state `mu` 0 times");
}

TEST(RuleInterface, RefusesInvalidSweeps) {
  EXPECT_PROBLEM(adamw, plan.prefix.clear(), "a plan has no prefix");
  EXPECT_PROBLEM(adamw, plan.rowScalars = 0, "a row has 0 scalars, expected 1 to 65536");
  EXPECT_PROBLEM(adamw, plan.rowScalars = 65537, "a row has 65537 scalars, expected 1 to 65536");
  EXPECT_PROBLEM(adamw, plan.sweeps[0].over = Extent::Tensor, "a sweep is over a tensor");
  EXPECT_PROBLEM(adamw, plan.sweeps[0].over = Extent::Row,
                 "`reads` of a flat sweep over a row has stream 0, which is over an element");
  EXPECT_PROBLEM(adamw, plan.sweeps[0].reads[2] = 3, "`reads` has stream 3 of 3");
  EXPECT_PROBLEM(adamw, plan.sweeps[0].writes = {1}, "a sweep writes the gradient");
  EXPECT_PROBLEM(adamw, plan.sweeps[0].makes = {2},
                 "a sweep over an element makes stream 2, expected a temporary over an element");
  EXPECT_PROBLEM(adamw, (plan.sweeps[0].reductions = {{{}, Extent::Element}}),
                 "a reduction is over an element");
  EXPECT_PROBLEM(adamw, (plan.sweeps[0].reductions = {{{}, Extent::Row, 2}}),
                 "a flat sweep has a reduction over a row");
  EXPECT_PROBLEM(adamw,
                 (plan.sweeps[0].reductions = {{ReductionInterface::Kind(2), Extent::Tensor}}),
                 "unknown kind of a reduction 2, expected 0 to 1");
  EXPECT_PROBLEM(adamw, plan.sweeps[0].isBatches = true,
                 "a loop over batches is over an element, not a row or column");
  EXPECT_PROBLEM(factored, plan.sweeps[1].isMatrix = true,
                 "a matrix loop is over a row, not an element");
  EXPECT_PROBLEM(
      factored, plan.sweeps[0].reductions[0].into = 2,
      "a reduction over a row goes into stream 2, expected a temporary of `f64` over a row");
  EXPECT_PROBLEM(
      factored, plan.sweeps[0].reductions[0].into = 4,
      "a reduction over a row goes into stream 4, expected a temporary of `f64` over a row");
  EXPECT_PROBLEM(
      factored, plan.sweeps[0].reductions[0].into = 9,
      "a reduction over a row goes into stream 9, expected a temporary of `f64` over a row");
  EXPECT_PROBLEM(factored, plan.sweeps[2].writes = {2},
                 "a sweep over an element writes stream 2, which is over a row");
  EXPECT_PROBLEM(factored, plan.sweeps[0].reductions[1].over = Extent::Batch,
                 "a matrix sweep has a reduction over a batch");
  EXPECT_PROBLEM(factored, rule.plans[0].sweeps[0].reductions[0].over = Extent::Batch,
                 "a flat sweep has a reduction over a batch");
}

/// The products, with a state in blocks as stream 2 and its scales as stream 3.
static RuleInterface productsWithBlocks() {
  RuleInterface rule = test::products();
  rule.states = {test::adamw().states.front()};
  rule.states[0].dtype = UPD_Q8_LINEAR;
  rule.states[0].over = Extent::Element;
  auto move = [](uint32_t &stream) { stream += stream < 2 ? 0 : 2; };
  for (PlanInterface &plan : rule.plans) {
    plan.streams.insert(plan.streams.begin() + 2,
                        {{Kind::State, UPD_Q8_LINEAR, Extent::Element, 0, 3},
                         {Kind::Scales, UPD_F32, Extent::Element}});
    plan.firstTemporary += 2;
    for (SweepInterface &sweep : plan.sweeps)
      for (std::vector<uint32_t> *list : {&sweep.reads, &sweep.writes, &sweep.makes})
        std::for_each(list->begin(), list->end(), move);
    for (ProductInterface &product : plan.products)
      for (uint32_t *stream : {&product.lhs, &product.rhs, &product.result})
        move(*stream);
  }
  return rule;
}

TEST(RuleInterface, RefusesProductsOfScales) {
  RuleInterface read;
  EXPECT_EQ(RuleInterface::read(productsWithBlocks().write(), read).message(), "");
  EXPECT_PROBLEM(productsWithBlocks, plan.products[1].rhs = 3,
                 "the right operand of a product has scales of blocks, expected a matrix of `f32`");
  EXPECT_PROBLEM(productsWithBlocks, plan.products[1].addend = 3,
                 "the addend of a product has scales of blocks, expected a matrix of `f32`");
}

TEST(RuleInterface, RefusesInvalidProducts) {
  EXPECT_PROBLEM(products, plan.products[0].lhs = 6,
                 "the left operand of a product is stream 6 of 6");
  EXPECT_PROBLEM(products, plan.products[0].rhs = 7,
                 "the right operand of a product is stream 7 of 6");
  EXPECT_PROBLEM(products, plan.products[0].lhs = 1,
                 "the left operand of a product is of `bf16` over an element, expected a matrix of "
                 "`f32`");
  EXPECT_PROBLEM(products, (plan.streams[5] = {Kind::Temporary, UPD_F32, Extent::Row}),
                 "the result of a product is of `f32` over a row, expected a matrix of `f32`");
  EXPECT_PROBLEM(products, (plan.streams[5].dtype = UPD_F64),
                 "the result of a product is of `f64` over columns x columns, expected a matrix of "
                 "`f32`");
  EXPECT_PROBLEM(products, plan.products[1].result = 0,
                 "the result of a product is stream 0, expected a temporary that is no operand");
  EXPECT_PROBLEM(products, (plan.products[1] = {2, 3, 3}),
                 "the result of a product is stream 3, expected a temporary that is no operand");
  EXPECT_PROBLEM(products, plan.products[0].rhsTransposed = false,
                 "the streams 0 and 0 have no product over rows x rows");
  EXPECT_PROBLEM(products, plan.products[0].result = 5,
                 "the streams 0 and 0 have no product over columns x columns");
  EXPECT_PROBLEM(products, plan.products[2].lhsTransposed = false,
                 "the streams 4 and 0 have no product over columns x columns");
  EXPECT_PROBLEM(doubleProducts, plan.products[1].operandFormat = UPD_BF16,
                 "a bf16 product of `f64`, expected `f32`");
  EXPECT_PROBLEM(doubleProducts, plan.products[1].operandFormat = UPD_F16,
                 "an f16 product of `f64`, expected `f32`");
  EXPECT_PROBLEM(products, (plan.rowScalars = 2, plan.products[1].scale = 1),
                 "a product has a scale, but no addend");
  EXPECT_PROBLEM(products, plan.products[1].addendScale = 9,
                 "a product has the scales 0 and 9 of a row of 1 scalars");
  EXPECT_PROBLEM(products, plan.products[1].addend = 9, "the addend of a product is stream 9 of 6");
  EXPECT_PROBLEM(products, plan.products[1].addend = 2,
                 "the addend of a product is stream 2, expected another one over an element than "
                 "the result");
  EXPECT_PROBLEM(products, (rule.gpu = "nvptx:sm_80", plan.products[1].addend = 0),
                 "a product of a rule for a GPU has an addend");
  const std::string target = ", expected the parameter or a state over an element that the product "
                             "doesn't read, and no symmetric product";
  EXPECT_PROBLEM(products, (plan.rowScalars = 2, plan.products[1].sumScale = 1),
                 "a product has a scale of the sum or of the target, but no target");
  EXPECT_PROBLEM(products, plan.products[1].targetScale = 9,
                 "a product has the scales 0 and 9 of a row of 1 scalars");
  EXPECT_PROBLEM(products, plan.products[1].target = 9, "the target of a product is stream 9 of 6");
  EXPECT_PROBLEM(products, plan.products[1].target = 1,
                 "the target of a product is of `bf16` over an element, expected a matrix of "
                 "`f32`");
  EXPECT_PROBLEM(products, plan.products[1].target = 3,
                 "the target of a product is stream 3" + target);
  EXPECT_PROBLEM(products, plan.products[1].target = 4,
                 "the target of a product is stream 4" + target);
  EXPECT_PROBLEM(products, plan.products[1].target = 0,
                 "the target of a product is stream 0" + target);
  EXPECT_PROBLEM(products, (rule.gpu = "nvptx:sm_80", plan.products[1].target = 0),
                 "a product of a rule for a GPU has a target");
  EXPECT_PROBLEM(products, plan.products[1].symmetric = true,
                 "the result of a symmetric product is over an element");
  EXPECT_PROBLEM(
      products, plan.sweeps[0].over = Extent::ColumnsByColumns,
      "`reads` of a matrix sweep over columns x columns has stream 2, which is over rows "
      "x rows");
  EXPECT_PROBLEM(
      products, plan.sweeps[0].reads = {0},
      "`reads` of a matrix sweep over rows x rows has stream 0, which is over an element");
  EXPECT_PROBLEM(
      products, (plan.sweeps[1].isMatrix = true, plan.sweeps[1].reads = {3}),
      "`reads` of a matrix sweep over an element has stream 3, which is over rows x rows");
  EXPECT_PROBLEM(products, (plan.sweeps[0].reductions = {{{}, Extent::Column}}),
                 "a matrix sweep has a reduction over a column");
  EXPECT_PROBLEM(products, (plan.sweeps[0].reductions = {{{}, Extent::RowsByRows}}),
                 "a reduction is over rows x rows");
  EXPECT_PROBLEM(
      products, plan.sweeps[0].makes = {4},
      "`makes` of a matrix sweep over rows x rows has stream 4, which is over an element");
}

TEST(RuleInterface, RefusesInvalidCalls) {
  EXPECT_PROBLEM(calls, plan.calls[0].operands[0] = 9,
                 "a call of `eigenvectors` has stream 9 of 9");
  EXPECT_PROBLEM(calls, plan.calls[1].operands[0] = 1,
                 "a call of `eigenvalues` has stream 1 of `bf16`, expected `f32`");
  EXPECT_PROBLEM(calls, plan.streams[7].over = Extent::Column,
                 "a call of `eigenvalues` takes rows x rows and makes a column");
  EXPECT_PROBLEM(calls, plan.calls[0].operands[0] = 0,
                 "a call of `eigenvectors` takes an element and makes rows x rows");
  EXPECT_PROBLEM(calls, plan.calls[2].operands = (std::vector<uint32_t>{6, 2}),
                 "a call of `sort_columns` takes rows x rows and rows x rows and makes rows x "
                 "rows");
  EXPECT_PROBLEM(calls, plan.calls[2].result = 6,
                 "the result of a call of `sort_columns` is stream 6, expected a temporary that is "
                 "no operand");
  EXPECT_PROBLEM(calls, plan.calls[2].result = 9, "a call of `sort_columns` has stream 9 of 9");
  EXPECT_PROBLEM(calls, (plan.calls[2] = {MatrixFunction::SortRows, {4, 7}, 0}),
                 "the result of a call of `sort_rows` is stream 0, expected a temporary that is no "
                 "operand");
  EXPECT_PROBLEM(calls, (plan.calls[2] = {MatrixFunction::SortRows, {0, 7}, 8}),
                 "a call of `sort_rows` takes an element and a row and makes rows x rows");
  EXPECT_PROBLEM(calls, (plan.calls[2] = {MatrixFunction::SortColumns, {0, 7}, 4}),
                 "a call of `sort_columns` takes an element and a row and makes an element");
  EXPECT_PROBLEM(calls, (plan.calls[2] = {MatrixFunction::SolveUpper, {5, 0}, 4}),
                 "a call of `solve_upper` takes columns x columns and an element and makes an "
                 "element");
  EXPECT_PROBLEM(calls, (plan.calls[2] = {MatrixFunction::SolveLower, {6, 0}, 8}),
                 "a call of `solve_lower` takes rows x rows and an element and makes rows x rows");
  EXPECT_PROBLEM(calls, (plan.calls[2] = {MatrixFunction::Transpose, {0}, 4}),
                 "a call of `transpose` takes an element and makes an element");
  EXPECT_PROBLEM(calls, plan.sequence.back().condition = 2,
                 "a stage has the condition 2 of a row of 2 scalars");
  EXPECT_PROBLEM(calls, (plan.exclusiveConditions = {{0, 1}}),
                 "the conditions 0 and 1 exclude each other, expected two from 1 to 1, the smaller "
                 "one first");
  EXPECT_PROBLEM(calls, (plan.exclusiveConditions = {{1, 1}}),
                 "the conditions 1 and 1 exclude each other, expected two from 1 to 1, the smaller "
                 "one first");
  EXPECT_PROBLEM(calls, (plan.exclusiveConditions = {{1, 2}}),
                 "the conditions 1 and 2 exclude each other, expected two from 1 to 1, the smaller "
                 "one first");
  const char *order = "pairs of conditions that exclude each other are not in ascending order";
  EXPECT_PROBLEM(calls, (plan.rowScalars = 4, plan.exclusiveConditions = {{1, 3}, {1, 2}}), order);
  EXPECT_PROBLEM(calls, (plan.rowScalars = 4, plan.exclusiveConditions = {{1, 2}, {1, 2}}), order);
}

TEST(RuleInterface, RefusesInvalidChoices) {
  EXPECT_PROBLEM(chosen, plan.chosen = 1.5,
                 "a plan chooses 1.5 of the rows or columns, expected 0 to 1");
  EXPECT_PROBLEM(chosen, plan.chosen = std::nan(""),
                 "a plan chooses nan of the rows or columns, expected 0 to 1");
  EXPECT_PROBLEM(chosen, plan.chosen = 0,
                 "a call of `largest` is in a plan that chooses no rows or columns");
  EXPECT_PROBLEM(chosen, plan.calls[3].operands[0] = 0,
                 "a call of `largest` takes an element and makes a row");
  EXPECT_PROBLEM(chosen, plan.calls[4].operands[0] = 10,
                 "a call of `gather_rows` takes chosen rows x columns and a row and makes chosen "
                 "rows x columns");
  EXPECT_PROBLEM(chosen, plan.calls[4].function = MatrixFunction::GatherColumns,
                 "a call of `gather_columns` takes an element and a row and makes chosen rows x "
                 "columns");
  EXPECT_PROBLEM(chosen, plan.calls[5].operands[0] = 12,
                 "a call of `scatter_rows` takes rows x chosen columns and a row and makes an "
                 "element");
  EXPECT_PROBLEM(chosen, plan.calls[5].result = 10,
                 "a call of `scatter_rows` takes chosen rows x columns and a row and makes chosen "
                 "rows x columns");
  EXPECT_PROBLEM(chosen, (plan.calls[5] = {MatrixFunction::SortRows, {10, 9}, 10}),
                 "a call of `sort_rows` takes chosen rows x columns and a row and makes chosen "
                 "rows x columns");
  EXPECT_PROBLEM(chosen, plan.products.back().rhs = 0,
                 "the streams 10 and 0 have no product over chosen x chosen");
}

TEST(RuleInterface, RefusesPlansThatDoNotCoverEachShapeOnce) {
  const std::string several = "there is not exactly one plan for each tensor";
  EXPECT_PROBLEM(products, plan.shapes = WideMatrices | SquareMatrices, several);
  EXPECT_PROBLEM(products, plan.shapes = AllMatrices, several);
  EXPECT_PROBLEM(products, rule.plans[1].shapes = TallMatrices, several);
  EXPECT_PROBLEM(products, rule.plans[0].shapes = WideMatrices, several);
  EXPECT_PROBLEM(products, rule.plans[0].tensors = TensorClass::Any, several);
  EXPECT_PROBLEM(products, rule.plans.pop_back(), several);
  EXPECT_PROBLEM(adamw, plan.shapes = WideMatrices, several);
  // Plans for matrices only.
  RuleInterface rule = products();
  rule.plans.erase(rule.plans.begin());
  EXPECT_EQ(readBack(rule).plans.size(), 2u);
}

} // namespace
