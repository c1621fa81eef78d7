//===- InterfaceFuzzer.cpp - The descriptor of a compiled rule, damaged -----------------------===//
// The descriptor comes from a cache or a package, so it may contain anything. In an accepted one,
// all indices must be in range.

#include "FuzzTarget.h"
#include "runtime/base/MessageText.h"
#include "runtime/base/RuleInterface.h"
#include "updraft/Driver/Compiler.h"

#include <cmath>
#include <set>

using namespace updraft::fuzz;
using namespace updraft::runtime;
using updraft::StorageType;

namespace {

void check(bool holds, const char *what) {
  if (!holds)
    finding(std::string("an accepted interface ") + what);
}

void checkSweep(const PlanInterface &plan, const SweepInterface &sweep) {
  const size_t streams = plan.streams.size();
  for (const auto *list : {&sweep.reads, &sweep.writes, &sweep.makes})
    for (const uint32_t stream : *list)
      check(stream < streams, "has a sweep over a stream that does not exist");
  for (const uint32_t stream : sweep.writes)
    check(stream != StreamIndex::Grad, "writes the gradient");
  for (const ReductionInterface &reduction : sweep.reductions)
    check(isScalar(reduction.over) || reduction.into < streams,
          "reduces into a stream that does not exist");
  check(sweep.scalarReductions() <= sweep.reductions.size(), "counts its reductions wrongly");
}

void checkPlan(const RuleInterface &interface, const PlanInterface &plan) {
  check(plan.rowScalars >= 1, "has no skip flag");
  for (const SweepInterface &sweep : plan.sweeps)
    checkSweep(plan, sweep);
  for (const uint32_t state : plan.scalarStates)
    check(state < interface.states.size(), "has a scalar state that does not exist");
  std::set<std::pair<StageInterface::Kind, uint32_t>> stages;
  for (const StageInterface &stage : plan.sequence) {
    check(stage.index < (stage.isSweep()                            ? plan.sweeps.size()
                         : stage.isPrologue()                       ? plan.prologues
                         : stage.kind == StageInterface::Kind::Call ? plan.calls.size()
                                                                    : plan.products.size()),
          "runs a stage that does not exist");
    check(stage.condition < plan.rowScalars, "has a condition that does not exist");
    check(stages.insert({stage.kind, stage.index}).second, "runs a stage twice");
  }
  check(stages.size() ==
            plan.sweeps.size() + plan.prologues + plan.products.size() + plan.calls.size(),
        "leaves a stage out");
  plan.groupReductions();
}

void fuzzInterface(std::string_view input) {
  RuleInterface interface;
  interface.name = "as before";
  if (Status status = RuleInterface::read(input, interface); !status.ok()) {
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

/// The descriptors of rules for tensors of any shape, for rows and columns, with states in blocks,
/// with states of a group, and with many sweeps.
std::vector<Seed> interfaceSeeds() {
  std::vector<Seed> seeds;
  auto add = [&](const std::string &name, StorageType storage) {
    updraft::CompileRequest request;
    request.filename = UPDRAFT_SOURCE_DIR "/rules/" + name + ".upd";
    request.source = llvm::cantFail(updraft::readRuleFile(request.filename));
    request.target = llvm::cantFail(updraft::CPUTarget::named("x86-64-v3"));
    request.rule.storage = {{"state", storage}};
    updraft::Compiler compiler;
    auto program = llvm::cantFail(compiler.parse(request));
    seeds.push_back({name + "." + std::to_string(static_cast<int>(storage)),
                     llvm::cantFail(compiler.compile(*program, request)).descriptor});
  };
  for (StorageType storage : {StorageType::F32, StorageType::BF16Corrected, StorageType::Q8Linear})
    for (const char *name : {"sgd", "adamw", "lamb"})
      add(name, storage);
  for (const char *name : {"adafactor", "prodigy", "rowwise_adagrad"})
    add(name, StorageType::F32);
  return seeds;
}

} // namespace

const FuzzTarget updraft::fuzz::interfaceTarget = {"interface", fuzzInterface, interfaceSeeds,
                                                   nullptr};
