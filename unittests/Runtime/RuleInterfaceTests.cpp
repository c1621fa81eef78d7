//===- RuleInterfaceTests.cpp - The interface of a rule that is written and read
//---------------===//

#include "InterfaceRules.h"

#include "FakeRules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

using Kind = StreamInterface::Kind;

TEST(RuleInterface, HoldsWhatWasWritten) {
  const RuleInterface rule = readBack(adamw());
  EXPECT_EQ(rule.name, "AdamW");
  EXPECT_EQ(rule.compute, UPD_F32);
  EXPECT_EQ(rule.numerics, "ieee");
  EXPECT_EQ(rule.gpu, "");
  ASSERT_EQ(rule.statics.size(), 2u);
  EXPECT_EQ(rule.statics[0], (std::pair<std::string, std::string>("amsgrad", "false")));
  EXPECT_EQ(rule.grad, UPD_BF16);
  ASSERT_EQ(rule.hypers.size(), 1u);
  EXPECT_EQ(rule.hypers[0].name, "lr");
  EXPECT_EQ(rule.hypers[0].defaultValue, 0.001);
  EXPECT_EQ(rule.messages, std::vector<std::string>{"Invalid learning rate: {lr}"});
  ASSERT_EQ(rule.derived.size(), 1u);
  EXPECT_EQ(rule.derived[0].flag, "maximize");
  EXPECT_EQ(rule.derived[0].hypers, std::vector<uint32_t>{0});
  ASSERT_EQ(rule.plans.size(), 1u);
  const PlanInterface &plan = rule.plans[0];
  EXPECT_EQ(plan.prefix, "AdamW");
  EXPECT_EQ(plan.rowScalars, 6u);
  ASSERT_EQ(plan.streams.size(), 3u);
  EXPECT_EQ(plan.streams[2].state, 0u);
  EXPECT_TRUE(plan.temporaries().empty());
  ASSERT_EQ(plan.sequence.size(), 2u);
  EXPECT_FALSE(plan.sequence[0].byTensor);
  ASSERT_EQ(plan.sweeps.size(), 1u);
  EXPECT_EQ(plan.sweeps[0].writes, (std::vector<uint32_t>{0, 2}));
}

/// A rule with probes: a plan for probed steps stands beside each other one.
RuleInterface probed() {
  RuleInterface rule = factored();
  rule.probes = {{"ratio"}, {"gradient_norm"}};
  for (size_t i = 0; i < 2; ++i) {
    PlanInterface plan = rule.plans[i];
    plan.isProbed = true;
    plan.prefix = i == 0 ? "F_probed" : "F_probed_matrix";
    rule.plans.push_back(std::move(plan));
  }
  return rule;
}

TEST(RuleInterface, HoldsProbes) {
  const RuleInterface rule = readBack(probed());
  ASSERT_EQ(rule.probes.size(), 2u);
  EXPECT_EQ(rule.probes[1].name, "gradient_norm");
  ASSERT_EQ(rule.plans.size(), 4u);
  EXPECT_EQ(rule.unprobedPlans(), 2u);
  EXPECT_EQ(rule.probedPlanOf(1), 3u);
  EXPECT_FALSE(rule.plans[1].isProbed);
  EXPECT_TRUE(rule.plans[3].isProbed);
  EXPECT_EQ(rule.plans[3].prefix, "F_probed_matrix");
  EXPECT_NE(rule.json().find(R"("probes":["ratio","gradient_norm"])"), std::string::npos);
  EXPECT_EQ(readBack(factored()).unprobedPlans(), 2u);
}

