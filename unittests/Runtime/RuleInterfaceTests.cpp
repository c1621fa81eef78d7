//===- RuleInterfaceTests.cpp - The interface of a rule, and its errors -----------------------===//
// Each test changes one member of a valid interface, writes the descriptor and reads it.

#include "FakeRules.h"

#include "runtime/base/RuleInterface.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

using namespace updraft::runtime;

namespace {

using Kind = StreamInterface::Kind;

/// One plan for all tensors, with one state.
RuleInterface adamw() {
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

/// A plan for vectors, and one for matrices with a state, two temporaries and reductions.
RuleInterface factored() {
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

/// A rule with a plan for vectors, one for wide matrices that computes (p pT)T p, and one for the
/// other matrices.
RuleInterface products() {
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

/// As `products`, in f64.
RuleInterface doubleProducts() {
  RuleInterface rule = products();
  rule.compute = rule.param = UPD_F64;
  for (PlanInterface &plan : rule.plans)
    for (StreamInterface &stream : plan.streams)
      if (stream.dtype == UPD_F32)
        stream.dtype = UPD_F64;
  return rule;
}

/// As `products`, with the eigenvectors of the Gram matrix and a sort by its eigenvalues, in steps
/// where a flag is set.
RuleInterface calls() {
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

RuleInterface readBack(const RuleInterface &rule) {
  RuleInterface result;
  Status status = RuleInterface::read(rule.write(), result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

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

/// Gathers a quarter of the rows, and multiplies these.
RuleInterface chosen() {
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
