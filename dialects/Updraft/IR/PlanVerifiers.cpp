//===- PlanVerifiers.cpp - Constraints of a plan ----------------------------------------------===//
// Each check is marked with the label of its constraint in the operation's description.

#include "Updraft/IR/MatrixFunctions.h"
#include "Updraft/IR/Products.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Verification.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace updraft;

namespace {

template <typename Op> size_t countOps(Block &block) {
  auto operations = block.getOps<Op>();
  return std::distance(operations.begin(), operations.end());
}

// plan_c2
LogicalResult verifyStreams(PlanOp plan) {
  auto streams = llvm::to_vector(plan.getBody().getOps<StreamOp>());
  if (streams.size() < 2 || streams[0].getName() != "param" || streams[1].getName() != "grad")
    return plan.emitOpError() << "has " << streams.size()
                              << " streams, the first two must be \"param\" and \"grad\"";
  llvm::StringSet<> names;
  auto verifyName = [&](Operation *state, StringRef name) -> LogicalResult {
    if (names.insert(name).second)
      return success();
    return state->emitOpError() << "has the name \"" << name << "\" of another stream";
  };
  for (StreamOp stream : streams) {
    if (failed(verifyName(stream, stream.getName())))
      return failure();
    // plan_c4
    Extent over = stream.getType().getOver();
    if (over == Extent::batch || isChosenExtent(over))
      return stream.emitOpError() << "is over `" << stringifyExtent(over)
                                  << "`, must be over `element`, `row`, `column`, `rows_by_rows` "
                                     "or `columns_by_columns`";
    if (stream.getType().getOver() != Extent::element && !plan.getMatrix())
      return stream.emitOpError() << "is over `" << stringifyExtent(stream.getType().getOver())
                                  << "`, which only a plan with `matrix` has";
  }
  for (auto scalar : plan.getBody().getOps<ScalarOp>())
    if (failed(verifyName(scalar, scalar.getName())))
      return failure();
  return success();
}

// plan_c3
template <typename HostOp> LogicalResult verifyOne(PlanOp plan) {
  size_t count = countOps<HostOp>(plan.getBody().front());
  if (count == 1)
    return success();
  return plan.emitOpError() << "has " << count << " `" << HostOp::getOperationName()
                            << "`, must have exactly one";
}

// initial_c2, validate_c2
LogicalResult verifyHyperOperands(Operation *host) {
  for (auto [index, operand] : llvm::enumerate(host->getOperands())) {
    if (operand.getDefiningOp<HyperOp>())
      continue;
    InFlightDiagnostic error = host->emitOpError()
                               << "has operand " << index << " that is not a hyperparameter";
    error.attachNote(operand.getLoc()) << "it is defined here";
    return error;
  }
  return success();
}

// initial_c1, validate_c1, prologue_c1
LogicalResult verifyHostTypes(Operation *host, TypeRange yielded) {
  Block &body = host->getRegion(0).front();
  if (failed(verifyArguments(host, body, host->getOperandTypes())))
    return failure();
  if (body.getTerminator()->getOperandTypes() == yielded)
    return success();
  return body.getTerminator()->emitOpError()
         << "yields (" << body.getTerminator()->getOperandTypes() << "), must yield (" << yielded
         << ") in `" << host->getName() << "`";
}

// initial_c3, validate_c3, prologue_c2
LogicalResult verifyHostOperations(Operation *host) {
  return verifyDialects(host->getRegion(0).front(), {"arith", "math", "scf"});
}

// commit_c2, probe_c3
LogicalResult verifyOwnResult(Operation *user, Value value) {
  if (value.getDefiningOp<PrologueOp>() && value.hasOneUse())
    return success();
  InFlightDiagnostic error = user->emitOpError()
                             << "has an operand that is not its own result of `updraft.prologue`";
  error.attachNote(value.getLoc()) << "it is defined here";
  return error;
}

// sweep_c3
LogicalResult verifyDistinct(SweepOp sweep, ValueRange streams, StringRef verb) {
  llvm::DenseSet<Value> seen;
  for (Value stream : streams) {
    if (seen.insert(stream).second)
      continue;
    InFlightDiagnostic error = sweep.emitOpError() << verb << " a stream twice, must do so once";
    error.attachNote(stream.getLoc()) << "the stream is here";
    return error;
  }
  return success();
}

} // namespace