TEST(RuleInterface, RefusesOtherPlansOfProbes) {
  auto messageOf = [](const RuleInterface &rule) {
    RuleInterface result;
    return RuleInterface::read(rule.write(), result).message();
  };
  const std::string start = "descriptor of a compiled rule: ";
  RuleInterface rule = probed();
  rule.plans.pop_back();
  EXPECT_EQ(messageOf(rule), start + "the rule has probes, but not a plan for probed steps beside "
                                     "each other plan");
  rule = probed();
  rule.plans[2].isProbed = false;
  EXPECT_EQ(messageOf(rule),
            start + "plan 2 is for unprobed steps, in the place of one for the others");
  rule = probed();
  std::swap(rule.plans[2], rule.plans[3]);
  EXPECT_EQ(messageOf(rule), start + "plan 2 is for other tensors or states than plan 0");
  rule = probed();
  rule.probes.clear();
  EXPECT_EQ(messageOf(rule),
            start + "plan 2 is for probed steps, in the place of one for the others");
  rule = probed();
  rule.probes[1].name = "ratio";
  EXPECT_EQ(messageOf(rule), start + "probe `ratio` appears twice");
}

TEST(RuleInterface, HoldsHistograms) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  RuleInterface rule = probed();
  rule.probes = {{"ratio"}, {"sizes", -0.1}, {"sizes", 1e-300}, {"sizes", infinity}};
  const RuleInterface read = readBack(rule);
  ASSERT_EQ(read.probes.size(), 4u);
  EXPECT_EQ(read.probes[0].end, std::nullopt);
  EXPECT_EQ(read.probes[1].end, -0.1);
  EXPECT_EQ(read.probes[2].end, 1e-300);
  EXPECT_EQ(read.probes[3].end, infinity);
  EXPECT_EQ(read.probes[3].name, "sizes");
  EXPECT_NE(read.json().find(R"("probes":["ratio",{"name":"sizes","bounds":[-0.1,1e-300]}])"),
            std::string::npos);
  auto messageOf = [&](std::vector<ProbeInterface> probes) {
    rule.probes = std::move(probes);
    RuleInterface result;
    const std::string message = RuleInterface::read(rule.write(), result).message();
    return message.substr(std::min(message.size(), strlen("descriptor of a compiled rule: ")));
  };
  EXPECT_EQ(messageOf({{"sizes", 1.0}, {"ratio"}}), "the histogram `sizes` has no last bucket");
  EXPECT_EQ(messageOf({{"sizes", 1.0}}), "the histogram `sizes` has no last bucket");
  EXPECT_EQ(messageOf({{"sizes", 1.0}, {"sizes", 0.5}, {"sizes", infinity}}),
            "a bucket of `sizes` ends at 0.5");
  EXPECT_EQ(messageOf({{"sizes", infinity}}), "a bucket of `sizes` ends at inf");
  EXPECT_EQ(messageOf({{"sizes", std::nan("")}}), "a bucket of `sizes` ends at nan");
  EXPECT_EQ(messageOf({{"sizes", -infinity}, {"sizes", infinity}}),
            "a bucket of `sizes` ends at -inf");
  EXPECT_EQ(messageOf({{"sizes", 1.0}, {"sizes", infinity}, {"sizes"}}),
            "probe `sizes` appears twice");
}

TEST(RuleInterface, HoldsPlansForVectorsAndMatrices) {
  const RuleInterface rule = readBack(factored());
  ASSERT_EQ(rule.plans.size(), 2u);
  const PlanInterface &vectors = rule.plans[0], &matrices = rule.plans[1];
  EXPECT_TRUE(vectors.usesRandom);
  EXPECT_EQ(vectors.tensors, TensorClass::Vector);
  ASSERT_EQ(vectors.streams.size(), 3u);
  EXPECT_EQ(vectors.streams[2].state, 0u);
  EXPECT_EQ(vectors.scalarStates, std::vector<uint32_t>{2});

  EXPECT_EQ(matrices.prefix, "F_matrix");
  ASSERT_EQ(matrices.streams.size(), 5u);
  EXPECT_EQ(matrices.streams[2].state, 1u);
  EXPECT_EQ(matrices.streams[2].over, Extent::Row);
  EXPECT_EQ(matrices.streams[3].state, StreamInterface::none);
  ASSERT_EQ(matrices.temporaries().size(), 2u);
  EXPECT_EQ(matrices.temporaries()[0].dtype, UPD_F64);
  ASSERT_EQ(matrices.sequence.size(), 4u);
  EXPECT_FALSE(matrices.sequence[1].isSweep());
  EXPECT_TRUE(matrices.sequence[1].byTensor);
  EXPECT_EQ(matrices.sequence[3].index, 2u);
  const SweepInterface &first = matrices.sweeps[0];
  EXPECT_TRUE(first.isMatrix);
  EXPECT_EQ(first.scalarReductions(), 2u);
  EXPECT_EQ(first.reductions[0].into, 3u);
  EXPECT_EQ(first.reductions[1].kind, ReductionInterface::Kind::Max);
  EXPECT_EQ(matrices.sweeps[1].over, Extent::Row);
  EXPECT_EQ(matrices.sweeps[1].makes, std::vector<uint32_t>{4});
}

