//===- RunPasses.cpp - LLVM's code generation, with errors as results -------------------------===//

#include "RunPasses.h"

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

/// Keeps the first error, and drops everything else.
class FirstError : public DiagnosticHandler {
public:
  explicit FirstError(std::string &message) : message(message) {}

  bool handleDiagnostics(const DiagnosticInfo &diagnostic) override {
    if (diagnostic.getSeverity() == DS_Error && message.empty()) {
      raw_string_ostream stream(message);
      DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
    }
    return true;
  }

private:
  std::string &message;
};

} // namespace

Error updraft::runPasses(legacy::PassManager &passes, Module &module) {
  LLVMContext &context = module.getContext();
  std::string message;
  std::unique_ptr<DiagnosticHandler> before = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<FirstError>(message));
  passes.run(module);
  context.setDiagnosticHandler(std::move(before));
  if (message.empty())
    return Error::success();
  return createStringError("LLVM cannot generate code: " + message);
}