LogicalResult PlanOp::verifyRegions() {
  // plan_c4
  if (getShapes() && !getMatrix())
    return emitOpError() << "has `shapes`, which only a plan with `matrix` has";
  // plan_c5
  if (failed(verifyChosen(*this, getChosen(), getMatrix())))
    return failure();
  // plan_c1
  for (Operation &operation : getBody().front())
    if (!isa<HyperOp, StepOp, FirstOp, SizeOp, StreamOp, ScalarOp, InitialOp, ValidateOp,
             PrologueOp, SweepOp, MultiplyOp, CallOp, CommitOp, ProbeOp>(operation))
      return operation.emitOpError()
             << "cannot be in a plan, must be in a host function or a sweep";

  llvm::StringSet<> hypers;
  if (failed(collectHyperNames(getBody().front(), hypers)) || failed(verifyStreams(*this)) ||
      failed(verifyOne<InitialOp>(*this)) || failed(verifyOne<ValidateOp>(*this)) ||
      failed(verifyProbes(getBody().front())))
    return failure();
  for (auto probe : getBody().getOps<ProbeOp>()) // probe_c3
    if (failed(verifyOwnResult(probe, probe.getValue())))
      return failure();
  if (size_t commits = countOps<CommitOp>(getBody().front()); commits > 1)
    return emitOpError() << "has " << commits << " `updraft.commit`, must have at most one";

  for (auto validate : getBody().getOps<ValidateOp>())
    for (auto message : validate.getMessages().getAsRange<StringAttr>())
      if (failed(verifyMessage(validate, message, hypers))) // validate_c4
        return failure();
  return success();
}

LogicalResult InitialOp::verifyRegions() {
  Block &plan = *(*this)->getBlock();
  size_t count = std::max<size_t>(countOps<StreamOp>(plan), 2) - 2 + countOps<ScalarOp>(plan);
  SmallVector<Type> states(count, Float64Type::get(getContext()));
  if (failed(verifyHyperOperands(*this)) || failed(verifyHostOperations(*this)))
    return failure();
  return verifyHostTypes(*this, states);
}

LogicalResult ValidateOp::verifyRegions() {
  SmallVector<Type> conditions(getMessages().size(), IntegerType::get(getContext(), 1));
  if (failed(verifyHyperOperands(*this)) || failed(verifyHostOperations(*this)))
    return failure();
  return verifyHostTypes(*this, conditions);
}

LogicalResult PrologueOp::verifyRegions() {
  // prologue_c3
  for (auto [index, operand] : llvm::enumerate(getInputs())) {
    Operation *definition = operand.getDefiningOp();
    if (isa_and_present<HyperOp, StepOp, FirstOp, SizeOp, ScalarOp, SweepOp>(definition))
      continue;
    InFlightDiagnostic error =
        emitOpError() << "has operand " << index
                      << " that is neither an input of the rule nor a reduction of a sweep";
    error.attachNote(operand.getLoc()) << "it is defined here";
    return error;
  }
  if (failed(verifyHostOperations(*this)))
    return failure();
  return verifyHostTypes(*this, getResultTypes());
}