TEST(RuleInterface, HoldsProductsAndShapes) {
  const RuleInterface rule = readBack(products());
  EXPECT_TRUE(rule.multiplies());
  EXPECT_FALSE(factored().multiplies());
  ASSERT_EQ(rule.plans.size(), 3u);
  EXPECT_EQ(rule.plans[0].shapes, AllMatrices);
  EXPECT_EQ(rule.plans[1].shapes, SquareMatrices | TallMatrices);
  const PlanInterface &wide = rule.plans[2];
  EXPECT_EQ(wide.shapes, WideMatrices);
  ASSERT_EQ(wide.streams.size(), 6u);
  EXPECT_EQ(wide.streams[2].over, Extent::RowsByRows);
  EXPECT_EQ(wide.streams[5].over, Extent::ColumnsByColumns);
  ASSERT_EQ(wide.products.size(), 3u);
  const ProductInterface &gram = wide.products[0], &product = wide.products[1];
  EXPECT_EQ(gram.lhs, 0u);
  EXPECT_EQ(gram.rhs, 0u);
  EXPECT_EQ(gram.result, 2u);
  EXPECT_FALSE(gram.lhsTransposed);
  EXPECT_TRUE(gram.rhsTransposed);
  EXPECT_TRUE(gram.symmetric);
  EXPECT_EQ(product.lhs, 3u);
  EXPECT_TRUE(product.lhsTransposed);
  EXPECT_FALSE(product.rhsTransposed);
  EXPECT_FALSE(product.symmetric);
  ASSERT_EQ(wide.sequence.size(), 5u);
  EXPECT_EQ(wide.sequence[0].kind, StageInterface::Kind::Product);
  EXPECT_TRUE(wide.sequence[1].isSweep());
  EXPECT_EQ(wide.sequence[3].index, 2u);
}

TEST(RuleInterface, HoldsSums) {
  RuleInterface rule = products();
  rule.plans[2].rowScalars = 4;
  rule.plans[2].products[1].addend = 0;
  rule.plans[2].products[1].scale = 2;
  rule.plans[2].products[1].addendScale = 3;
  const PlanInterface read = readBack(rule).plans[2];
  EXPECT_EQ(read.products[1].addend, 0u);
  EXPECT_EQ(read.products[1].scale, 2u);
  EXPECT_EQ(read.products[1].addendScale, 3u);
  EXPECT_FALSE(read.products[0].addend);
}

TEST(RuleInterface, HoldsTargets) {
  RuleInterface rule = products();
  rule.grad = UPD_F32;
  for (PlanInterface &plan : rule.plans)
    plan.streams[1].dtype = UPD_F32;
  rule.plans[2].rowScalars = 4;
  rule.plans[2].products[1].rhs = 1;
  rule.plans[2].products[1].target = 0;
  rule.plans[2].products[1].sumScale = 3;
  rule.plans[2].products[1].targetScale = 2;
  const PlanInterface read = readBack(rule).plans[2];
  EXPECT_EQ(read.products[1].target, 0u);
  EXPECT_EQ(read.products[1].sumScale, 3u);
  EXPECT_EQ(read.products[1].targetScale, 2u);
  EXPECT_FALSE(read.products[1].addend);
  EXPECT_FALSE(read.products[0].target);
}

