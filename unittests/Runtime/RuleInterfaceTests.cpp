//===- RuleInterfaceTests.cpp - The JSON form of a rule's interface ---------------------------===//

#include "runtime/base/RuleInterface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace updraft::runtime;

static const char *const adamw =
    R"({"format": 3, "name": "AdamW", "compute": "f32", "numerics": "ieee",
 "statics": {"amsgrad": "false", "maximize": "false"},
 "hypers": [{"name": "lr", "default": 0.001}],
 "param": "f32", "grad": "bf16",
 "states": [{"name": "exp_avg", "dtype": "f32"}],
 "messages": ["Invalid learning rate: {lr}"],
 "plans": [{"for": "any", "prefix": "AdamW", "row_scalars": 6, "random": false,
  "prologues": 1, "temporaries": [],
  "sequence": [{"prologue": 0, "rows_by": "step"},
   {"pass": 0, "over": "element", "loop": "flat", "reads": [0, 1, 2], "writes": [0, 2],
    "makes": [], "reductions": []}]}]})";

/// A plan for vectors, and one for matrices with a state, two temporaries and reductions.
static const char *const factored =
    R"({"format": 3, "name": "F", "compute": "f32", "numerics": "ieee", "statics": {},
 "hypers": [], "param": "f32", "grad": "f32", "messages": [],
 "states": [{"name": "v", "dtype": "f32", "for": "vector"},
            {"name": "row_var", "dtype": "f16", "over": "row", "for": "matrix"},
            {"name": "mu", "dtype": "f64", "over": "tensor"}],
 "plans": [{"for": "vector", "prefix": "F", "row_scalars": 2, "random": true,
  "prologues": 1, "temporaries": [],
  "sequence": [
   {"pass": 0, "over": "element", "loop": "flat", "reads": [1], "writes": [], "makes": [],
    "reductions": [{"kind": "max", "over": "group"}]},
   {"prologue": 0, "rows_by": "tensor"},
   {"pass": 1, "over": "element", "loop": "flat", "reads": [0, 1, 2], "writes": [0, 2],
    "makes": [], "reductions": []}]},
  {"for": "matrix", "prefix": "F_matrix", "row_scalars": 3, "random": false,
  "prologues": 1,
  "temporaries": [{"dtype": "f64", "over": "row"}, {"dtype": "f32", "over": "row"}],
  "sequence": [
   {"pass": 0, "over": "element", "loop": "matrix", "reads": [1], "writes": [], "makes": [],
    "reductions": [{"kind": "sum", "over": "row", "into": 3}, {"kind": "max", "over": "group"},
                   {"kind": "sum", "over": "tensor"}]},
   {"prologue": 0, "rows_by": "tensor"},
   {"pass": 1, "over": "row", "loop": "flat", "reads": [2, 3], "writes": [2], "makes": [4],
    "reductions": []},
   {"pass": 2, "over": "element", "loop": "matrix", "reads": [0, 1, 4], "writes": [0],
    "makes": [], "reductions": []}]}]})";

TEST(RuleInterface, Parses) {
  RuleInterface interface;
  Status status = RuleInterface::parse(adamw, interface);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(interface.name, "AdamW");
  EXPECT_EQ(interface.compute, UPD_F32);
  EXPECT_EQ(interface.numerics, "ieee");
  ASSERT_EQ(interface.statics.size(), 2u);
  EXPECT_EQ(interface.statics[0].first, "amsgrad");
  EXPECT_EQ(interface.grad, UPD_BF16);
  ASSERT_EQ(interface.hypers.size(), 1u);
  EXPECT_EQ(interface.hypers[0].defaultValue, 0.001);
  ASSERT_EQ(interface.plans.size(), 1u);
  const PlanInterface &plan = interface.plans[0];
  EXPECT_EQ(interface.streamsOf(plan).size(), 3u);
  EXPECT_EQ(plan.prefix, "AdamW");
  EXPECT_EQ(plan.rowScalars, 6u);
  ASSERT_EQ(plan.sequence.size(), 2u);
  EXPECT_FALSE(plan.sequence[0].byTensor);
  ASSERT_EQ(plan.passes.size(), 1u);
  EXPECT_EQ(plan.passes[0].writes, (std::vector<uint32_t>{0, 2}));
}