bool PrologueOp::isPerTensor() {
  return llvm::any_of(getInputs(), [](Value input) {
    Operation *definition = input.getDefiningOp();
    if (auto size = dyn_cast<SizeOp>(definition))
      return size.getOver() != Extent::group;
    if (auto scalar = dyn_cast<ScalarOp>(definition))
      return scalar.getOver() == Extent::tensor;
    if (auto sweep = dyn_cast<SweepOp>(definition)) {
      auto reductions = llvm::to_vector(sweep.getReductionRange());
      return reductions[cast<OpResult>(input).getResultNumber()].getOver() != Extent::group;
    }
    return false;
  });
}

static Extent overOf(Value stream) { return cast<StreamType>(stream.getType()).getOver(); }

bool SweepOp::runsByRows() {
  if (!isMatrixExtent(getOver()))
    return false;
  if (llvm::any_of(getReads(), [](Value stream) { return isOfMatrix(overOf(stream)); }) ||
      !getBody().front().getOps<IdentityOp>().empty())
    return true;
  // Blocks don't span rows.
  auto isBlocked = [](Value value) {
    return isa<BlockedType>(cast<StreamType>(value.getType()).getStorage());
  };
  return (*this)->getParentOfType<PlanOp>().getMatrix() &&
         (!getReductions().empty() || llvm::any_of(getReads(), isBlocked) ||
          llvm::any_of(getWrites(), isBlocked));
}

bool SweepOp::runsByBatches() {
  if (getOver() != Extent::row && getOver() != Extent::column)
    return false;
  return llvm::any_of(getReads(), [](Value read) { return overOf(read) == Extent::batch; }) ||
         llvm::any_of(getReductionRange(),
                      [](ReductionAttr reduction) { return reduction.getOver() == Extent::batch; });
}

namespace {
// sweep_c6
LogicalResult verifyStreamExtents(SweepOp sweep) {
  auto refuse = [&](StringRef verb, Extent over) -> LogicalResult {
    return sweep.emitOpError() << verb << " a stream over `" << stringifyExtent(over)
                               << "`, but runs over `" << stringifyExtent(sweep.getOver()) << "`";
  };
  if (!isInMemoryExtent(sweep.getOver()))
    return sweep.emitOpError() << "runs over `" << stringifyExtent(sweep.getOver())
                               << "`, which no stream is over";
  // plan_c5
  if (isChosenExtent(sweep.getOver()) && !sweep->getParentOfType<PlanOp>().getChosen())
    return sweep.emitOpError() << "runs over `" << stringifyExtent(sweep.getOver())
                               << "` in a plan without `chosen`";
  for (Value stream : sweep.getReads())
    if (Extent over = overOf(stream); !isWithin(over, sweep.getOver()))
      return refuse("reads", over);
  for (Value stream : sweep.getWrites())
    if (Extent over = overOf(stream); over != sweep.getOver())
      return refuse("writes", over);
  return success();
}

// sweep_c7
LogicalResult verifyResults(SweepOp sweep) {
  Builder builder(sweep.getContext());
  if (sweep.getNumResults() < sweep.getReductions().size())
    return sweep.emitOpError() << "has " << sweep.getNumResults() << " results, must have one for "
                               << "each of its " << sweep.getReductions().size() << " reductions";
  for (auto [index, reduction] : llvm::enumerate(sweep.getReductionRange())) {
    Extent over = reduction.getOver();
    if (over == Extent::model || over == sweep.getOver() || !isWithin(over, sweep.getOver()))
      return sweep.emitOpError() << "over `" << stringifyExtent(sweep.getOver())
                                 << "` cannot reduce over `" << stringifyExtent(over) << "`";
    Type expected = builder.getF64Type();
    if (!isWithin(over, Extent::tensor))
      expected = StreamType::get(sweep.getContext(), expected, over);
    if (sweep.getResult(index).getType() != expected)
      return sweep.emitOpError() << "has result #" << index << " of type "
                                 << sweep.getResult(index).getType() << ", must be " << expected;
  }
  for (Value made : sweep.getTemporaries()) {
    auto stream = dyn_cast<StreamType>(made.getType());
    if (stream && stream.getOver() == sweep.getOver())
      continue;
    return sweep.emitOpError() << "makes a temporary of type " << made.getType()
                               << ", must be a stream over `" << stringifyExtent(sweep.getOver())
                               << "`, as the sweep";
  }
  // sweep_c9
  auto isOfMatrixValue = [](ReductionAttr reduction) { return isOfMatrix(reduction.getOver()); };
  if (!sweep->getParentOfType<PlanOp>().getMatrix() &&
      (isOfMatrix(sweep.getOver()) || llvm::any_of(sweep.getReductionRange(), isOfMatrixValue)))
    return sweep.emitOpError()
           << "has values over rows, columns or batches, which only a plan with "
              "`matrix` has";
  // sweep_c8
  for (ReductionAttr reduction : sweep.getReductionRange()) {
    bool ofBatch = reduction.getOver() == Extent::batch;
    if (ofBatch && isMatrixExtent(sweep.getOver()))
      return sweep.emitOpError() << "over `" << stringifyExtent(sweep.getOver())
                                 << "` cannot reduce over `batch`; elements are "
                                    "reduced over `row` first";
    if (!ofBatch && sweep.runsByBatches())
      return sweep.emitOpError() << "uses values over `batch`, and cannot reduce over `"
                                 << stringifyExtent(reduction.getOver()) << "` too";
  }
  return success();
}

// sweep_c4
LogicalResult verifyBody(SweepOp sweep) {
  Operation *last = sweep.getBody().front().getTerminator();
  if (!isa<StoreOp>(last))
    return last->emitOpError() << "cannot end `updraft.sweep`, must be `updraft.store`";
  for (Operation &operation : sweep.getBody().front().without_terminator()) {
    if (isa<RandomOp>(operation) && sweep.getOver() == Extent::element)
      continue;
    if (auto identity = dyn_cast<IdentityOp>(operation)) {
      if (identity.getOver() == sweep.getOver())
        continue;
      return identity.emitOpError()
             << "is over `" << stringifyExtent(identity.getOver()) << "`, but its sweep is over `"
             << stringifyExtent(sweep.getOver()) << "`";
    }
    if (!isa<arith::ArithDialect, math::MathDialect>(operation.getDialect()))
      return operation.emitOpError()
             << "cannot be in `updraft.sweep`, must be from `arith` or `math`";
    if (failed(verifyElementTypes(&operation)))
      return failure();
  }
  return success();
}
} // namespace

