//===- ChainTests.cpp - Transforms around a rule ----------------------------------------------===//

#include "ImportedText.h"

#include <gmock/gmock.h>

using namespace updraft;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using updraft::test::importedText;

namespace {
const std::string stages = R"(
transform scaled(factor = 2) require factor > 0 else "Invalid factor: {factor}" {
  update(grad) { next grad = factor * grad }
}
transform averaged(decay = 0.5) {
  state average = param
  update(new_param, step) {
    let a = lerp(average, new_param, 1 - decay ^ step)
    next average = a
    next param = a
  }
}
transform every(k = 4) {
  state sum = 0
  state seen over group = 0
  update(grad) {
    let n = seen + 1
    hold when n < k
    next seen = if n < k then n else 0
    next sum = if n < k then sum + grad else 0
    next grad = (sum + grad) / k
  }
}
transform copied() {
  state master = param : f32
  update(param) { next param = master }
  finish(new_param) { next master = new_param }
}
rule Plain(lr = 0.1, decay = 0) {
  state average = 0 : bf16
  update(param, grad, step) {
    next average = grad
    next param = param * (1 - decay) - lr / step * grad
  }
}
rule Chained = scaled(factor = 3) |> Plain(lr = 0.5) |> averaged
rule Nested = copied |> Chained
)";

RuleRequest chain(const std::string &rule) { return {rule, {}, {}}; }

TEST(Chain, StagesHandOnTheGradientAndTheParameter) {
  std::string text = importedText(stages, chain("Chained"));
  EXPECT_THAT(text, AllOf(HasSubstr("updraft.rule @Chained compute f32"),
                          HasSubstr("updraft.hyper \"factor\" = 3.0"),
                          HasSubstr("updraft.hyper \"lr\" = 5.000000e-01"),
                          HasSubstr("\"Invalid factor: {factor}\"")));
  EXPECT_EQ(llvm::StringRef(text).count("updraft.param"), 1u);
  EXPECT_EQ(llvm::StringRef(text).count("updraft.grad"), 1u);
}

// The rule's names don't change. Clashing names of a transform get its name as a prefix.
TEST(Chain, ClashingNamesHaveThePrefixOfTheirStage) {
  std::string text = importedText(stages, chain("Chained"));
  EXPECT_THAT(text, AllOf(HasSubstr("updraft.hyper \"decay\" = 0.0"),
                          HasSubstr("updraft.hyper \"averaged_decay\" = 5.0"),
                          HasSubstr("updraft.state \"average\" stored bf16"),
                          HasSubstr("updraft.state \"averaged_average\" stored f32")));
  std::string twice = importedText(stages, chain("scaled |> scaled(factor = 5) |> Plain"));
  EXPECT_THAT(twice,
              AllOf(HasSubstr("\"scaled_factor\" = 2.0"), HasSubstr("\"scaled2_factor\" = 5.0"),
                    HasSubstr("\"Invalid factor: {scaled2_factor}\""),
                    HasSubstr("@scaled_scaled_Plain")));
}

TEST(Chain, MayBeRequestedWithSettings) {
  std::string text = importedText(
      stages,
      {"scaled(4) |> Plain", {{"factor", "5"}, {"lr", "2"}}, {{"average", StorageType::F32}}});
  EXPECT_THAT(text, AllOf(HasSubstr("\"factor\" = 5.0"), HasSubstr("\"lr\" = 2.0"),
                          HasSubstr("\"average\" stored f32")));
}

TEST(Chain, MayHoldAnotherChain) {
  std::string text = importedText(stages, chain("Nested"));
  EXPECT_THAT(text, AllOf(HasSubstr("@Nested"), HasSubstr("\"factor\" = 3.0"),
                          HasSubstr("\"master\" stored f32")));
  EXPECT_THAT(importedText(stages, chain("every |> Chained")), HasSubstr("@every_Chained"));
}

// The stages after a stage that holds keep their values, and have a separate step count.
TEST(Chain, HeldStagesKeepTheirValuesAndTheirTime) {
  std::string text = importedText(stages, chain("every |> Plain |> averaged"));
  EXPECT_THAT(text, AllOf(HasSubstr("updraft.state \"every_step\" over tensor stored f64"),
                          HasSubstr("updraft.state \"seen\" over group")));
  EXPECT_THAT(text, Not(HasSubstr("updraft.step")));
  EXPECT_THAT(text, Not(HasSubstr("updraft.first")));
  EXPECT_THAT(text, HasSubstr("arith.cmpf oeq, %every_step, %cst"));
  EXPECT_THAT(importedText(stages, chain("Plain")), HasSubstr("updraft.step"));
}

// The rule computes on the copy, and the copy gets the rule's result.
TEST(Chain, FinishComesAfterTheRule) {
  std::string text = importedText(
      stages, {"copied |> Plain", {}, {{"param", StorageType::BF16}, {"grad", StorageType::BF16}}});
  EXPECT_THAT(text, HasSubstr("\"master\" stored f32"));
  llvm::StringRef next = llvm::StringRef(text).split("updraft.next ").second.split(" : ").first;
  llvm::SmallVector<llvm::StringRef> operands;
  next.split(operands, ", ");
  ASSERT_EQ(operands.size(), 3u) << text;
  EXPECT_EQ(operands[0], operands[1]) << text;
}

