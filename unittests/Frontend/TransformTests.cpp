//===- TransformTests.cpp - The shipped transforms --------------------------------------------===//
// Every transform of the standard library around every rule, and all of them at once.

#include "ImportedText.h"
#include "RuleFileTable.h"
#include "StandardLibrary.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>

using namespace updraft;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using updraft::test::importedText;

namespace {
std::string ruleText(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(UPDRAFT_RULES_DIR "/") + file + ".upd");
  EXPECT_TRUE(static_cast<bool>(buffer)) << file;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string around(llvm::StringRef transform, const std::string &rule) {
  bool isAfter = standardTransforms().lookup(transform)->isAfter();
  return isAfter ? rule + " |> " + transform.str() : transform.str() + " |> " + rule;
}

TEST(Transforms, OfTheLibraryHaveNoMistakes) {
  EXPECT_EQ(standardLibraryDiagnostics().render(), "");
  EXPECT_GE(standardTransforms().size(), 13u);
}

TEST(Transforms, StandAroundEveryRule) {
  for (const RuleFile &file : ruleFiles()) {
    std::string text = ruleText(file.file);
    for (const auto &entry : standardTransforms())
      for (StorageType param : {StorageType::F32, StorageType::BF16, StorageType::F64}) {
        std::string chain = around(entry.getKey(), file.rule);
        EXPECT_THAT(importedText(text, {chain, {}, {{"param", param}}}),
                    HasSubstr("updraft.rule @"))
            << chain;
      }
  }
}

TEST(Transforms, StandAroundEveryRuleTogether) {
  std::string before, after;
  for (const char *name : {"master_copy", "unscale", "accumulate", "clip_by_value", "centralize",
                           "clip_by_global_norm", "clip_by_block_rms", "adaptive_grad_clip",
                           "add_decayed_weights", "add_noise"})
    before += std::string(name) + " |> ";
  for (const char *name : {"cautious", "lookahead", "ema_of_weights"})
    after += std::string(" |> ") + name;
  for (const RuleFile &file : ruleFiles()) {
    std::string chain = before;
    chain += file.rule;
    chain += after;
    EXPECT_THAT(
        importedText(ruleText(file.file), {chain, {}, {{"param", StorageType::BF16}}}),
        AllOf(HasSubstr("updraft.rule @"), HasSubstr(" compute f32 matrix"), HasSubstr("skip(")))
        << chain;
  }
}

// Only matrices have a mean per row.
TEST(Transforms, CentralizeTakesMatrices) {
  std::string text = importedText(ruleText("sgd"), {"centralize |> SGD", {}, {}});
  auto [vector, matrix] = llvm::StringRef(text).split("_matrix");
  EXPECT_FALSE(vector.contains("updraft.reduce"));
  EXPECT_TRUE(matrix.contains("updraft.reduce sum %grad over row"));
}

TEST(Transforms, RefuseWrongHyperparameters) {
  const std::pair<const char *, const char *> cases[] = {
      {"clip_by_value(-1)", "Invalid bound: -1.0"},
      {"clip_by_global_norm(-1)", "Invalid max_norm: -1.0"},
      {"clip_by_block_rms(0)", "Invalid threshold: 0.0"},
      {"adaptive_grad_clip(-1)", "Invalid clipping: -1.0"},
      {"adaptive_grad_clip(eps = -1)", "Invalid epsilon value: -1.0"},
      {"add_decayed_weights(-1)", "Invalid weight_decay value: -1.0"},
      {"add_noise(-1)", "Invalid eta: -1.0"},
      {"add_noise(gamma = -1)", "Invalid gamma: -1.0"},
      {"unscale(0)", "Invalid inv_scale: 0.0"},
      {"accumulate(0)", "Invalid number of gradients: 0.0"},
      {"accumulate(1.5)", "Invalid number of gradients: 1.5"},
      {"ema_of_weights(2)", "Invalid decay: 2.0"},
      {"lookahead(0)", "Invalid number of steps: 0.0"},
      {"lookahead(alpha = 2)", "Invalid alpha: 2.0"},
  };
  for (auto [stage, message] : cases) {
    std::string name = llvm::StringRef(stage).split('(').first.str();
    bool isAfter = standardTransforms().lookup(name)->isAfter();
    std::string chain = isAfter ? std::string("Lion |> ") + stage : stage + std::string(" |> Lion");
    EXPECT_THAT(importedText(ruleText("lion"), {chain, {}, {}}), HasSubstr(message)) << chain;
  }
}
} // namespace
