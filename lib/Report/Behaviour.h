//===- Behaviour.h - The update that a rule makes of canned gradients ---------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_BEHAVIOUR_H
#define UPDRAFT_LIB_REPORT_BEHAVIOUR_H

#include "Updraft/IR/UpdraftOps.h"
#include "llvm/Support/JSON.h"

namespace updraft {

/// Steps a rule, and AdamW beside it, with gradients that are constant, noise, noise with a spike,
/// and sparse, in f64. Returns the size of each update: the member `behaviour` of a report. `forms`
/// are the rules as imported.
llvm::json::Object behaviourOf(llvm::ArrayRef<RuleOp> forms);

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_BEHAVIOUR_H