const std::string late = stages + R"(
transform late() {
  state seen over tensor = 0
  state size over tensor = 0
  state moved over tensor = 0
  update(grad) {
    probe change = new_seen - seen
    next grad = grad * 2
    next moved = 1
  }
  finish(step, first, grad) {
    probe finished = new_moved - moved
    next seen = if first then step else 0
    next size = max(grad)
  }
}
)";

TEST(Chain, FinishHasTheInputsOfItsUpdate) {
  std::string text = importedText(late, chain("late |> every |> Plain"));
  EXPECT_THAT(text, HasSubstr("arith.select %first, %step, %cst"));
  EXPECT_THAT(text, HasSubstr("updraft.reduce max %grad over tensor"));
}

TEST(Chain, ProbesOfUpdateSeeTheNextValuesOfFinish) {
  std::string text = importedText(late, chain("late |> Plain"));
  EXPECT_THAT(text, AllOf(HasSubstr("%8 = arith.select %first, %step"),
                          HasSubstr("%10 = arith.subf %8, %seen"),
                          HasSubstr("updraft.probe \"change\" = %10")));
}

// The step count of held stages and the prefixes of names never clash with other names.
TEST(Chain, NamesThatUpdraftMakesAreUnique) {
  const std::string clashing = stages + R"(
transform every2(k = 2) {
  state seen over tensor = 0
  update(grad) {
    hold when seen > k
    next grad = grad
  }
}
rule Named(lr = 0.1) {
  state every_step = 0
  update(param, grad) {
    next every_step = grad
    next param = param - lr * grad
  }
}
)";
  EXPECT_THAT(importedText(clashing, chain("every |> Named")),
              AllOf(HasSubstr("\"every_step\" stored"), HasSubstr("\"every_step_\" over tensor")));
  EXPECT_THAT(importedText(clashing, chain("every |> every |> every2 |> Plain")),
              AllOf(HasSubstr("\"every2_step\" over tensor"),
                    HasSubstr("\"every2__step\" over tensor"), HasSubstr("\"every2_k\""),
                    HasSubstr("\"every2__k\"")));
  // A probe `new_seen` means the next value of the rule's state `seen`.
  const auto counting = [](const std::string &transform, const std::string &state) {
    return "transform " + transform + "() { state " + state +
           " over tensor = 0\n update(grad) { next " + state +
           " = sum(grad)\n next grad = grad } }\n";
  };
  const std::string nextValues = stages + counting("new", "seen") + counting("old", "seen") +
                                 counting("next_value", "new_seen") + R"(
rule Seen(lr = 0.1) {
  state seen = 0
  update(param, grad) {
    next seen = grad
    next param = param - lr * grad
  }
}
)";
  EXPECT_THAT(importedText(nextValues, chain("new |> Seen")),
              HasSubstr("\"new_seen_\" over tensor"));
  EXPECT_THAT(importedText(nextValues, chain("next_value |> Seen")),
              HasSubstr("\"new_seen_\" over tensor"));
  EXPECT_THAT(importedText(nextValues, chain("next_value |> old |> Plain")),
              AllOf(HasSubstr("\"new_seen\" over tensor"), HasSubstr("\"seen_\" over tensor")));
  // A step changes no hyperparameter, so `new_factor` may stand beside `factor`.
  const std::string hypers = stages + R"(
transform newer(new_factor = 1) { update(grad) { next grad = new_factor * grad } }
)";
  EXPECT_THAT(importedText(hypers, chain("newer |> scaled |> Plain")),
              AllOf(HasSubstr("\"new_factor\""), HasSubstr("\"factor\"")));
}

TEST(Chain, OfAnImportedFile) {
  // Rules of an imported file can be stages, though they cannot be requested.
  std::string rules = stages + "rule Once = Plain\n";
  EXPECT_THAT(importedText(rules, chain("Once")), HasSubstr("@Once"));
}

TEST(Chain, IsPrintedAsItWasWritten) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram(stages, "rule.upd", diagnostics);
  ASSERT_TRUE(program) << diagnostics.render();
  std::string text;
  llvm::raw_string_ostream os(text);
  printSource(*program, os);
  EXPECT_THAT(text,
              AllOf(HasSubstr("rule Chained = scaled(factor = 3) |> Plain(lr = 0.5) |> averaged"),
                    HasSubstr("  finish(new_param) {"), HasSubstr("    hold when n < k")));
  auto again = parseProgram(text, "again.upd", diagnostics);
  ASSERT_TRUE(again) << diagnostics.render();
  std::string second;
  llvm::raw_string_ostream secondOs(second);
  printSource(*again, secondOs);
  EXPECT_EQ(text, second);
}
} // namespace
