//===- PlanVerifiers.cpp - Constraints of a plan ----------------------------------------------===//
// Each check bears the label that the operation's description gives it.

#include "Updraft/IR/UpdraftOps.h"
#include "Verification.h"
#include "mlir/IR/Matchers.h"

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
  for (StreamOp stream : streams)
    if (!names.insert(stream.getName()).second)
      return stream.emitOpError() << "has the name \"" << stream.getName()
                                  << "\" of another stream";
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
                               << "has operand " << index << " that is no hyperparameter";
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

// pass_c3
LogicalResult verifyDistinct(PassOp pass, ValueRange streams, StringRef verb) {
  llvm::DenseSet<Value> seen;
  for (Value stream : streams) {
    if (seen.insert(stream).second)
      continue;
    InFlightDiagnostic error = pass.emitOpError() << verb << " a stream twice, must do so once";
    error.attachNote(stream.getLoc()) << "the stream is here";
    return error;
  }
  return success();
}

} // namespace

LogicalResult PlanOp::verifyRegions() {
  // plan_c1
  for (Operation &operation : getBody().front())
    if (!isa<HyperOp, StepOp, FirstOp, StreamOp, InitialOp, ValidateOp, PrologueOp, PassOp>(
            operation))
      return operation.emitOpError() << "cannot be in a plan, must be in a host function or a pass";

  llvm::StringSet<> hypers;
  if (failed(collectHyperNames(getBody().front(), hypers)) || failed(verifyStreams(*this)) ||
      failed(verifyOne<InitialOp>(*this)) || failed(verifyOne<ValidateOp>(*this)))
    return failure();

  for (auto validate : getBody().getOps<ValidateOp>())
    for (auto message : validate.getMessages().getAsRange<StringAttr>())
      if (failed(verifyMessage(validate, message, hypers))) // validate_c4
        return failure();
  return success();
}

LogicalResult InitialOp::verifyRegions() {
  size_t streams = countOps<StreamOp>(*(*this)->getBlock());
  SmallVector<Type> states(std::max<size_t>(streams, 2) - 2, Float64Type::get(getContext()));
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
  if (failed(verifyHostOperations(*this)))
    return failure();
  return verifyHostTypes(*this, getResultTypes());
}

LogicalResult PassOp::verifyRegions() {
  Block &body = getBody().front();
  Type compute = (*this)->getParentOfType<PlanOp>().getCompute();

  // pass_c4
  if (failed(verifyDialects(body, {"arith", "math"})))
    return failure();
  for (Operation &operation : body.without_terminator())
    if (!matchPattern(&operation, m_Constant()) && failed(verifyElementTypes(&operation, compute)))
      return failure();

  // pass_c1
  SmallVector<Type> arguments(getScalars().getTypes());
  arguments.append(getReads().size(), compute);
  if (failed(verifyArguments(*this, body, arguments)))
    return failure();

  // pass_c2
  SmallVector<Type> stored(getWrites().size(), compute);
  if (body.getTerminator()->getOperandTypes() != TypeRange(stored))
    return body.getTerminator()->emitOpError()
           << "stores (" << body.getTerminator()->getOperandTypes() << "), must store (" << stored
           << "), one per stream written";

  if (failed(verifyDistinct(*this, getReads(), "reads")) ||
      failed(verifyDistinct(*this, getWrites(), "writes")))
    return failure();

  // pass_c5
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
  return success();
}
