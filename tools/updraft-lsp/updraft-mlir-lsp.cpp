//===- updraft-mlir-lsp.cpp - The language server for the dialect -----------------------------===//
// MLIR's own server with the dialects that Updraft's files hold.

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "updraft/Target/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  updraft::registerTargetDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
