//===- RulesFuzzer.cpp - Rules, compiled and interpreted --------------------------------------===//
// The input makes the choices for a random rule, its types, flags and sizes; or it is the text of a
// rule that starts with a request. The compiled step must be bitwise equal to the interpreter.

#include "ByteChoices.h"
#include "FuzzTarget.h"
#include "RequestLine.h"
#include "SourceFiles.h"

#include "RandomRule.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Numerics.h"
#include "llvm/Support/xxhash.h"

using namespace updraft;
using namespace updraft::fuzz;
using namespace updraft::differential;

namespace {

void chooseTensors(RuleCase &ruleCase, Choices &choices) {
  constexpr int64_t counts[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 100, 257};
  ruleCase.tensors.clear();
  for (unsigned i = 0, count = 1 + choices.below(4); i < count; ++i)
    ruleCase.tensors.push_back({counts[choices.below(std::size(counts))], choices.below(2) == 0});
  ruleCase.steps = 1 + static_cast<int>(choices.below(4));
}

void compare(const RuleCase &ruleCase) {
  if (testing::AssertionResult result = compiledEqualsInterpreted(ruleCase); !result)
    finding(std::string(result.message()) + "\nof the rule\n" + ruleCase.source);
  if (testing::AssertionResult result = requirementsAgree(ruleCase); !result)
    finding(std::string(result.message()) + "\nof the rule\n" + ruleCase.source);
}

/// Does nothing if the text isn't a rule: another target tests the errors.
void compareText(llvm::StringRef text) {
  CompileRequest request = requestOf(text);
  if (!llvm::is_contained(numericsModes(), request.rule.numerics))
    return;
  RuleCase ruleCase;
  ruleCase.source = request.source;
  ruleCase.filename = request.filename;
  ruleCase.rule = request.rule.rule;
  ruleCase.settings = request.rule.settings;
  ruleCase.storage = request.rule.storage;
  ruleCase.numerics = request.rule.numerics;
  updraft::DiagnosticEngine diagnostics;
  auto program = parseProgram(request.source, request.filename, diagnostics);
  if (!program)
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (!importRule(context, *program, request.rule, diagnostics))
    return;
  ruleCase.tensors = {{17, false}, {33, true}};
  ruleCase.steps = 3;
  compare(ruleCase);
}

void fuzzRules(std::string_view input) {
  if (llvm::StringRef(input).starts_with(requestStart))
    return compareText(input);
  ByteChoices choices(input);
  RuleCase ruleCase = randomRule(choices);
  ruleCase.filename = "fuzz.upd";
  ruleCase.seed = llvm::xxh3_64bits(llvm::StringRef(input));
  chooseTensors(ruleCase, choices);
  compare(ruleCase);
}

/// Rules as text, with and without f64 and bf16.
std::vector<Seed> ruleSeeds() {
  std::vector<Seed> seeds;
  for (const Seed &rule : filesBelow("rules", ".upd"))
    for (const char *type : {"f32", "f64", "bf16"})
      seeds.push_back({rule.name + "." + type,
                       (requestStart + "--storage param=" + type + "\n" + rule.bytes).str()});
  return seeds;
}

} // namespace

const FuzzTarget updraft::fuzz::rulesTarget = {"rules", fuzzRules, ruleSeeds, languageTarget.words};
