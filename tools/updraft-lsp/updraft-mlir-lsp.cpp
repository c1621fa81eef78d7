//===- updraft-mlir-lsp.cpp - The language server for the dialect -----------------------------===//
// MLIR's own server with the dialects that Updraft's files hold.

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/options/LLVMStreams.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  updraft::watchLLVMStreams();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "updraft-mlir-lsp " UPDRAFT_VERSION_STRING " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  const llvm::cl::extrahelp help(
      "\nThe language server for .mlir files with Updraft's dialect: an editor starts it and "
      "speaks\n"
      "the Language Server Protocol with it over stdin and stdout.\n\n"
      "Examples:\n"
      "  updraft-mlir-lsp                            as an editor starts it\n"
      "  updraft-mlir-lsp --log=verbose 2>log.txt    with every message in a file\n\n"
      "Exit codes: 0 after `shutdown` and `exit`, 1 if the connection ended otherwise or an "
      "option\n"
      "is wrong, 2 the standard output could not be written.\n");
  mlir::DialectRegistry registry;
  updraft::registerTargetDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
