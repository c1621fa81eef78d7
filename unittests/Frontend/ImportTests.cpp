//===- ImportTests.cpp - The import of expressions --------------------------------------------===//

#include "ImportedText.h"

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

using namespace updraft;
using testing::HasSubstr;
using testing::Not;

namespace {
class ImportTest : public testing::Test {
protected:
  std::string import(const std::string &source, const RuleRequest &request = {}) {
    return test::importedText(source, request, &statics);
  }

  // The same for an expression as the next parameter.
  std::string importExpression(const std::string &expression, const RuleRequest &request = {}) {
    return import("rule R(lr = 1, beta = 0.9, static n = 3, static flag = false) {\n"
                  "  state m = 0\n"
                  "  update(param, grad, step, first) { next param = " +
                      expression + " }\n}",
                  request);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::vector<std::pair<std::string, std::string>> statics;
};

TEST_F(ImportTest, ScalarsAreF64AndRoundedOnceWhereTheyMeetATensor) {
  std::string text = importExpression("(1 - lr) * grad + (1 - lr) * param + lr");
  EXPECT_THAT(text, HasSubstr("arith.subf %cst_0, %lr : f64"));
  EXPECT_THAT(text, HasSubstr("arith.truncf"));
  EXPECT_THAT(text, HasSubstr("arith.truncf %lr : f64 to f32"));
}

TEST_F(ImportTest, TheNumericsModeIsAConstant) {
  RuleRequest torch;
  torch.numerics = "torch";
  const std::string choice = "if numerics == \"torch\" then grad else param";
  EXPECT_THAT(importExpression(choice, torch), HasSubstr("updraft.next %grad,"));
  EXPECT_THAT(importExpression(choice), HasSubstr("updraft.next %param,"));
  EXPECT_THAT(importExpression("add(param, grad, lr)", torch), HasSubstr("math.fma"));
  EXPECT_THAT(importExpression("add(param, grad, lr)"), Not(HasSubstr("math.fma")));
  (void)import("rule R(static mode = numerics)\n"
               "  require mode != \"ieee\" else \"not {numerics}\"\n"
               "{ update(param, grad) { next param = grad } }",
               torch);
  EXPECT_THAT(statics, testing::ElementsAre(testing::Pair("mode", "torch")));
  EXPECT_THAT(import("rule R(lr = 1) require numerics != \"ieee\" else \"not {numerics}\"\n"
                     "{ update(param, grad) { next param = grad } }"),
              HasSubstr("error: not ieee"));
}

TEST_F(ImportTest, TheModeFastIsAnAttributeOfTheRule) {
  RuleRequest fast;
  fast.numerics = "fast";
  EXPECT_THAT(importExpression("grad / lr", fast), HasSubstr("@R compute f32 fast {"));
  EXPECT_THAT(importExpression("grad / lr"), HasSubstr("@R compute f32 {"));
}

// 1.3 ^ 3 by multiplications, as for a hyperparameter; `pow` gives another last bit.
TEST_F(ImportTest, PowersOfConstantsAreMultiplications) {
  const std::string rule = "rule R(lr = 1) { state s over tensor = 0\n"
                           "  update(param, grad) { next s = ";
  auto imported = [&](const std::string &value) {
    return import(rule + value + "\n next param = grad } }");
  };
  EXPECT_EQ(imported("1.3 ^ 3"), imported("1.3 * 1.3 * 1.3"));
  EXPECT_EQ(imported("0.7 ^ -2"), imported("1 / (0.7 * 0.7)"));
  EXPECT_EQ(imported("0.9 ^ 20"), imported("0.9 ^ 4 * 0.9 ^ 16"));
  EXPECT_EQ(imported("0.9 ^ -20"), imported("1 / 0.9 ^ 20"));
  EXPECT_EQ(imported("(0 - 1 / 0) ^ 0.5"), imported("sqrt(0 - 1 / 0)"));
}

TEST_F(ImportTest, AScalarIsRoundedToTheComputeType) {
  std::string text = importExpression("rounded(lr) * lr * grad + rounded(beta) + rounded(0.1)");
  EXPECT_THAT(text, HasSubstr("%0 = arith.truncf %lr : f64 to f32"));
  EXPECT_THAT(text, HasSubstr("arith.extf %0 : f32 to f64"));
  EXPECT_THAT(text, HasSubstr("arith.constant 1.000000e-01 : f32"));
  // As an element, it has the rounded value.
  EXPECT_THAT(importExpression("rounded(lr) * grad"), HasSubstr("arith.mulf %0, %grad : f32"));
  EXPECT_THAT(importExpression("rounded(grad)"), HasSubstr("updraft.next %grad,"));
  RuleRequest wide;
  wide.storage = {{"param", StorageType::F64}};
  EXPECT_THAT(importExpression("rounded(lr) * param", wide), Not(HasSubstr("truncf")));
}

TEST_F(ImportTest, AScalarUsedTwiceIsRoundedOnce) {
  std::string text = importExpression("lr * grad + lr * param");
  EXPECT_EQ(llvm::StringRef(text).count("arith.truncf"), 1u) << text;
}

TEST_F(ImportTest, ConstantsFoldInF64AndRoundToTheComputeType) {
  EXPECT_THAT(importExpression("grad * (0.1 + 0.2)"),
              HasSubstr("arith.constant 3.000000e-01 : f32"));
  EXPECT_THAT(importExpression("grad * (0.1 + 0.2)", {"", {}, {{"param", StorageType::F64}}}),
              HasSubstr("arith.constant 0.30000000000000004 : f64"));
}

TEST_F(ImportTest, PowerOfATensorIsMultiplication) {
  std::string square = importExpression("grad ^ 2");
  EXPECT_EQ(llvm::StringRef(square).count("arith.mulf %grad, %grad : f32"), 1u) << square;
  std::string ninth = importExpression("grad ^ 9");
  EXPECT_EQ(llvm::StringRef(ninth).count("arith.mulf"), 4u) << ninth;
  std::string inverse = importExpression("grad ^ -1");
  EXPECT_THAT(inverse, HasSubstr("arith.divf"));
  EXPECT_THAT(inverse, Not(HasSubstr("arith.mulf")));
  EXPECT_THAT(importExpression("grad ^ 0.5"), HasSubstr("math.sqrt %grad : f32"));
  EXPECT_THAT(importExpression("grad ^ n"), HasSubstr("arith.mulf"));
}

TEST_F(ImportTest, PowerOfAScalar) {
  EXPECT_THAT(importExpression("grad * beta ^ step"), HasSubstr("math.fpowi %beta"));
  EXPECT_THAT(importExpression("grad * beta ^ (2 * step - 1)"), HasSubstr("math.fpowi %beta"));
  EXPECT_THAT(importExpression("grad * beta ^ floor(step / 2)"), HasSubstr("math.fpowi %beta"));
  EXPECT_THAT(importExpression("grad * beta ^ (step / 2)"), HasSubstr("math.powf %beta"));
  EXPECT_THAT(importExpression("grad * beta ^ 0.25"), HasSubstr("math.powf %beta"));
  EXPECT_THAT(importExpression("grad * beta ^ 1000"), HasSubstr("math.fpowi %beta"));
  EXPECT_THAT(importExpression("grad * pow(beta, lr)"), HasSubstr("math.powf %beta, %lr"));
  // A value that may not fit an integer isn't converted, which would be undefined.
  EXPECT_THAT(importExpression("grad * beta ^ (step * step)"), HasSubstr("math.powf"));
  EXPECT_THAT(importExpression("grad * beta ^ floor(lr)"), HasSubstr("math.powf"));
  EXPECT_THAT(importExpression("grad * beta ^ floor(step / 0)"), HasSubstr("math.powf"));
  EXPECT_THAT(importExpression("grad * beta ^ 1e30"), HasSubstr("math.powf"));
  EXPECT_THAT(importExpression("grad * beta ^ max(step - 5, 1)"), HasSubstr("math.fpowi"));
  EXPECT_THAT(importExpression("grad * 2 ^ 10"), HasSubstr("constant 1.024000e+03 : f32"));
}

TEST_F(ImportTest, BuiltinsAreOperations) {
  EXPECT_THAT(importExpression("max(param, grad)"), HasSubstr("arith.maximumf %param, %grad"));
  EXPECT_THAT(importExpression("min(param, lr)"), HasSubstr("arith.minimumf"));
  EXPECT_THAT(importExpression("fma(param, grad, lr)"), HasSubstr("math.fma"));
  EXPECT_THAT(importExpression("abs(floor(ceil(grad)))"), HasSubstr("math.absf"));
  std::string scalars = importExpression("grad * (exp(lr) + log(lr) + tanh(lr))");
  EXPECT_THAT(scalars, HasSubstr("math.exp %lr : f64"));
  EXPECT_THAT(scalars, HasSubstr("math.log %lr : f64"));
  EXPECT_THAT(scalars, HasSubstr("math.tanh %lr : f64"));
}

TEST_F(ImportTest, ConditionsBecomeSelect) {
  EXPECT_THAT(importExpression("if first then grad else param"),
              HasSubstr("arith.select %first, %grad, %param : f32"));
  EXPECT_THAT(importExpression("if grad > 0 then 1 else lr"), HasSubstr("arith.cmpf ogt, %grad"));
  EXPECT_THAT(importExpression("grad * (if lr > 0 then lr else 1)"), HasSubstr(": f64"));
  EXPECT_THAT(importExpression("if !(grad > 0) || first then 1 else 0"), HasSubstr("arith.ori"));
  EXPECT_THAT(importExpression("if (grad > 0) == (param > 0) then 1 else 0"),
              HasSubstr("arith.cmpi eq"));
}

TEST_F(ImportTest, StaticConditionsLeaveNothing) {
  std::string text = importExpression("if flag then exp(lr) else grad");
  EXPECT_THAT(text, Not(HasSubstr("math.exp")));
  EXPECT_THAT(text, Not(HasSubstr("select")));
  text = importExpression("if flag && grad > 0 then param else grad");
  EXPECT_THAT(text, Not(HasSubstr("cmpf")));
  text = importExpression("if grad > 0 || !flag then param else grad");
  EXPECT_THAT(text, HasSubstr("updraft.next %param"));
  text = importExpression("if grad > 0 && !flag then param else grad");
  EXPECT_THAT(text, HasSubstr("select"));
  EXPECT_THAT(text, Not(HasSubstr("andi")));
}

TEST_F(ImportTest, ComparisonsWithNaNAreFalse) {
  EXPECT_THAT(importExpression("if grad != param then 1 else 2"), HasSubstr("arith.cmpf une"));
  EXPECT_THAT(importExpression("if 0 / 0 >= 0 then grad else param"),
              HasSubstr("updraft.next %param"));
}

TEST_F(ImportTest, AStateWithoutNextKeepsItsValue) {
  EXPECT_THAT(importExpression("grad"), HasSubstr("updraft.next %grad, %m : f32, f32"));
}

TEST_F(ImportTest, ASettingsChangesADefaultAndAFlag) {
  std::string text = importExpression("if flag then grad else param",
                                      {"", {{"lr", "-2 ^ 3"}, {"flag", "true"}}, {}});
  EXPECT_THAT(text, HasSubstr("updraft.hyper \"lr\" = -8.000000e+00"));
  EXPECT_THAT(text, HasSubstr("updraft.next %grad"));
  ASSERT_EQ(statics.size(), 2u);
  EXPECT_EQ(statics[0], std::make_pair(std::string("n"), std::string("3")));
  EXPECT_EQ(statics[1], std::make_pair(std::string("flag"), std::string("true")));
}

const char *derived = R"(
rule R(lr = 1, momentum = 0, static buffered = momentum != 0 && lr > 0, static n = momentum * 2)
{
  state m = 0 when buffered
  update(param, grad) {
    next m = grad
    next param = param + n
  }
})";

TEST_F(ImportTest, DerivedFlagsFollowTheHyperparametersAndGuardThem) {
  std::string text = import(derived);
  EXPECT_THAT(text, Not(HasSubstr("updraft.state")));
  EXPECT_THAT(text,
              HasSubstr("\"momentum = {momentum}, lr = {lr} change the static flag `buffered`; "
                        "compile the rule with these values\""));
  EXPECT_THAT(text, HasSubstr("\"momentum = {momentum} changes the static flag `n`; "
                              "compile the rule with this value\""));
  EXPECT_EQ(statics[0].second, "false");
  text = import(derived, {"", {{"momentum", "0.5"}}, {}});
  EXPECT_THAT(text, HasSubstr("updraft.state \"m\""));
  EXPECT_EQ(statics[0].second, "true");
  EXPECT_EQ(statics[1].second, "1");
}

TEST_F(ImportTest, AnExplicitFlagIsNotGuarded) {
  std::string text = import(derived, {"", {{"buffered", "true"}, {"n", "7"}}, {}});
  EXPECT_THAT(text, HasSubstr("updraft.state \"m\""));
  EXPECT_THAT(text, Not(HasSubstr("updraft.require")));
}

TEST_F(ImportTest, MessagesKeepHyperparametersAndFillInFlags) {
  std::string text = import(R"(
rule R(lr = 1, static kind = "a{b", static amsgrad = true)
  require lr >= 0 || !amsgrad else "{{{lr}}} with {kind} and {amsgrad}"
  require kind == "a{b" else "not reached"
{
  update(param, grad) { next param = param }
})");
  EXPECT_THAT(text, HasSubstr("\"{{{lr}}} with a{{b and true\""));
  EXPECT_THAT(text, Not(HasSubstr("not reached")));
}

TEST_F(ImportTest, StorageTypes) {
  const char *source = R"(
rule R(lr = 1) {
  state a = 0
  state b = 0 : f16
  state c = lr
  update(param, grad) { next param = param }
})";
  std::string text = import(source, {"", {}, {{"param", StorageType::BF16}}});
  EXPECT_THAT(text, HasSubstr("@R compute f32"));
  EXPECT_THAT(text, HasSubstr("updraft.param stored bf16 : f32"));
  EXPECT_THAT(text, HasSubstr("updraft.grad stored f32 : f32"));
  EXPECT_THAT(text, HasSubstr("\"a\" stored bf16"));
  EXPECT_THAT(text, HasSubstr("\"b\" stored f16"));
  EXPECT_THAT(text, HasSubstr("\"c\" stored bf16 initial %lr : f32"));
  text = import(source, {"", {}, {{"state", StorageType::F32}, {"c", StorageType::F64}}});
  EXPECT_THAT(text, HasSubstr("@R compute f64"));
  EXPECT_THAT(text, HasSubstr("updraft.param stored f32 : f64"));
  EXPECT_THAT(text, HasSubstr("\"b\" stored f32"));
  EXPECT_THAT(text, HasSubstr("\"c\" stored f64"));
}