TEST(RuleInterface, ParsesPlansForVectorsAndMatrices) {
  RuleInterface interface;
  Status status = RuleInterface::parse(factored, interface);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(interface.plans.size(), 2u);
  const PlanInterface &vectors = interface.plans[0], &matrices = interface.plans[1];
  EXPECT_TRUE(vectors.usesRandom);
  EXPECT_EQ(vectors.tensors, TensorClass::Vector);
  const std::vector<StreamInterface> vectorStreams = interface.streamsOf(vectors);
  ASSERT_EQ(vectorStreams.size(), 3u);
  EXPECT_EQ(vectorStreams[2].state, 0u);
  EXPECT_EQ(interface.scalarStatesOf(vectors), (std::vector<uint32_t>{2}));

  EXPECT_EQ(matrices.prefix, "F_matrix");
  const std::vector<StreamInterface> matrixStreams = interface.streamsOf(matrices);
  ASSERT_EQ(matrixStreams.size(), 5u);
  EXPECT_EQ(matrixStreams[2].state, 1u);
  EXPECT_EQ(matrixStreams[2].over, Extent::Row);
  EXPECT_EQ(matrixStreams[3].state, StreamInterface::none);
  EXPECT_EQ(matrixStreams[3].dtype, UPD_F64);
  ASSERT_EQ(matrices.sequence.size(), 4u);
  EXPECT_FALSE(matrices.sequence[1].isPass);
  EXPECT_TRUE(matrices.sequence[1].byTensor);
  EXPECT_EQ(matrices.sequence[3].index, 2u);
  const PassInterface &first = matrices.passes[0];
  EXPECT_TRUE(first.isMatrix);
  EXPECT_EQ(first.scalarReductions(), 2u);
  EXPECT_EQ(first.reductions[0].into, 3u);
  EXPECT_EQ(first.reductions[1].kind, ReductionInterface::Kind::Max);
  EXPECT_EQ(matrices.passes[1].over, Extent::Row);
  EXPECT_EQ(matrices.passes[1].makes, (std::vector<uint32_t>{4}));
}

TEST(RuleInterface, StatesMayStartFromTheStep) {
  std::string text = adamw;
  const std::string dtype = R"("dtype": "f32"})";
  text.replace(text.find(dtype), dtype.size(), R"("dtype": "f32", "from_step": true})");
  RuleInterface interface;
  ASSERT_TRUE(RuleInterface::parse(adamw, interface).ok());
  EXPECT_FALSE(interface.states[0].fromStep);
  ASSERT_TRUE(RuleInterface::parse(text, interface).ok());
  EXPECT_TRUE(interface.states[0].fromStep);
}

