//===- InterfaceRules.cpp - Interfaces of rules for tests
//---------------------------------------===//

#include "InterfaceRules.h"

#include "FakeRules.h"

#include <gtest/gtest.h>

using namespace updraft::runtime;

using Kind = StreamInterface::Kind;

RuleInterface test::adamw() {
  RuleInterface rule;
  rule.name = "AdamW";
  rule.numerics = "ieee";
  rule.statics = {{"amsgrad", "false"}, {"maximize", "false"}};
  rule.hypers = {{"lr", 0.001}};
  rule.grad = UPD_BF16;
  rule.states = {{"exp_avg", UPD_F32}};
  rule.messages = {"Invalid learning rate: {lr}"};
  rule.derived = {{"maximize", {0}, 0}};
  PlanInterface plan;
  plan.prefix = "AdamW";
  plan.rowScalars = 6;
  plan.prologues = 1;
  plan.sweeps = {{{0, 1, 2}, {0, 2}}};
  plan.sequence = {StageInterface::prologue(0), StageInterface::sweep(0)};
  rule.plans = {plan};
  test::listStreams(rule);
  return rule;
}

RuleInterface test::factored() {
  using Reduction = ReductionInterface::Kind;
  RuleInterface rule;
  rule.name = "F";
  rule.states = {{"v", UPD_F32, Extent::Element, TensorClass::Vector},
                 {"row_var", UPD_F16, Extent::Row, TensorClass::Matrix},
                 {"mu", UPD_F64, Extent::Tensor}};
  PlanInterface vectors;
  vectors.tensors = TensorClass::Vector;
  vectors.prefix = "F";
  vectors.rowScalars = 2;
  vectors.usesRandom = true;
  vectors.prologues = 1;
  vectors.sweeps = {{{1}, {}, {}, {{Reduction::Max, Extent::Group}}}, {{0, 1, 2}, {0, 2}}};
  vectors.sequence = {StageInterface::sweep(0), StageInterface::prologue(0, true),
                      StageInterface::sweep(1)};
  PlanInterface matrices;
  matrices.tensors = TensorClass::Matrix;
  matrices.prefix = "F_matrix";
  matrices.rowScalars = 3;
  matrices.prologues = 1;
  matrices.streams = {{Kind::Temporary, UPD_F64, Extent::Row},
                      {Kind::Temporary, UPD_F32, Extent::Row}};
  matrices.sweeps = {{{1},
                      {},
                      {},
                      {{Reduction::Sum, Extent::Row, 3},
                       {Reduction::Max, Extent::Group},
                       {Reduction::Sum, Extent::Tensor}},
                      Extent::Element,
                      true},
                     {{2, 3}, {2}, {4}, {}, Extent::Row},
                     {{0, 1, 4}, {0}, {}, {}, Extent::Element, true}};
  matrices.sequence = {StageInterface::sweep(0), StageInterface::prologue(0, true),
                       StageInterface::sweep(1), StageInterface::sweep(2)};
  rule.plans = {vectors, matrices};
  test::listStreams(rule);
  return rule;
}

RuleInterface test::products() {
  RuleInterface rule = adamw();
  rule.name = "P";
  rule.grad = UPD_BF16;
  rule.states.clear();
  PlanInterface vectors;
  vectors.tensors = TensorClass::Vector;
  vectors.prefix = "P";
  PlanInterface others = vectors;
  others.tensors = TensorClass::Matrix;
  others.prefix = "P_square_tall";
  others.shapes = SquareMatrices | TallMatrices;
  PlanInterface wide = others;
  wide.prefix = "P_wide";
  wide.shapes = WideMatrices;
  wide.streams = {{Kind::Temporary, UPD_F32, Extent::RowsByRows},
                  {Kind::Temporary, UPD_F32, Extent::RowsByRows},
                  {Kind::Temporary, UPD_F32, Extent::Element},
                  {Kind::Temporary, UPD_F32, Extent::ColumnsByColumns}};
  wide.sweeps = {{{2}, {}, {3}, {}, Extent::RowsByRows, true}, {{0, 4}, {0}}};
  wide.products = {{0, 0, 2, false, true, true}, {3, 0, 4, true}, {4, 0, 5, true}};
  wide.sequence = {StageInterface::product(0), StageInterface::sweep(0), StageInterface::product(1),
                   StageInterface::product(2), StageInterface::sweep(1)};
  rule.plans = {vectors, others, wide};
  test::listStreams(rule);
  return rule;
}

RuleInterface test::doubleProducts() {
  RuleInterface rule = products();
  rule.compute = rule.param = UPD_F64;
  for (PlanInterface &plan : rule.plans)
    for (StreamInterface &stream : plan.streams)
      if (stream.dtype == UPD_F32)
        stream.dtype = UPD_F64;
  return rule;
}

RuleInterface test::calls() {
  RuleInterface rule = products();
  PlanInterface &wide = rule.plans.back();
  wide.rowScalars = 2;
  const auto first = static_cast<uint32_t>(wide.streams.size());
  wide.streams.insert(wide.streams.end(), {{Kind::Temporary, UPD_F32, Extent::RowsByRows},
                                           {Kind::Temporary, UPD_F32, Extent::Row},
                                           {Kind::Temporary, UPD_F32, Extent::RowsByRows}});
  wide.calls = {{MatrixFunction::Eigenvectors, {2}, first},
                {MatrixFunction::Eigenvalues, {2}, first + 1},
                {MatrixFunction::SortColumns, {first, first + 1}, first + 2}};
  wide.prologues = 1;
  wide.sequence.insert(wide.sequence.begin(), StageInterface::prologue(0));
  for (uint32_t i = 0; i < 3; ++i) {
    wide.sequence.push_back(StageInterface::call(i));
    wide.sequence.back().condition = i == 0 ? 0 : 1;
  }
  return rule;
}

RuleInterface test::chosen() {
  RuleInterface rule = calls();
  PlanInterface &wide = rule.plans.back();
  wide.chosen = 0.25;
  wide.streams.insert(wide.streams.end(), {{Kind::Temporary, UPD_F32, Extent::Row},
                                           {Kind::Temporary, UPD_F32, Extent::ChosenByColumns},
                                           {Kind::Temporary, UPD_F32, Extent::ChosenByChosen},
                                           {Kind::Temporary, UPD_F32, Extent::RowsByChosen}});
  wide.calls.push_back({MatrixFunction::Largest, {7}, 9});
  wide.calls.push_back({MatrixFunction::GatherRows, {0, 9}, 10});
  wide.calls.push_back({MatrixFunction::ScatterRows, {10, 9}, 4});
  for (uint32_t i = 3; i < 6; ++i)
    wide.sequence.push_back(StageInterface::call(i));
  wide.products.push_back({10, 10, 11, false, true, true});
  wide.sequence.push_back(StageInterface::product(static_cast<uint32_t>(wide.products.size() - 1)));
  return rule;
}

RuleInterface test::readBack(const RuleInterface &rule) {
  RuleInterface result;
  Status status = RuleInterface::read(rule.write(), result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}