TEST_F(ImportTest, FunctionsArePolymorphicAndSeeTheirOwnFile) {
  std::string text = import(R"(
fn twice(x) = x + x
fn scaled(x, k) {
  let kk = twice(k)
  return kk * x
}
fn sign(x) = x
rule R(lr = 1) {
  update(param, grad) { next param = sign(scaled(param, lr)) + twice(grad) }
})");
  EXPECT_THAT(text, HasSubstr("%kk = arith.addf %lr, %lr : f64"));
  EXPECT_THAT(text, HasSubstr("arith.addf %grad, %grad : f32"));
  EXPECT_THAT(text, Not(HasSubstr("select")));
}

TEST_F(ImportTest, LocationsCarryNamesAndLines) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram("rule R(lr = 1) {\n  update(param, grad) {\n"
                              "    let scaled = grad * lr\n    next param = scaled\n  }\n}",
                              "rule.upd", diagnostics);
  auto imported = importRule(context, *program, {}, diagnostics);
  ASSERT_TRUE(imported);
  bool found = false;
  imported->module->walk([&](mlir::arith::MulFOp op) {
    found = true;
    auto loc = mlir::dyn_cast<mlir::NameLoc>(op.getLoc());
    ASSERT_TRUE(loc);
    EXPECT_EQ(loc.getName(), "scaled");
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(loc.getChildLoc());
    ASSERT_TRUE(place);
    EXPECT_EQ(place.getFilename(), "rule.upd");
    EXPECT_EQ(place.getLine(), 3u);
    EXPECT_EQ(place.getColumn(), 23u);
  });
  EXPECT_TRUE(found);
}