// sweep_c5, multiply_c4, call_c3
static LogicalResult verifyCondition(Operation *operation, Value condition) {
  if (!condition || isa_and_present<PrologueOp>(condition.getDefiningOp()))
    return success();
  InFlightDiagnostic error = operation->emitOpError()
                             << "has a condition that is not a result of `updraft.prologue`";
  error.attachNote(condition.getLoc()) << "it is defined here";
  return error;
}

/// Only the parameter and states may be written.
static LogicalResult verifyWritten(Operation *op, Value written) {
  auto stream = written.getDefiningOp<StreamOp>();
  if (stream && stream.getName() != "grad")
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "writes " << (stream ? "the gradient" : "a temporary")
                             << ", must write the parameter and states alone";
  error.attachNote(written.getLoc()) << "it is defined here";
  return error;
}

LogicalResult SweepOp::verifyRegions() {
  Block &body = getBody().front();
  Type compute = (*this)->getParentOfType<PlanOp>().getCompute();
  if (failed(verifyBody(*this)) || failed(verifyStreamExtents(*this)) ||
      failed(verifyResults(*this)))
    return failure();

  // sweep_c1
  auto widened = [&](Value stream) {
    Type storage = cast<StreamType>(stream.getType()).getStorage();
    bool isTemporary = isa_and_present<SweepOp, MultiplyOp, CallOp>(stream.getDefiningOp());
    return isTemporary ? storage : compute;
  };
  SmallVector<Type> arguments(getScalars().getTypes());
  for (Value stream : getReads())
    arguments.push_back(widened(stream));
  if (failed(verifyArguments(*this, body, arguments)))
    return failure();

  // sweep_c2
  auto store = cast<StoreOp>(body.getTerminator());
  SmallVector<Type> stored(getWrites().size(), compute), made;
  for (Value temporary : getTemporaries())
    made.push_back(widened(temporary));
  if (store.getValues().getTypes() != TypeRange(stored))
    return store.emitOpError() << "stores (" << store.getValues().getTypes() << "), must store ("
                               << stored << "), one per stream written";
  if (store.getReduced().size() != getReductions().size())
    return store.emitOpError() << "reduces " << store.getReduced().size()
                               << " values, must reduce one for each of " << getReductions().size()
                               << " reductions";
  if (store.getMade().getTypes() != TypeRange(made))
    return store.emitOpError() << "makes (" << store.getMade().getTypes() << "), must make ("
                               << made << "), one per temporary";

  if (failed(verifyDistinct(*this, getReads(), "reads")) ||
      failed(verifyDistinct(*this, getWrites(), "writes")))
    return failure();

  // sweep_c10
  if (getCondition() && llvm::any_of(getReductionRange(), [](ReductionAttr reduction) {
        return reduction.getOver() == Extent::group;
      }))
    return emitOpError() << "has a condition and reduces over the group, in which every tensor "
                            "takes part";
  // sweep_c11
  for (Value written : getWrites())
    if (failed(verifyWritten(*this, written)))
      return failure();

  // sweep_c5
  for (Value scalar : getScalars()) {
    bool isRowType = scalar.getType() == compute || scalar.getType().isInteger(1);
    if (scalar.getDefiningOp<PrologueOp>() && isRowType)
      continue;
    InFlightDiagnostic error = emitOpError() << "has a scalar of type " << scalar.getType()
                                             << ", must be a result of `updraft.prologue` of type "
                                             << compute << " or i1";
    error.attachNote(scalar.getLoc()) << "it is defined here";
    return error;
  }
  return verifyCondition(*this, getCondition());
}