TEST(RuleInterface, UpdatesMayDependOnOtherElements) {
  RuleInterface interface;
  ASSERT_TRUE(RuleInterface::parse(adamw, interface).ok());
  EXPECT_EQ(interface.dependsOn, Extent::Element);
  for (auto [word, extent] :
       {std::pair("tensor", Extent::Tensor), std::pair("group", Extent::Group)}) {
    std::string text = adamw;
    text.insert(1, std::string(R"("depends_on": ")") + word + R"(", )");
    ASSERT_TRUE(RuleInterface::parse(text, interface).ok());
    EXPECT_EQ(interface.dependsOn, extent);
  }
}

TEST(RuleInterface, DefaultsMayBeInfinite) {
  for (double infinity : {INFINITY, -INFINITY}) {
    std::string text = adamw;
    text.replace(text.find("0.001"), 5, infinity > 0 ? R"("inf")" : R"("-inf")");
    RuleInterface interface;
    ASSERT_TRUE(RuleInterface::parse(text, interface).ok());
    EXPECT_EQ(interface.hypers[0].defaultValue, infinity);
  }
}

/// The error of `text` after replacing the first `from`.
static std::string problemIn(std::string text, const std::string &from, const std::string &to) {
  const size_t position = text.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  text.replace(position, from.size(), to);
  RuleInterface interface;
  interface.name = "untouched";
  Status status = RuleInterface::parse(text, interface);
  EXPECT_EQ(interface.name, "untouched");
  EXPECT_TRUE(status.ok() || status.code() == UPD_INVALID_ARGUMENT);
  const std::string start = "interface of a compiled rule: ";
  EXPECT_EQ(status.message().substr(0, start.size()), start);
  return status.message().substr(std::min(start.size(), status.message().size()));
}

static std::string problemOf(const std::string &from, const std::string &to) {
  return problemIn(adamw, from, to);
}

TEST(RuleInterface, RefusesDamage) {
  EXPECT_EQ(problemOf("{\"format\"", "{\"format"), "not JSON");
  EXPECT_EQ(problemOf("\"format\": 3", "\"format\": 2"),
            "format 2 is not supported, only 3; compile the rule again");
  EXPECT_EQ(problemOf("\"name\": \"AdamW\", ", ""), "`name` is missing");
  EXPECT_EQ(problemOf("\"AdamW\"", "7"), "`name` is not a string");
  EXPECT_EQ(problemOf("\"AdamW\"", "\"\""), "`name` is empty");
  EXPECT_EQ(problemOf("\"compute\": \"f32\"", "\"compute\": \"f16\""),
            "`compute` is neither `f32` nor `f64`");
  EXPECT_EQ(problemOf("\"grad\": \"bf16\"", "\"grad\": \"int\""),
            "`grad` is not a storage type: `int`");
  EXPECT_EQ(problemOf("0.001", "null"), "`default` is not a number");
  EXPECT_EQ(problemOf("{\"name\": \"exp_avg\", \"dtype\": \"f32\"}", "3"),
            "an object was expected");
  EXPECT_EQ(problemOf("{\"name\": \"lr\", \"default\": 0.001}",
                      "{\"name\": \"lr\", \"default\": 1}, {\"name\": \"lr\", \"default\": 2}"),
            "hyperparameter `lr` appears twice");
  EXPECT_EQ(problemOf("\"dtype\": \"f32\"}", "\"dtype\": \"f32\", \"over\": \"model\"}"),
            "`over` is `model`, not `element`, `row`, `column`, `batch`, `tensor` or `group`");
  EXPECT_EQ(problemOf("\"dtype\": \"f32\"}", "\"dtype\": \"f32\", \"over\": \"batch\"}"),
            "state `exp_avg` is over a batch");
  EXPECT_EQ(problemOf("\"dtype\": \"f32\"}", "\"dtype\": \"f32\", \"from_step\": 1}"),
            "`from_step` is neither true nor false");
  EXPECT_EQ(problemOf("\"grad\": \"bf16\"", "\"grad\": \"bf16\", \"depends_on\": \"row\""),
            "`depends_on` is `row`, not `element`, `tensor` or `group`");
}

TEST(RuleInterface, RefusesDamagedPlans) {
  EXPECT_EQ(problemOf("\"row_scalars\": 6", "\"row_scalars\": 0"),
            "`row_scalars` is 0, but a row has a skip flag");
  EXPECT_EQ(problemOf("\"row_scalars\": 6", "\"row_scalars\": 1e300"),
            "`row_scalars` is not a count");
  EXPECT_EQ(problemOf("\"row_scalars\": 6", "\"row_scalars\": 65537"),
            "`row_scalars` is 65537, more than 65536");
  EXPECT_EQ(problemOf("\"for\": \"any\"", "\"for\": \"all\""),
            "`for` is `all`, not `any`, `vector` or `matrix`");
  EXPECT_EQ(problemOf(", \"rows_by\": \"step\"", ""), "`rows_by` is missing");
  EXPECT_EQ(problemOf("\"random\": false", "\"random\": 0"), "`random` is neither true nor false");
  EXPECT_EQ(problemOf("\"prologues\": 1", "\"prologues\": 2"),
            "`sequence` has 1 prologues, but `prologues` is 2");
  EXPECT_EQ(problemOf("\"prologue\": 0", "\"prologue\": 1"),
            "`sequence` has prologue 1, where 0 comes next");
  EXPECT_EQ(problemOf("\"pass\": 0", "\"pass\": 2"), "`sequence` has pass 2, where 0 comes next");
  EXPECT_EQ(problemOf("\"loop\": \"flat\"", "\"loop\": \"tiled\""),
            "`loop` is `tiled`, not `flat`, `matrix` or `batch`");
  EXPECT_EQ(problemOf("\"over\": \"element\"", "\"over\": \"tensor\""), "a pass is over a tensor");
  EXPECT_EQ(problemOf("\"over\": \"element\"", "\"over\": \"row\""),
            "`reads` of a flat pass over a row has stream 0, which is over an element");
  EXPECT_EQ(problemOf("[0, 1, 2]", "[0, 1, 3]"), "`reads` holds what is not the index of a stream");
  EXPECT_EQ(problemOf("[0, 1, 2]", "[0, 1, -1]"),
            "`reads` holds what is not the index of a stream");
  EXPECT_EQ(problemOf("\"writes\": [0, 2]", "\"writes\": [1]"), "a pass writes the gradient");
  EXPECT_EQ(problemOf("\"makes\": []", "\"makes\": [2]"),
            "a pass over an element makes stream 2, which is no temporary over one");
  EXPECT_EQ(problemOf("\"reductions\": []", "\"reductions\": [{\"kind\": \"min\"}]"),
            "`kind` is `min`, not `sum` or `max`");
  EXPECT_EQ(problemOf("\"reductions\": []",
                      "\"reductions\": [{\"kind\": \"sum\", \"over\": \"element\"}]"),
            "a reduction is over an element");
  EXPECT_EQ(problemOf("\"reductions\": []",
                      "\"reductions\": [{\"kind\": \"sum\", \"over\": \"row\", \"into\": 2}]"),
            "a flat pass has a reduction over a row");
  EXPECT_EQ(problemOf("\"plans\": [{", "\"plans\": [], \"others\": [{"), "`plans` is empty");

  auto problem = [](const char *from, const char *to) { return problemIn(factored, from, to); };
  EXPECT_EQ(problem("{\"dtype\": \"f64\", \"over\": \"row\"}",
                    "{\"dtype\": \"f64\", \"over\": \"element\"}"),
            "a temporary is over an element, not a row, column or batch");
  EXPECT_EQ(
      problem("{\"dtype\": \"f64\", \"over\": \"row\"}", "{\"dtype\": \"f32\", \"over\": \"row\"}"),
      "a reduction over a row goes into stream 3, which is no temporary over one of f64");
  EXPECT_EQ(problem("\"into\": 3", "\"into\": 2"),
            "a reduction over a row goes into stream 2, which is no temporary over one of f64");
  EXPECT_EQ(problem("\"into\": 3", "\"into\": 9"),
            "a reduction over a row goes into stream 9, which is no temporary over one of f64");
  EXPECT_EQ(problem("\"reads\": [0, 1, 4], \"writes\": [0]", "\"reads\": [0], \"writes\": [2]"),
            "a pass over an element writes stream 2, which is over a row");
  EXPECT_EQ(
      problem("\"over\": \"row\", \"loop\": \"flat\"", "\"over\": \"row\", \"loop\": \"matrix\""),
      "a matrix loop is over a row, not an element");
  EXPECT_EQ(problemOf("\"loop\": \"flat\"", "\"loop\": \"batch\""),
            "a loop over batches is over an element, not a row or column");
  EXPECT_EQ(
      problem("\"kind\": \"max\", \"over\": \"group\"", "\"kind\": \"max\", \"over\": \"batch\""),
      "a flat pass has a reduction over a batch");
  EXPECT_EQ(
      problem("\"kind\": \"max\", \"over\": \"group\"", "\"kind\": \"sum\", \"over\": \"group\""),
      "the plans have different reductions over the group");
  const std::string another =
      "\"plans\": [{\"for\": \"any\", \"prefix\": \"A\", \"row_scalars\": 1, "
      "\"random\": false, \"prologues\": 0, "
      "\"temporaries\": [], \"sequence\": []}, {";
  EXPECT_EQ(problemOf("\"plans\": [{", another), "`plans` has more than one plan for a tensor");
  EXPECT_EQ(problemOf("\"dtype\": \"f32\"}", "\"dtype\": \"f32\", \"for\": \"matrix\"}"),
            "`reads` holds what is not the index of a stream");
  EXPECT_EQ(problemIn(factored, "\"dtype\": \"f32\", \"for\": \"vector\"}",
                      "\"dtype\": \"f32\", \"for\": \"matrix\"}"),
            "`reads` holds what is not the index of a stream");
}

TEST(RuleInterface, RefusesAnyPrefix) {
  for (const std::string text : {adamw, factored})
    for (size_t length = 0; length < text.size(); ++length) {
      RuleInterface interface;
      EXPECT_FALSE(RuleInterface::parse(text.substr(0, length), interface).ok());
    }
}
