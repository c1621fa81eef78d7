//===- PlansFuzzer.cpp - Plans over values of all extents, compiled and interpreted -----------===//
// The input makes the choices for a random rule in the dialect: reductions, rows and columns,
// states of all extents, skipped steps. The compiled plan must be bitwise equal to the interpreter.

#include "ByteChoices.h"
#include "FuzzTarget.h"

#include "RandomExtents.h"
#include "llvm/Support/xxhash.h"

using namespace updraft::fuzz;
using namespace updraft::differential;

static void fuzzPlans(std::string_view input) {
  ByteChoices choices(input);
  const bool isMatrix = choices.below(2) == 1;
  const uint64_t seed = llvm::xxh3_64bits(llvm::StringRef(input));
  const PlanCase planCase = randomExtents(choices, isMatrix, seed);
  if (testing::AssertionResult result = planEqualsInterpreted(planCase); !result)
    finding(std::string(result.message()) + "\nof the rule\n" + planCase.source);
}

const FuzzTarget updraft::fuzz::plansTarget = {"plans", fuzzPlans, nullptr, nullptr};
