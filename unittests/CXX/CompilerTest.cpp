//===- CompilerTest.cpp - updraft/Compiler.h --------------------------------------------------===//

#include "updraft/Compiler.h"
#include "updraft/Optimizer.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace updraft;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr std::string_view descent = "rule Descent(lr = 0.5) {\n"
                                     "  update(param, grad) {\n"
                                     "    next param = param - lr * grad\n"
                                     "  }\n"
                                     "}\n";

TEST(Compiler, CompilesTextAndFiles) {
  CompileOptions options;
  options.cacheDir = "";
  const Rule rule = compile(descent, options).value();
  EXPECT_EQ(rule.name(), "Descent");
  options.settings = {{"momentum", "0.9"}, {"nesterov", "true"}};
  options.storage = {{"state", "bf16"}};
  options.numerics = "torch";
  const Rule sgd = compileFile(UPDRAFT_RULES_DIR "/sgd.upd", options).value();
  EXPECT_EQ(sgd.numerics(), "torch");
  ASSERT_EQ(sgd.states().size(), 1u);
  EXPECT_EQ(sgd.states()[0].dtype, UPD_BF16);
  EXPECT_EQ(sgd.statics()[0].value, "true");
}

TEST(Compiler, PassesTheOtherOptions) {
  CompileOptions options;
  options.cacheDir = "";
  options.rule = "Second";
  options.tensors = UPD_VECTORS;
  const std::string source = std::string(descent) + "rule Second() {\n"
                                                    "  update(param, grad) {\n"
                                                    "    next param = grad\n"
                                                    "  }\n"
                                                    "}\n";
  EXPECT_EQ(compile(source, options)->name(), "Second");
  options.target = "nvptx:sm_80";
  EXPECT_EQ(compile(source, options)->target(), "nvptx:sm_80");
}

TEST(Compiler, AddsProbes) {
  CompileOptions options;
  options.cacheDir = "";
  options.probes = {"gradient_norm", "moved = norm(new_param - param)"};
  const Rule rule = compile(descent, options).value();
  const std::vector<Rule::ProbeInfo> probes = rule.probes();
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_EQ(probes[0].name, "gradient_norm");
  EXPECT_TRUE(std::isnan(probes[0].end));
  EXPECT_EQ(probes[1].name, "moved");
  std::vector<float> values(3, 1.0f);
  const std::vector<float> grad = {2, 0, 0};
  Optimizer optimizer = Optimizer::create(rule, {ParamGroup{{values}, {}, {}}}).value();
  EXPECT_EQ(optimizer.probeEvery().value(), 1u);
  ASSERT_TRUE(optimizer.setProbeEvery(2));
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(optimizer.step(TensorList{grad}));
  uint64_t cursor = 0;
  ProbeRows read = optimizer.readProbes(cursor).value();
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(read.rows[0].step, 2);
  EXPECT_EQ(read.values, (std::vector<double>{2, 1}));
  EXPECT_EQ(read.lost, 0u);
  EXPECT_TRUE(optimizer.readProbes(cursor).value().rows.empty());

  // More rows than the optimizer keeps.
  ASSERT_TRUE(optimizer.setProbeEvery(1));
  for (int step = 0; step < 20000; ++step)
    ASSERT_TRUE(optimizer.step(TensorList{grad}));
  read = optimizer.readProbes(cursor).value();
  EXPECT_GE(read.rows.size(), 16384u);
  EXPECT_EQ(read.rows.size() + read.lost, 20000u);
  EXPECT_EQ(read.rows.back().step, 20003);
  EXPECT_EQ(read.values.size(), 2 * read.rows.size());
  EXPECT_EQ(read.values.back(), 1);
  EXPECT_EQ(Optimizer().readProbes(cursor).error().message, "optimizer is null");
}

TEST(Compiler, ReportsErrors) {
  const Result<Rule> wrong = compile("rule R( {", {}, "r.upd");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, UPD_COMPILE_ERROR);
  EXPECT_THAT(wrong.error().message, StartsWith("r.upd:1:9: error: "));
  const Result<Rule> missing = compileFile("none.upd");
  EXPECT_EQ(missing.error().message, "cannot read `none.upd`: No such file or directory");
  CompileOptions options;
  options.tensors = static_cast<upd_tensors>(3);
  EXPECT_EQ(compile(descent, options).error().message,
            "unknown tensors 3; the values are those of upd_tensors");
}

TEST(Compiler, EmitsStages) {
  EXPECT_THAT(emit(descent, "updraft").value(), HasSubstr("updraft.rule @Descent"));
  EXPECT_EQ(emit(descent, "soup").error().code, UPD_INVALID_ARGUMENT);
}

} // namespace