TEST(RuleInterface, HoldsFormatsOfOperands) {
  RuleInterface rule = products();
  EXPECT_FALSE(readBack(rule).hasBF16Products());
  for (const upd_dtype format : {UPD_BF16, UPD_F16}) {
    rule.plans[2].products[1].operandFormat = format;
    const RuleInterface read = readBack(rule);
    EXPECT_EQ(read.hasBF16Products(), format == UPD_BF16);
    EXPECT_FALSE(read.plans[2].products[0].operandFormat);
    EXPECT_EQ(read.plans[2].products[1].operandFormat, format);
  }
}

TEST(RuleInterface, HoldsCallsAndConditions) {
  const RuleInterface rule = readBack(calls());
  const PlanInterface &wide = rule.plans[2];
  EXPECT_TRUE(wide.needsLapack());
  EXPECT_TRUE(wide.hasWholeMatrices());
  EXPECT_FALSE(rule.plans[1].needsLapack());
  ASSERT_EQ(wide.calls.size(), 3u);
  EXPECT_EQ(wide.calls[2].function, MatrixFunction::SortColumns);
  EXPECT_EQ(wide.calls[2].operands, (std::vector<uint32_t>{6, 7}));
  EXPECT_EQ(wide.calls[2].result, 8u);
  ASSERT_EQ(wide.sequence.size(), 9u);
  EXPECT_EQ(wide.sequence[6].kind, StageInterface::Kind::Call);
  EXPECT_EQ(wide.sequence[6].condition, 0u);
  EXPECT_EQ(wide.sequence[7].condition, 1u);
  EXPECT_NE(rule.json().find(R"({"call":2,"function":"sort_columns","operands":[6,7],"result":8,)"
                             R"("condition":1})"),
            std::string::npos)
      << rule.json();
}

TEST(RuleInterface, KnowsCallsThatRunAtOnceAndOnTheHost) {
  RuleInterface rule = calls();
  PlanInterface &wide = rule.plans[2];
  // The third call reads the results of the others.
  for (const size_t stage : {6, 7})
    EXPECT_EQ(wide.callsEndFrom(stage), 8u);
  EXPECT_EQ(wide.callsEndFrom(8), 9u);
  EXPECT_EQ(wide.callsEndFrom(5), 5u);
  EXPECT_EQ(wide.callsEndFrom(9), 9u);
  ASSERT_NE(wide.hostCall(), nullptr);
  EXPECT_EQ(wide.hostCall()->function, MatrixFunction::Eigenvectors);
  EXPECT_TRUE(wide.hasHostConditions());
  EXPECT_EQ(rule.plans[1].hostCall(), nullptr);
  for (CallInterface &call : wide.calls)
    call.function = MatrixFunction::Transpose;
  EXPECT_EQ(wide.hostCall(), nullptr);
  EXPECT_FALSE(wide.hasHostConditions());
}

TEST(RuleInterface, HoldsWhetherAPlanSkips) {
  RuleInterface rule = calls();
  EXPECT_EQ(rule.json().find("skips"), std::string::npos);
  rule.plans[2].skips = true;
  const RuleInterface read = readBack(rule);
  EXPECT_FALSE(read.plans[1].skips);
  EXPECT_TRUE(read.plans[2].skips);
  EXPECT_NE(read.json().find(R"("random":false,"skips":true,)"), std::string::npos) << read.json();
}

