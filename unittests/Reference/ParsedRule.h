//===- ParsedRule.h - Rules of tests from assembly ----------------------------------*- C++ -*-===//
// Parses a rule from MLIR assembly and makes an interpreter for it, for tests that show the rule
// and the numbers together.

#ifndef UPDRAFT_UNITTESTS_REFERENCE_PARSEDRULE_H
#define UPDRAFT_UNITTESTS_REFERENCE_PARSEDRULE_H

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "updraft/Reference/Interpreter.h"
#include "gtest/gtest.h"

namespace updraft::reference {

inline mlir::MLIRContext &testContext() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registry.insert<UpdraftDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  context.loadAllAvailableDialects();
  return context;
}

/// Returns an interpreter, or its error. Doesn't verify the rule: the interpreter supports more
/// operations on elements (integers, both float types) than rules currently may have.
inline llvm::Expected<Interpreter> interpret(const std::string &assembly,
                                             Precision precision = Precision::Stated) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(
      assembly, mlir::ParserConfig(&testContext(), /*verifyAfterParse=*/false));
  if (!module)
    return llvm::createStringError("the test's rule does not parse");
  return Interpreter::create(formsIn<RuleOp>(*module)[0], precision);
}

/// The same for a rule that must be accepted.
inline Interpreter interpretOrDie(const std::string &assembly,
                                  Precision precision = Precision::Stated) {
  llvm::Expected<Interpreter> interpreter = interpret(assembly, precision);
  if (!interpreter) {
    ADD_FAILURE() << llvm::toString(interpreter.takeError()) << "\n" << assembly;
    abort();
  }
  return std::move(*interpreter);
}

} // namespace updraft::reference

#endif // UPDRAFT_UNITTESTS_REFERENCE_PARSEDRULE_H
