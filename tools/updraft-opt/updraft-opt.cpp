//===- updraft-opt.cpp - Runs the passes one by one -------------------------------------------===//
// The usual MLIR driver: reads a module, runs the passes named on the command line, prints it.

#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/files/FileReplacement.h"
#include "tools/options/LLVMStreams.h"
#include "updraft/Conversion/Passes.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"

/// MLIR's own file output empties the file before it reads the input.
static int runInto(const std::string &output, const std::string &input,
                   mlir::DialectRegistry &registry, const mlir::MlirOptMainConfig &config) {
  std::string message, text;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(input, &message);
  if (!file) {
    llvm::errs() << message << '\n';
    return EXIT_FAILURE;
  }
  llvm::raw_string_ostream os(text);
  if (mlir::failed(mlir::MlirOptMain(os, std::move(file), registry, config)))
    return EXIT_FAILURE;
  if (updraft::files::Failure failure = updraft::files::writeFile(output, text)) {
    llvm::errs() << "error: cannot write `" << output << "`: " << *failure << '\n';
    return updraft::exitCodeOf(UPD_IO_ERROR);
  }
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  updraft::watchLLVMStreams();
  mlir::DialectRegistry registry;
  updraft::registerTargetDialects(registry);
  mlir::registerTransformsPasses();
  mlir::LLVM::registerLLVMPasses();
  updraft::registerTransformsPasses();
  updraft::registerRulePipelines();
  updraft::registerConversionPasses();
  updraft::registerTargetPipelines();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "updraft-opt " UPDRAFT_VERSION_STRING " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  const auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv,
      "Updraft's passes, one by one\n\n"
      "Examples:\n"
      "  updraft-opt --updraft-simplify --updraft-schedule rule.mlir\n"
      "  updraft-opt --updraft-plan-pipeline --mlir-print-ir-after-all rule.mlir\n"
      "  updraft-opt --updraft-cpu-plan-pipeline --updraft-loops-pipeline=target=x86-64-v4 "
      "rule.mlir\n"
      "\n"
      "Exit codes: 0 done, 1 the input, an option or a pass failed, with a message, 2 the "
      "standard\n"
      "output could not be written.\n",
      registry);
  const auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (output == "-" || config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  return runInto(output, input, registry, config);
}