TEST(RuleInterface, HoldsConditionsThatExcludeEachOther) {
  RuleInterface rule = calls();
  EXPECT_EQ(rule.json().find("exclusive_conditions"), std::string::npos);
  for (PlanInterface &plan : rule.plans)
    plan.rowScalars = 4;
  rule.plans[2].exclusiveConditions = {{1, 2}, {1, 3}};
  const RuleInterface read = readBack(rule);
  EXPECT_NE(read.json().find(R"("exclusive_conditions":[[1,2],[1,3]])"), std::string::npos)
      << read.json();
  StageInterface first = StageInterface::call(0), second = StageInterface::call(1);
  auto exclude = [&](uint32_t ofFirst, uint32_t ofSecond) {
    first.condition = ofFirst;
    second.condition = ofSecond;
    return read.plans[2].areExclusive(first, second);
  };
  EXPECT_TRUE(exclude(1, 2));
  EXPECT_TRUE(exclude(2, 1));
  EXPECT_TRUE(exclude(3, 1));
  EXPECT_FALSE(exclude(2, 3));
  EXPECT_FALSE(exclude(1, 1));
  EXPECT_FALSE(exclude(0, 1));
}

TEST(RuleInterface, HoldsWhatPlansChoose) {
  const RuleInterface rule = readBack(chosen());
  const PlanInterface &wide = rule.plans[2];
  EXPECT_EQ(wide.chosen, 0.25);
  EXPECT_EQ(rule.plans[1].chosen, 0);
  EXPECT_EQ(wide.chosenOf(9, 100), 3);
  EXPECT_EQ(wide.chosenOf(100, 8), 2);
  EXPECT_EQ(wide.chosenOf(0, 8), 0);
  EXPECT_EQ(wide.streams[10].over, Extent::ChosenByColumns);
  EXPECT_NE(rule.json().find(R"("chosen":0.25)"), std::string::npos) << rule.json();
  EXPECT_NE(rule.json().find(R"("function":"gather_rows","operands":[0,9],"result":10)"),
            std::string::npos)
      << rule.json();
}

TEST(RuleInterface, HoldsCallsOfEachShape) {
  for (const CallInterface &call : {CallInterface{MatrixFunction::SortRows, {0, 7}, 4},
                                    CallInterface{MatrixFunction::SortRows, {2, 7}, 8},
                                    CallInterface{MatrixFunction::SolveLower, {6, 0}, 4},
                                    CallInterface{MatrixFunction::SolveUpper, {6, 6}, 8},
                                    CallInterface{MatrixFunction::Transpose, {2}, 8}}) {
    SCOPED_TRACE(nameOf(call.function));
    RuleInterface rule = calls();
    rule.plans.back().calls[2] = call;
    const CallInterface read = readBack(rule).plans.back().calls[2];
    EXPECT_EQ(read.function, call.function);
    EXPECT_EQ(read.operands, call.operands);
    EXPECT_EQ(read.result, call.result);
  }
}

TEST(RuleInterface, HasAPlanForEachShape) {
  const std::vector<PlanInterface> plans = products().plans;
  const auto planFor = [&](TensorClass tensor, int64_t rows, int64_t columns) {
    std::string prefixes;
    for (const PlanInterface &plan : plans)
      if (plan.isFor(tensor, rows, columns))
        prefixes += plan.prefix;
    return prefixes;
  };
  EXPECT_EQ(planFor(TensorClass::Vector, 1, 3), "P");
  EXPECT_EQ(planFor(TensorClass::Vector, 1, 1), "P");
  EXPECT_EQ(planFor(TensorClass::Matrix, 1, 3), "P_wide");
  EXPECT_EQ(planFor(TensorClass::Matrix, 3, 3), "P_square_tall");
  EXPECT_EQ(planFor(TensorClass::Matrix, 0, 0), "P_square_tall");
  EXPECT_EQ(planFor(TensorClass::Matrix, 3, 1), "P_square_tall");
}

