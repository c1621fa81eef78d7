//===- RuleVerifiers.cpp - Constraints of a rule ----------------------------------------------===//
// Each check is marked with the label of its constraint in the operation's description.

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/MatrixFunctions.h"
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

// probe_c1
LogicalResult verifyProbe(ProbeOp probe, const ExtentAnalysis &extents) {
  const Extent extent = extents.of(probe.getValue());
  if (isWithin(extent, Extent::tensor))
    return success();
  return probe.emitOpError() << "has a value of extent `" << stringifyExtent(extent)
                             << "`, must have at most the extent `tensor`";
}

// state_c1, require_c1
LogicalResult verifyGroupExtent(Operation *operation, Value value, StringRef what,
                                const ExtentAnalysis &extents) {
  if (isWithin(extents.of(value), Extent::group))
    return success();
  return operation->emitOpError() << what << " has the extent `"
                                  << stringifyExtent(extents.of(value))
                                  << "`, must depend on hyperparameters alone";
}

LogicalResult verifyState(RuleOp rule, StateOp state, const ExtentAnalysis &extents) {
  // rule_c5
  Extent over = state.getOver();
  if (needsMatrix(over) && !rule.getMatrix())
    return state.emitOpError() << "has the extent `" << stringifyExtent(over)
                               << "`, which only a rule with `matrix` has";
  // state_c2
  if (over == Extent::model || over == Extent::batch ||
      (!isWithin(over, Extent::element) && !isSquareExtent(over)))
    return state.emitOpError() << "is over `" << stringifyExtent(over)
                               << "`, must be over `group`, `tensor`, `row`, `column`, `element`, "
                                  "`rows_by_rows` or `columns_by_columns`";
  Type expected =
      isWithin(over, Extent::tensor) ? Float64Type::get(state.getContext()) : rule.getCompute();
  if (state.getType() != expected)
    return state.emitOpError() << "over `" << stringifyExtent(over) << "` has a result of type "
                               << state.getType() << ", must have the type " << expected;
  // state_c3
  if (isa<BlockedType>(state.getStorage()) && over != Extent::element)
    return state.emitOpError() << "is stored as " << state.getStorage() << " over `"
                               << stringifyExtent(over) << "`, must be over `element`";
  // state_c4
  if (over != Extent::element &&
      (isa<StochasticType, CorrectedType>(state.getStorage()) || state.getStorage().isInteger(8)))
    return state.emitOpError() << "over `" << stringifyExtent(over) << "` is stored as "
                               << state.getStorage()
                               << ", which only a state over `element` can be";
  // The initial value must be a scalar.
  return verifyGroupExtent(state, state.getInitial(), "initial value", extents);
}

// next_c2, next_c3, next_c4
LogicalResult verifyNext(RuleOp rule, const ExtentAnalysis &extents) {
  auto next = cast<NextOp>(rule.getBody().front().getTerminator());
  auto verify = [&](Value value, Type type, Extent over, StringRef name) -> LogicalResult {
    if (value.getType() != type)
      return next.emitOpError() << "has an operand of type " << value.getType() << " for `" << name
                                << "`, must have the type " << type;
    Extent extent = extents.of(value);
    if (isWithin(extent, over))
      return success();
    return next.emitOpError() << "has an operand of extent `" << stringifyExtent(extent)
                              << "` for `" << name << "`, which is over `" << stringifyExtent(over)
                              << "`";
  };
  if (failed(verify(next.getParam(), rule.getCompute(), Extent::element, "param")))
    return failure();
  for (auto [state, value] : llvm::zip(rule.getBody().getOps<StateOp>(), next.getStates()))
    if (failed(verify(value, state.getType(), state.getOver(), state.getName())))
      return failure();
  if (Value skip = next.getSkip(); skip && !extents.isScalar(skip))
    return next.emitOpError() << "has a condition of `skip` of extent `"
                              << stringifyExtent(extents.of(skip))
                              << "`, must have at most the extent `tensor`";
  return success();
}