LogicalResult CallOp::verify() {
  auto plan = (*this)->getParentOfType<PlanOp>();
  // call_c1
  if (!plan.getMatrix())
    return emitOpError() << "is in a plan without `matrix`";
  SmallVector<Extent> operands;
  for (Value input : getInputs())
    operands.push_back(overOf(input));
  SmallVector<Type> types(getInputs().getTypes());
  types.push_back(getType());
  for (Type type : types)
    if (cast<StreamType>(type).getStorage() != plan.getCompute())
      return emitOpError() << "has a stream of type " << type << ", must be of "
                           << plan.getCompute();
  // call_c2
  if (std::string problem = problemOfApplied(getFunction(), operands); !problem.empty())
    return emitOpError() << problem;
  // plan_c5
  if (usesChosen(getFunction()) && !plan.getChosen())
    return emitOpError() << "is in a plan without `chosen`";
  if (Extent result = extentOfApplied(getFunction(), operands); overOf(getResult()) != result)
    return emitOpError() << "has a result over `" << stringifyExtent(overOf(getResult()))
                         << "`, must be over `" << stringifyExtent(result) << "`";
  return verifyCondition(*this, getCondition());
}

LogicalResult MultiplyOp::verify() {
  auto plan = (*this)->getParentOfType<PlanOp>();
  Type compute = plan.getCompute();
  // multiply_c1
  if (!plan.getMatrix())
    return emitOpError() << "is in a plan without `matrix`";
  for (StreamType type : {getLhs().getType(), getRhs().getType(), getType()})
    if (type.getStorage() != compute || !isMatrixExtent(type.getOver()))
      return emitOpError() << "has a stream of type " << type << ", must be a matrix of "
                           << compute;
  auto overOf = [](StreamType type, bool isTransposed) {
    return isTransposed ? transposed(type.getOver()) : type.getOver();
  };
  Extent lhs = overOf(getLhs().getType(), getLhsTransposed());
  Extent rhs = overOf(getRhs().getType(), getRhsTransposed());
  // multiply_c2
  if (!haveProduct(lhs, rhs) || getType().getOver() != productOf(lhs, rhs))
    return emitOpError() << "multiplies `" << stringifyExtent(lhs) << "` by `"
                         << stringifyExtent(rhs) << "`, which has no product over `"
                         << stringifyExtent(getType().getOver()) << "`";
  // multiply_c3
  if (getSymmetric() && getType().getOver() != transposed(getType().getOver()))
    return emitOpError() << "is `symmetric`, but its result is over `"
                         << stringifyExtent(getType().getOver()) << "`, must be square";
  // multiply_c5
  if (getOperandFormat() && !(plan.getFast() && compute.isF32()))
    return emitOpError() << "is `" << stringifyOperandFormat(*getOperandFormat())
                         << "`, which needs a `fast` plan that computes f32";
  // multiply_c6
  if ((getScale() || getAddendScale()) && !getAddend())
    return emitOpError() << "has a scale, but no addend";
  if ((getSumScale() || getTargetScale()) && !getTarget())
    return emitOpError() << "has a scale of the sum or of the target, but no target";
  for (Value scale : {getScale(), getAddendScale(), getSumScale(), getTargetScale()}) {
    if (!scale)
      continue;
    if (isa_and_present<PrologueOp>(scale.getDefiningOp()))
      continue;
    InFlightDiagnostic error = emitOpError()
                               << "has a scale that is not a result of `updraft.prologue`";
    error.attachNote(scale.getLoc()) << "it is defined here";
    return error;
  }
  // multiply_c7
  if (getSymmetric() && getAddend() && !isSymmetricStream(getAddend())) {
    InFlightDiagnostic error = emitOpError()
                               << "is `symmetric`, but its addend may not be symmetric";
    error.attachNote(getAddend().getLoc()) << "it is defined here";
    return error;
  }
  // multiply_c8
  if (Value target = getTarget()) {
    if (failed(verifyWritten(*this, target)))
      return failure();
    if (llvm::is_contained({getLhs(), getRhs(), getAddend()}, target))
      return emitOpError() << "has a target that it also reads as an operand or as its addend";
    if (getSymmetric())
      return emitOpError() << "is `symmetric`, and has a target";
    if (!getResult().use_empty()) {
      InFlightDiagnostic error = emitOpError()
                                 << "has a target, so nothing may use the result, which has "
                                    "partial sums";
      error.attachNote((*getResult().user_begin())->getLoc()) << "it is used here";
      return error;
    }
  }
  return verifyCondition(*this, getCondition());
}

LogicalResult ScalarOp::verify() {
  // scalar_c1
  if (getOver() == Extent::tensor || getOver() == Extent::group)
    return success();
  return emitOpError() << "is over `" << stringifyExtent(getOver())
                       << "`, must be over `tensor` or `group`";
}

LogicalResult CommitOp::verify() {
  // commit_c1
  size_t scalars = countOps<ScalarOp>(*(*this)->getBlock());
  if (getScalars().size() != scalars)
    return emitOpError() << "has " << getScalars().size() << " scalars, must have " << scalars
                         << ", one per `updraft.scalar`";
  // commit_c2
  for (Value value : getOperands())
    if (failed(verifyOwnResult(*this, value)))
      return failure();
  // commit_c3
  if (Value skip = getSkip())
    for (Operation &operation : *(*this)->getBlock())
      if (!writtenBy(&operation).empty() && operation.isBeforeInBlock(skip.getDefiningOp()))
        return emitOpError() << "has a condition of `skip` that comes after a "
                             << (isa<SweepOp>(operation) ? "sweep" : "product") << " that writes";
  return success();
}