TEST(RuleInterface, ProductsAreExportedAsJson) {
  const std::string json = products().json();
  EXPECT_NE(json.find(R"({"for":"matrix","shapes":["square","tall"],"prefix":"P_square_tall",)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("sequence":[{"product":0,"lhs":0,"rhs":0,"rhs_transposed":true,)"
                      R"("symmetric":true,"result":2},)"
                      R"({"sweep":0,"over":"rows_by_rows","loop":"matrix","reads":[2],)"
                      R"("writes":[],"makes":[3],"reductions":[]},)"
                      R"({"product":1,"lhs":3,"lhs_transposed":true,"rhs":0,"result":4},)"),
            std::string::npos)
      << json;
  RuleInterface rule = products();
  rule.plans[2].products[1].operandFormat = UPD_F16;
  EXPECT_NE(rule.json().find(R"("rhs":0,"operand_format":"f16","result":4})"), std::string::npos)
      << rule.json();
}

TEST(RuleInterface, ListsTheScalesOfBlocks) {
  RuleInterface rule = adamw();
  rule.states = {{"m", UPD_Q8_LINEAR}, {"n", UPD_F32}, {"v", UPD_Q8_COMPANDED}};
  test::listStreams(rule);
  const std::vector<StreamInterface> streams = readBack(rule).plans[0].streams;
  ASSERT_EQ(streams.size(), 7u);
  EXPECT_EQ(streams[2].scales, 5u);
  EXPECT_EQ(streams[3].scales, StreamInterface::none);
  EXPECT_EQ(streams[4].scales, 6u);
  EXPECT_EQ(streams[5].kind, Kind::Scales);
}

TEST(RuleInterface, StatesMayStartFromTheStep) {
  RuleInterface rule = adamw();
  EXPECT_FALSE(readBack(rule).states[0].fromStep);
  rule.states[0].fromStep = true;
  EXPECT_TRUE(readBack(rule).states[0].fromStep);
}

TEST(RuleInterface, UpdatesMayDependOnOtherElements) {
  RuleInterface rule = adamw();
  for (Extent extent : {Extent::Element, Extent::Tensor, Extent::Group}) {
    rule.dependsOn = extent;
    EXPECT_EQ(readBack(rule).dependsOn, extent);
  }
}

TEST(RuleInterface, DefaultsMayBeInfinite) {
  RuleInterface rule = adamw();
  for (double infinity : {INFINITY, -INFINITY}) {
    rule.hypers[0].defaultValue = infinity;
    EXPECT_EQ(readBack(rule).hypers[0].defaultValue, infinity);
    EXPECT_NE(rule.json().find(infinity > 0 ? R"("default":"inf")" : R"("default":"-inf")"),
              std::string::npos);
  }
}

TEST(RuleInterface, UsesRowsOnlyIfAStateOrPassDoes) {
  EXPECT_FALSE(adamw().usesRows());
  EXPECT_TRUE(factored().usesRows());
  RuleInterface rule = adamw();
  rule.plans[0].sweeps[0].isMatrix = true;
  EXPECT_TRUE(rule.usesRows());
}

TEST(RuleInterface, IsExportedAsJson) {
  EXPECT_EQ(adamw().json(),
            R"({"format":4,"name":"AdamW","compute":"f32","numerics":"ieee",)"
            R"("statics":{"amsgrad":"false","maximize":"false"},"param":"f32","grad":"bf16",)"
            R"("states":[{"name":"exp_avg","dtype":"f32"}],)"
            R"("hypers":[{"name":"lr","default":0.001}],)"
            R"("messages":["Invalid learning rate: {lr}"],)"
            R"("derived":[{"flag":"maximize","from":["lr"],"message":0}],)"
            R"("plans":[{"for":"any","prefix":"AdamW","row_scalars":6,"random":false,)"
            R"("prologues":1,"streams":["param","grad","exp_avg"],)"
            R"("sequence":[{"prologue":0,"rows_by":"step"},)"
            R"({"sweep":0,"over":"element","loop":"flat","reads":[0,1,2],"writes":[0,2],)"
            R"("makes":[],"reductions":[]}]}]})");
}

} // namespace