LogicalResult verifyProduct(ProductOp product, const ExtentAnalysis &extents) {
  Extent lhs = extents.of(product.getLhs()), rhs = extents.of(product.getRhs());
  // product_c1
  for (Extent extent : {lhs, rhs})
    if (!isMatrixExtent(extent))
      return product.emitOpError() << "has an operand of extent `" << stringifyExtent(extent)
                                   << "`, must be a matrix of values";
  // product_c2
  if (!haveProduct(lhs, rhs))
    return product.emitOpError() << "has operands of extents `" << stringifyExtent(lhs) << "` and `"
                                 << stringifyExtent(rhs) << "`, must have as many columns as rows";
  // product_c3
  Extent result = productOf(lhs, rhs);
  if (product.getSymmetric() && result != transposed(result))
    return product.emitOpError() << "is `symmetric`, but its result has the extent `"
                                 << stringifyExtent(result) << "`, must be square";
  return success();
}

LogicalResult verifyTranspose(TransposeOp transpose, const ExtentAnalysis &extents) {
  // transpose_c1
  Extent extent = extents.of(transpose.getInput());
  if (isMatrixExtent(extent))
    return success();
  return transpose.emitOpError() << "has an operand of extent `" << stringifyExtent(extent)
                                 << "`, must be a matrix of values";
}

LogicalResult verifyBroadcast(BroadcastOp broadcast, const ExtentAnalysis &extents) {
  // broadcast_c1
  Extent extent = extents.of(broadcast.getInput());
  if (isWithin(extent, broadcast.getOver()))
    return success();
  return broadcast.emitOpError() << "over `" << stringifyExtent(broadcast.getOver())
                                 << "` has an operand of extent `" << stringifyExtent(extent)
                                 << "`, must not have a larger one";
}

LogicalResult verifyApply(ApplyOp apply, const ExtentAnalysis &extents) {
  // apply_c1
  for (Value operand : apply.getInputs())
    if (operand.getType() != apply.getType())
      return apply.emitOpError() << "has an operand of type " << operand.getType()
                                 << ", must have the type of the result, " << apply.getType();
  auto operands =
      llvm::map_to_vector(apply.getInputs(), [&](Value operand) { return extents.of(operand); });
  std::string problem = problemOfApplied(apply.getFunction(), operands);
  if (!problem.empty())
    return apply.emitOpError() << problem;
  // rule_c8
  if (usesChosen(apply.getFunction()) && !apply->getParentOfType<RuleOp>().getChosen())
    return apply.emitOpError() << "is in a rule without `chosen`";
  return success();
}

