//===- InterfaceFuzzer.cpp - The description of a compiled rule, damaged ----------------------===//
// The description comes from a cache or a package, so it may contain anything. In an accepted one,
// all indices must be in range.

#include "FuzzTarget.h"
#include "SourceFiles.h"

#include "runtime/base/MessageText.h"
#include "runtime/base/RuleInterface.h"

#include <cmath>
#include <set>

using namespace updraft::fuzz;
using namespace updraft::runtime;

namespace {

void check(bool holds, const char *what) {
  if (!holds)
    finding(std::string("an accepted interface ") + what);
}

void checkPass(const RuleInterface &interface, const PlanInterface &plan,
               const PassInterface &pass) {
  const size_t streams = interface.streamsOf(plan).size();
  for (const auto *list : {&pass.reads, &pass.writes, &pass.makes})
    for (const uint32_t stream : *list)
      check(stream < streams, "has a pass over a stream that does not exist");
  for (const uint32_t stream : pass.writes)
    check(stream != StreamIndex::Grad, "writes the gradient");
  for (const ReductionInterface &reduction : pass.reductions)
    check(isScalar(reduction.over) || reduction.into < streams,
          "reduces into a stream that does not exist");
  check(pass.scalarReductions() <= pass.reductions.size(), "counts its reductions wrongly");
}

void checkPlan(const RuleInterface &interface, const PlanInterface &plan) {
  check(plan.rowScalars >= 1, "has no skip flag");
  for (const PassInterface &pass : plan.passes)
    checkPass(interface, plan, pass);
  for (const uint32_t state : interface.scalarStatesOf(plan))
    check(state < interface.states.size(), "has a scalar state that does not exist");
  std::set<std::pair<bool, uint32_t>> stages;
  for (const StageInterface &stage : plan.sequence) {
    check(stage.index < (stage.isPass ? plan.passes.size() : plan.prologues),
          "runs a stage that does not exist");
    check(stages.insert({stage.isPass, stage.index}).second, "runs a stage twice");
  }
  check(stages.size() == plan.passes.size() + plan.prologues, "leaves a stage out");
  plan.groupReductions();
}

void fuzzInterface(std::string_view input) {
  RuleInterface interface;
  interface.name = "as before";
  if (Status status = RuleInterface::parse(input, interface); !status.ok()) {
    check(interface.name == "as before" && interface.states.empty(), "was in fact refused");
    if (status.code() != UPD_INVALID_ARGUMENT || status.message().empty())
      finding("a refusal without its reason");
    return;
  }
  check(!interface.name.empty(), "has no name");
  check(!interface.plans.empty(), "has no plan");
  std::vector<std::string> names;
  std::vector<double> values;
  for (const HyperInterface &hyper : interface.hypers) {
    check(!std::isnan(hyper.defaultValue), "has a NaN for a default");
    names.push_back(hyper.name);
    values.push_back(hyper.defaultValue);
  }
  for (const std::string &message : interface.messages)
    fillMessage(message, names, values.data());
  nameHint("lr", names);
  for (const PlanInterface &plan : interface.plans)
    checkPlan(interface, plan);
}

std::vector<std::string> interfaceWords() {
  std::vector<std::string> words;
  for (const char *name :
       {"format",      "name",       "compute",   "numerics",    "gpu",     "statics", "hypers",
        "default",     "param",      "grad",      "states",      "dtype",   "over",    "for",
        "messages",    "plans",      "prefix",    "row_scalars", "rows_by", "random",  "prologues",
        "temporaries", "sequence",   "prologue",  "pass",        "loop",    "reads",   "writes",
        "makes",       "reductions", "kind",      "into",        "step",    "tensor",  "flat",
        "matrix",      "vector",     "any",       "element",     "row",     "column",  "group",
        "sum",         "max",        "inf",       "-inf",        "ieee",    "f32",     "f64",
        "bf16",        "f16",        "depends_on"})
    words.push_back("\"" + std::string(name) + "\"");
  for (const char *word : {"true", "false", "null", "[]", "{}", "4294967296", "-1", "1e999"})
    words.push_back(word);
  return words;
}

} // namespace

const FuzzTarget updraft::fuzz::interfaceTarget = {"interface", fuzzInterface, nullptr,
                                                   interfaceWords};
