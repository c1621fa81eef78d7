//===- SeparateProbes.cpp - A rule without probes beside each rule that has some --------------===//

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_SEPARATEPROBESPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

/// Returns the forms of a rule: the operation itself or, of `updraft.variants`, those in it. Empty
/// for other operations.
SmallVector<RuleOp> formsOf(Operation &op) {
  if (auto rule = dyn_cast<RuleOp>(op))
    return {rule};
  SmallVector<RuleOp> forms;
  if (auto variants = dyn_cast<VariantsOp>(op))
    for (Operation *form : variants.getForms())
      if (auto rule = dyn_cast<RuleOp>(form))
        forms.push_back(rule);
  return forms;
}

bool hasProbes(RuleOp rule) { return !rule.getBody().getOps<ProbeOp>().empty(); }

struct SeparateProbesPass : impl::SeparateProbesPassBase<SeparateProbesPass> {
  using SeparateProbesPassBase::SeparateProbesPassBase;

  void runOnOperation() override {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody())) {
      SmallVector<RuleOp> forms = formsOf(op);
      if (llvm::none_of(forms, hasProbes))
        continue;
      if (!onlyUnprobed)
        cloneProbed(op, forms.front().getSymName());
      for (RuleOp form : forms)
        for (ProbeOp probe : llvm::make_early_inc_range(form.getBody().getOps<ProbeOp>())) {
          probe.erase();
          ++separatedProbes;
        }
    }
  }

  void cloneProbed(Operation &op, StringRef name) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(&op);
    for (RuleOp form : formsOf(*builder.clone(op)))
      form.setSymName((name + probedSuffix + form.getSymName().drop_front(name.size())).str());
  }
};

} // namespace
} // namespace updraft
