//===- ChainTests.cpp - Every transform around every rule, through the C API ------------------===//
// A chain is one compiled step, so its sweeps, states and skipped steps are those of transform and
// rule together. Parameters and states must be bitwise equal to the interpreter's.

#include "GroupRun.h"
#include "RuleTable.h"
#include "TransformTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <filesystem>
#include <set>

using namespace updraft::differential;

namespace {

const char *const longChains[] = {
    "unscale(0.5) |> clip_by_global_norm(3) |> @ |> lookahead(2)",
    "accumulate(2) |> centralize() |> clip_by_block_rms(0.5) |> @ |> cautious()",
    "master_copy() |> add_noise(0.1) |> adaptive_grad_clip(0.1) |> @ |> ema_of_weights(0.9)"};

std::string words(const std::string &chain) {
  std::string name;
  for (char c : chain)
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_')
      name += c;
  return name;
}

/// The chain around the rule of a file.
RuleCase aroundFile(const std::string &chain, const std::string &file) {
  RuleCase ruleCase;
  ruleCase.filename = std::string(UPDRAFT_RULES_DIR) + "/" + file + ".upd";
  if (auto buffer = llvm::MemoryBuffer::getFile(ruleCase.filename))
    ruleCase.source = (*buffer)->getBuffer().str();
  llvm::SmallVector<llvm::StringRef> match;
  if (llvm::Regex("^rule ([A-Za-z0-9]+)", llvm::Regex::Newline).match(ruleCase.source, &match))
    ruleCase.rule = around(chain, match[1].str());
  return ruleCase;
}

void expectSteps(const RuleCase &ruleCase, int32_t threads) {
  static const Shapes shapes = {{1},    {129},   {8193}, {3, 5}, {65, 129}, {2, 3, 4},
                                {1, 1}, {70, 2}, {},     {4, 0}, {300},     {64, 64}};
  SCOPED_TRACE(describe(ruleCase));
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, shapes, threads));
  for (int step = 1; step <= 3; ++step)
    ASSERT_NO_FATAL_FAILURE(run.step(step));
}

class Chains : public testing::TestWithParam<std::tuple<const char *, std::string>> {};

TEST_P(Chains, StepAsInterpreted) {
  const auto &[chain, file] = GetParam();
  expectSteps(aroundFile(chain, file), 2);
}

INSTANTIATE_TEST_SUITE_P(All, Chains,
                         testing::Combine(testing::ValuesIn(transformChains),
                                          testing::ValuesIn(ruleFiles())),
                         [](const auto &info) {
                           return words(std::get<0>(info.param)) + "__" + std::get<1>(info.param);
                         });

class LongChains : public testing::TestWithParam<const char *> {};

TEST_P(LongChains, StepAsInterpretedInOtherTypes) {
  for (StorageType dtype : {StorageType::BF16, StorageType::F64})
    for (const char *file : {"adamw", "lamb", "adafactor"}) {
      RuleCase ruleCase = aroundFile(GetParam(), file);
      ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
      expectSteps(ruleCase, 3);
    }
}

TEST_P(LongChains, StepAsInterpretedInOtherNumerics) {
  for (const char *numerics : {"torch", "fast"})
    for (const char *file : {"adamw", "lamb", "adafactor"}) {
      RuleCase ruleCase = aroundFile(GetParam(), file);
      ruleCase.numerics = numerics;
      expectSteps(ruleCase, 3);
    }
}

// Includes states of transforms without a type, such as the slow parameters of a lookahead.
TEST_P(LongChains, StepAsInterpretedInBlocksAndRounded) {
  const std::vector<std::pair<std::string, StorageType>> storages[] = {
      {{"state", StorageType::Q8Linear}},
      {{"param", StorageType::BF16Stochastic},
       {"grad", StorageType::BF16},
       {"state", StorageType::Q8Companded}},
      {{"param", StorageType::BF16Corrected},
       {"grad", StorageType::BF16},
       {"state", StorageType::BF16Stochastic}},
      {{"param", StorageType::BF16Stochastic}, {"state", StorageType::BF16Corrected}}};
  for (const auto &storage : storages)
    for (const char *file : {"adamw", "lamb", "adafactor"}) {
      RuleCase ruleCase = aroundFile(GetParam(), file);
      ruleCase.storage = storage;
      expectSteps(ruleCase, 2);
    }
}

INSTANTIATE_TEST_SUITE_P(All, LongChains, testing::ValuesIn(longChains),
                         [](const auto &info) { return words(info.param); });

// Fails if the library has a transform that these tests don't know.
TEST(ChainTable, HasEveryTransform) {
  std::set<std::string> tested, shipped;
  for (const char *chain : transformChains)
    tested.insert(words(chain));
  for (const auto &entry : std::filesystem::directory_iterator(UPDRAFT_RULES_DIR "/transforms"))
    shipped.insert(entry.path().stem());
  EXPECT_EQ(tested, shipped);
}

} // namespace