TEST_F(ImportTest, LocationsOfAGeneratedTextAreItsOrigin) {
  std::string text = "rule R(lr = 1) { update(param, grad) { next param = grad * lr } }";
  auto product = static_cast<uint32_t>(text.find("grad * lr"));
  auto map = SourceMap::create({SourceFile::create("rule.py", "def f():\n  return grad * lr\n")},
                               {{product, product + 9, 0, 18, 27}}, text.size());
  ASSERT_TRUE(static_cast<bool>(map));
  DiagnosticEngine diagnostics;
  auto program = parseProgram(SourceFile::create("<R>", text, *map), diagnostics);
  auto imported = importRule(context, *program, {}, diagnostics);
  ASSERT_TRUE(imported);
  bool found = false;
  imported->module->walk([&](mlir::arith::MulFOp op) {
    found = true;
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(op.getLoc());
    ASSERT_TRUE(place);
    EXPECT_EQ(place.getFilename(), "rule.py");
    EXPECT_EQ(place.getLine(), 2u);
    EXPECT_EQ(place.getColumn(), 10u);
  });
  EXPECT_TRUE(found);
}

TEST_F(ImportTest, OneOfSeveralRules) {
  const char *source = "rule A(lr = 1) { update(param, grad) { next param = param } }\n"
                       "rule B(lr = 1) { update(param, grad) { next param = grad } }\n";
  EXPECT_THAT(import(source, {"B", {}, {}}), HasSubstr("updraft.rule @B"));
  DiagnosticEngine diagnostics;
  auto program = parseProgram(source, "rule.upd", diagnostics);
  EXPECT_EQ(program->ruleNames(), (std::vector<llvm::StringRef>{"A", "B"}));
}

TEST_F(ImportTest, ImportedFilesAreListedWithTheirText) {
  std::string path = testing::TempDir() + "updraft-imported.upd";
  std::ofstream(path) << "fn helper(x) = x + 1\n";
  DiagnosticEngine diagnostics;
  auto program = parseProgram("import \"updraft-imported.upd\"\nimport \"updraft-imported.upd\"\n"
                              "rule R(lr = 1) { update(param) { next param = helper(param) } }",
                              testing::TempDir() + "main.upd", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  ASSERT_EQ(program->files().size(), 2u);
  EXPECT_EQ(program->files()[1]->text(), "fn helper(x) = x + 1\n");
}

TEST_F(ImportTest, AdamWTakesLessThanAMillisecond) {
  std::ifstream file(std::string(UPDRAFT_RULES_DIR) + "/adamw.upd");
  std::string source((std::istreambuf_iterator<char>(file)), {});
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    auto start = std::chrono::steady_clock::now();
    DiagnosticEngine diagnostics;
    auto program = parseProgram(source, "adamw.upd", diagnostics);
    ASSERT_TRUE(program && importRule(context, *program, {}, diagnostics));
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    best = std::min(best, elapsed.count());
  }
  EXPECT_LT(best, 1.0);
}
} // namespace
