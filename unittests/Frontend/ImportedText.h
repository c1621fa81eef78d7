//===- ImportedText.h - The operations for a text -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_FRONTEND_IMPORTEDTEXT_H
#define UPDRAFT_UNITTESTS_FRONTEND_IMPORTEDTEXT_H

#include "updraft/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

namespace updraft::test {

/// The verified module for a text, or its errors. If `statics` is given, it receives the names and
/// values of the static parameters.
inline std::string
importedText(const std::string &source, const RuleRequest &request = {},
             std::vector<std::pair<std::string, std::string>> *statics = nullptr) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine diagnostics;
  auto program = parseProgram(source, "rule.upd", diagnostics);
  auto imported = program ? importRule(context, *program, request, diagnostics) : std::nullopt;
  if (!imported)
    return diagnostics.render();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported->module)));
  if (statics)
    *statics = std::move(imported->statics);
  std::string text;
  llvm::raw_string_ostream os(text);
  imported->module->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
  return text;
}

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_FRONTEND_IMPORTEDTEXT_H
