//===- Verification.cpp - Checks that several verifiers share ---------------------------------===//

#include "Verification.h"

#include "Updraft/IR/UpdraftOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace updraft;

LogicalResult updraft::verifyMessage(Operation *operation, StringRef message,
                                     const llvm::StringSet<> &names) {
  for (size_t at = message.find_first_of("{}"); at < message.size();
       at = message.find_first_of("{}", at)) {
    if (message.substr(at).starts_with("{{") || message.substr(at).starts_with("}}")) {
      at += 2;
      continue;
    }
    size_t end = message.find_first_of("{}", at + 1);
    if (message[at] == '}' || end == StringRef::npos || message[end] == '{')
      return operation->emitOpError() << "message \"" << message << "\" has an unpaired `"
                                      << message[at] << "`; a brace itself is written twice";
    StringRef name = message.slice(at + 1, end);
    if (!names.contains(name))
      return operation->emitOpError() << "message \"" << message << "\" names `" << name
                                      << "`, which must be a hyperparameter";
    at = end + 1;
  }
  return success();
}

LogicalResult updraft::verifyChosen(Operation *operation, std::optional<APFloat> chosen,
                                    bool isMatrix) {
  if (!chosen)
    return success();
  if (!isMatrix)
    return operation->emitOpError() << "has `chosen`, which only one with `matrix` has";
  const double fraction = chosen->convertToDouble();
  if (fraction > 0 && fraction <= 1)
    return success();
  return operation->emitOpError() << "has the fraction " << fraction
                                  << " as `chosen`, must be greater than 0 and at most 1";
}

LogicalResult updraft::collectHyperNames(Block &block, llvm::StringSet<> &names) {
  for (auto hyper : block.getOps<HyperOp>())
    if (!names.insert(hyper.getName()).second)
      return hyper.emitOpError() << "has the name \"" << hyper.getName()
                                 << "\" of another hyperparameter";
  return success();
}

// probe_c2, probe_c4
LogicalResult updraft::verifyProbes(Block &block) {
  llvm::StringSet<> names;
  ProbeOp open; // the last count of a histogram that isn't complete
  auto reportOpen = [&] {
    return open.emitOpError() << "is the last count of the histogram \"" << open.getName()
                              << "\", so its end must be infinity";
  };
  for (auto probe : block.getOps<ProbeOp>()) {
    const std::optional<APFloat> end = probe.getEnd();
    const bool continues = open && open.getName() == probe.getName();
    if (open && !(continues && end))
      return reportOpen();
    if (!continues && !names.insert(probe.getName()).second)
      return probe.emitOpError() << "has the name \"" << probe.getName() << "\" of another probe";
    if (end && (end->isNaN() || (!continues && end->isInfinity())))
      return probe.emitOpError() << "has the end " << end->convertToDouble()
                                 << ", must be a number, and infinity only after other counts";
    if (continues && !(*open.getEnd() < *end))
      return probe.emitOpError() << "has the end " << end->convertToDouble() << " after "
                                 << open.getEnd()->convertToDouble() << ", must be greater";
    open = end && !end->isInfinity() ? probe : ProbeOp();
  }
  return open ? reportOpen() : success();
}

static LogicalResult refuseDialect(Operation *operation, Block &block,
                                   ArrayRef<StringRef> dialects) {
  auto quoted = llvm::map_range(dialects, [](StringRef name) { return ("`" + name + "`").str(); });
  return operation->emitOpError() << "cannot be in `" << block.getParentOp()->getName()
                                  << "`, must be from " << llvm::join(quoted, " or ");
}

LogicalResult updraft::verifyDialects(Block &block, ArrayRef<StringRef> dialects) {
  for (Operation &top : block.without_terminator()) {
    WalkResult result = top.walk<WalkOrder::PreOrder>([&](Operation *operation) {
      if (llvm::is_contained(dialects, operation->getName().getDialectNamespace()))
        return WalkResult::advance();
      (void)refuseDialect(operation, block, dialects);
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return failure();
  }
  // The terminators' own constraints on their parents check which terminator it is.
  Operation *terminator = block.getTerminator();
  if (!isa<NextOp, YieldOp, StoreOp>(terminator))
    return refuseDialect(terminator, block, StringRef("updraft"));
  return success();
}

LogicalResult updraft::verifyElementTypes(Operation *operation) {
  auto verify = [&](Type type, StringRef what) -> LogicalResult {
    if (isa<FloatType, IntegerType>(type))
      return success();
    return operation->emitOpError() << "has " << what << " of type " << type
                                    << ", element arithmetic must be on floats and integers";
  };
  for (Type type : operation->getOperandTypes())
    if (failed(verify(type, "an operand")))
      return failure();
  for (Type type : operation->getResultTypes())
    if (failed(verify(type, "a result")))
      return failure();
  return success();
}

LogicalResult updraft::verifyArguments(Operation *operation, Block &block, TypeRange operands) {
  if (block.getArgumentTypes() == operands)
    return success();
  return operation->emitOpError() << "has block arguments of types (" << block.getArgumentTypes()
                                  << "), must match (" << operands << ")";
}