LogicalResult verifyOperation(RuleOp rule, Operation &operation, const ExtentAnalysis &extents,
                              const llvm::StringSet<> &hypers) {
  if (isa<NextOp>(operation))
    return success();
  if (auto require = dyn_cast<RequireOp>(operation)) {
    // require_c1
    if (failed(verifyGroupExtent(require, require.getCondition(), "condition", extents)))
      return failure();
    // require_c2
    return verifyMessage(require, require.getMessage(), hypers);
  }
  if (auto probe = dyn_cast<ProbeOp>(operation))
    return verifyProbe(probe, extents);
  if (auto state = dyn_cast<StateOp>(operation))
    return verifyState(rule, state, extents);
  if (auto product = dyn_cast<ProductOp>(operation))
    if (failed(verifyProduct(product, extents)))
      return failure();
  if (auto transpose = dyn_cast<TransposeOp>(operation))
    if (failed(verifyTranspose(transpose, extents)))
      return failure();
  if (auto broadcast = dyn_cast<BroadcastOp>(operation))
    if (failed(verifyBroadcast(broadcast, extents)))
      return failure();
  if (auto apply = dyn_cast<ApplyOp>(operation))
    if (failed(verifyApply(apply, extents)))
      return failure();
  Extent extent = extents.of(&operation);
  // rule_c6
  if (!isConsistent(extent)) {
    InFlightDiagnostic error = operation.emitOpError() << "has operands of extents";
    for (Value operand : operation.getOperands())
      error << (operand == operation.getOperand(0) ? " `" : ", `")
            << stringifyExtent(extents.of(operand)) << "`";
    return error << ", must have matrices of one shape";
  }
  // rule_c5
  if (needsMatrix(extent) && !rule.getMatrix())
    return operation.emitOpError() << "has the extent `" << stringifyExtent(extent)
                                   << "`, which only a rule with `matrix` has";
  // reduce_c2
  if (auto reduce = dyn_cast<ReduceOp>(operation)) {
    Extent from = extents.of(reduce.getInput());
    if (from == reduce.getOver() || !isWithin(reduce.getOver(), from))
      return reduce.emitOpError() << "over `" << stringifyExtent(reduce.getOver())
                                  << "` has an operand of extent `" << stringifyExtent(from)
                                  << "`, must have a larger one";
    // reduce_c3
    if (isWithin(from, Extent::tensor) || isTransposedExtent(from))
      return reduce.emitOpError() << "has an operand of extent `" << stringifyExtent(from)
                                  << "`, must be over elements, rows, columns or batches, or a "
                                     "square matrix or one of chosen rows or columns";
    // reduce_c4
    if (reduce.getOver() == Extent::batch && isMatrixExtent(from))
      return reduce.emitOpError() << "over `batch` has an operand of extent `"
                                  << stringifyExtent(from) << "`, must be over rows or columns";
  }
  if (isWithin(extent, Extent::tensor))
    return success();
  // rule_c1
  if (isa<ParamOp, GradOp, IdentityOp>(operation) &&
      operation.getResult(0).getType() != rule.getCompute())
    return operation.emitOpError() << "has the type " << operation.getResult(0).getType()
                                   << ", must have the compute type " << rule.getCompute();
  return verifyElementTypes(&operation);
}

} // namespace

LogicalResult RuleOp::verifyRegions() {
  Block &body = getBody().front();
  // rule_c3
  if (failed(verifyDialects(body, {"arith", "math", "updraft"})) ||
      failed(verifyOne<ParamOp>(*this)) || failed(verifyOne<GradOp>(*this)))
    return failure();

  // rule_c7
  if (getShapes() && !getMatrix())
    return emitOpError() << "has `shapes`, which only a rule with `matrix` has";
  // rule_c8
  if (failed(verifyChosen(*this, getChosen(), getMatrix())))
    return failure();

  llvm::StringSet<> hypers;
  // rule_c4
  if (failed(collectHyperNames(body, hypers)) || failed(verifyStateNames(*this)) ||
      failed(verifyProbes(body)))
    return failure();

  ExtentAnalysis extents(*this);
  for (Operation &operation : body)
    if (failed(verifyOperation(*this, operation, extents, hypers)))
      return failure();

  return verifyNext(*this, extents);
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

/// Erases a requirement that holds for all hyperparameters.
LogicalResult RequireOp::canonicalize(RequireOp require, PatternRewriter &rewriter) {
  if (!matchPattern(require.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(require);
  return success();
}

LogicalResult SizeOp::verify() {
  // size_c1
  if (getOver() == Extent::group || getOver() == Extent::tensor || getOver() == Extent::row ||
      getOver() == Extent::column)
    return success();
  return emitOpError() << "is over `" << stringifyExtent(getOver())
                       << "`, must be over `group`, `tensor`, `row` or `column`";
}

LogicalResult RandomOp::verify() {
  // random_c1
  if (getStream() < 256)
    return success();
  return emitOpError() << "has stream " << getStream() << ", must be from 0 to 255";
}

LogicalResult IdentityOp::verify() {
  // identity_c1
  if (isSquareExtent(getOver()))
    return success();
  return emitOpError() << "is over `" << stringifyExtent(getOver())
                       << "`, must be over `rows_by_rows` or `columns_by_columns`";
}

LogicalResult ReduceOp::verify() {
  // reduce_c1
  if (getOver() != Extent::model && isWithin(getOver(), Extent::element) &&
      getOver() != Extent::element)
    return success();
  return emitOpError() << "is over `" << stringifyExtent(getOver())
                       << "`, must be over `group`, `tensor`, `batch`, `row` or `column`";
}
