//===- RuleVerifiers.cpp - Constraints of a rule ----------------------------------------------===//
// Each check bears the label that the operation's description gives it.

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Verification.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace updraft;

namespace {

// rule_c2
template <typename InputOp> LogicalResult verifyOne(RuleOp rule) {
  auto inputs = rule.getBody().getOps<InputOp>();
  auto count = std::distance(inputs.begin(), inputs.end());
  if (count == 1)
    return success();
  return rule.emitOpError() << "has " << count << " `" << InputOp::getOperationName()
                            << "`, must have exactly one";
}

// rule_c4
LogicalResult verifyStateNames(RuleOp rule) {
  llvm::StringSet<> names;
  for (auto state : rule.getBody().getOps<StateOp>()) {
    StringRef name = state.getName();
    if (name == "param" || name == "grad")
      return state.emitOpError() << "has the name \"" << name
                                 << "\", which is reserved for the parameter and its gradient";
    if (!names.insert(name).second)
      return state.emitOpError() << "has the name \"" << name << "\" of another state";
  }
  return success();
}

// state_c1, require_c1
LogicalResult verifyGroupExtent(Operation *operation, Value value, StringRef what,
                                const ExtentAnalysis &extents) {
  if (isWithin(extents.of(value), Extent::group))
    return success();
  return operation->emitOpError() << what << " has the extent `" << stringify(extents.of(value))
                                  << "`, must depend on hyperparameters alone";
}

LogicalResult verifyOperation(RuleOp rule, Operation &operation, const ExtentAnalysis &extents,
                              const llvm::StringSet<> &hypers) {
  if (isa<NextOp>(operation))
    return success();
  if (auto require = dyn_cast<RequireOp>(operation)) {
    // require_c2
    if (failed(verifyGroupExtent(require, require.getCondition(), "condition", extents)))
      return failure();
    return verifyMessage(require, require.getMessage(), hypers);
  }
  if (auto state = dyn_cast<StateOp>(operation)) {
    // rule_c1; the initial value is a scalar.
    if (state.getType() != rule.getCompute())
      return state.emitOpError() << "has a result of type " << state.getType()
                                 << ", must have the compute type " << rule.getCompute();
    return verifyGroupExtent(state, state.getInitial(), "initial value", extents);
  }
  if (extents.of(&operation) == Extent::element)
    return verifyElementTypes(&operation, rule.getCompute()); // rule_c1
  return success();
}

} // namespace

LogicalResult RuleOp::verifyRegions() {
  Block &body = getBody().front();
  // rule_c3
  if (failed(verifyDialects(body, {"arith", "math", "updraft"})) ||
      failed(verifyOne<ParamOp>(*this)) || failed(verifyOne<GradOp>(*this)))
    return failure();

  llvm::StringSet<> hypers;
  // rule_c4
  if (failed(collectHyperNames(body, hypers)) || failed(verifyStateNames(*this)))
    return failure();

  ExtentAnalysis extents(*this);
  for (Operation &operation : body)
    if (failed(verifyOperation(*this, operation, extents, hypers)))
      return failure();

  // next_c2
  for (Type type : body.getTerminator()->getOperandTypes())
    if (type != getCompute())
      return body.getTerminator()->emitOpError() << "has an operand of type " << type
                                                 << ", must have the compute type " << getCompute();
  return success();
}

LogicalResult NextOp::verify() {
  // next_c1
  auto states = (*this)->getBlock()->getOps<StateOp>();
  size_t count = std::distance(states.begin(), states.end());
  if (getStates().size() == count)
    return success();
  return emitOpError() << "has " << getStates().size() << " operands for states, must have "
                       << count << ", one per `updraft.state`";
}

/// A requirement that holds for all hyperparameters.
LogicalResult RequireOp::canonicalize(RequireOp require, PatternRewriter &rewriter) {
  if (!matchPattern(require.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(require);
  return success();
}
