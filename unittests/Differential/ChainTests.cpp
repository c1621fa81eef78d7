//===- ChainTests.cpp - Every transform around every rule, through the C API ------------------===//
// A chain is one compiled step, so its passes, states and skipped steps are those of transform and
// rule together. Every bit of the parameters and states is the interpreter's.

#include "GroupRun.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <filesystem>
#include <set>

using namespace updraft::differential;

namespace {

/// Chains around a rule, which is written `@`. The arguments make a difference to gradients of the
/// size of these tests.
const char *const chains[] = {"accumulate(2) |> @",
                              "adaptive_grad_clip(0.1) |> @",
                              "add_decayed_weights(0.05) |> @",
                              "add_noise(0.1) |> @",
                              "@ |> cautious()",
                              "centralize() |> @",
                              "clip_by_block_rms(0.5) |> @",
                              "clip_by_global_norm(3) |> @",
                              "clip_by_value(0.5) |> @",
                              "@ |> ema_of_weights(0.9)",
                              "@ |> lookahead(2)",
                              "master_copy() |> @",
                              "unscale(0.5) |> @"};

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

/// The names of the files in rules/, without the ending, in order.
std::vector<std::string> ruleFiles() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(UPDRAFT_RULES_DIR))
    if (entry.path().extension() == ".upd")
      files.push_back(entry.path().stem());
  llvm::sort(files);
  return files;
}

/// The chain around the rule of a file.
RuleCase around(const std::string &chain, const std::string &file) {
  RuleCase ruleCase;
  ruleCase.filename = std::string(UPDRAFT_RULES_DIR) + "/" + file + ".upd";
  if (auto buffer = llvm::MemoryBuffer::getFile(ruleCase.filename))
    ruleCase.source = (*buffer)->getBuffer().str();
  llvm::SmallVector<llvm::StringRef> match;
  if (llvm::Regex("^rule ([A-Za-z]+)", llvm::Regex::Newline).match(ruleCase.source, &match))
    ruleCase.rule = std::string(chain).replace(chain.find('@'), 1, match[1].str());
  return ruleCase;
}

void expectSteps(const RuleCase &ruleCase, int32_t threads) {
  static const Shapes shapes = {{1},    {129},   {8193}, {3, 5}, {65, 129}, {2, 3, 4},
                                {1, 1}, {70, 2}, {},     {4, 0}, {300},     {64, 64}};
  SCOPED_TRACE(ruleCase.rule);
  GroupRun run;
  ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, shapes, threads));
  for (int step = 1; step <= 3; ++step)
    ASSERT_NO_FATAL_FAILURE(run.step(step));
}

class Chains : public testing::TestWithParam<std::tuple<const char *, std::string>> {};

TEST_P(Chains, StepAsInterpreted) {
  const auto &[chain, file] = GetParam();
  expectSteps(around(chain, file), 2);
}

INSTANTIATE_TEST_SUITE_P(All, Chains,
                         testing::Combine(testing::ValuesIn(chains),
                                          testing::ValuesIn(ruleFiles())),
                         [](const auto &info) {
                           return words(std::get<0>(info.param)) + "__" + std::get<1>(info.param);
                         });

class LongChains : public testing::TestWithParam<const char *> {};

TEST_P(LongChains, StepAsInterpretedInOtherTypes) {
  for (upd_dtype dtype : {UPD_BF16, UPD_F64})
    for (const char *file : {"adamw", "lamb", "adafactor"}) {
      RuleCase ruleCase = around(GetParam(), file);
      ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
      expectSteps(ruleCase, 3);
    }
}

TEST_P(LongChains, StepAsInterpretedInOtherNumerics) {
  for (const char *numerics : {"torch", "fast"})
    for (const char *file : {"adamw", "lamb", "adafactor"}) {
      RuleCase ruleCase = around(GetParam(), file);
      ruleCase.numerics = numerics;
      expectSteps(ruleCase, 3);
    }
}

INSTANTIATE_TEST_SUITE_P(All, LongChains, testing::ValuesIn(longChains),
                         [](const auto &info) { return words(info.param); });

// A transform of the library that these tests don't know is a failure, not a gap.
TEST(ChainTable, HasEveryTransform) {
  std::set<std::string> tested, shipped;
  for (const char *chain : chains)
    tested.insert(words(chain));
  for (const auto &entry : std::filesystem::directory_iterator(UPDRAFT_RULES_DIR "/transforms"))
    shipped.insert(entry.path().stem());
  EXPECT_EQ(tested, shipped);
}

} // namespace
