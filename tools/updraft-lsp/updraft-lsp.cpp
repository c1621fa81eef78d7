//===- updraft-lsp.cpp - The language server for rule files -----------------------------------===//

#include "tools/options/LLVMStreams.h"
#include "tools/updraft-lsp/Server.h"
#include "updraft/Driver/Version.h"
#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace updraft;
namespace lsp = llvm::lsp;

int main(int argc, char **argv) {
  updraft::watchLLVMStreams();
  CLI::App app("Language server for rule files (.upd). An editor starts it and uses the Language "
               "Server Protocol over stdin and stdout.");
  app.footer("\nThe log goes to stderr. docs/tools.md explains how to set up an editor.\n\n"
             "Examples:\n"
             "  updraft-lsp                        as an editor starts it\n"
             "  updraft-lsp --verbose 2>log.txt    logs every message to a file\n\n"
             "Exit codes: 0 after `shutdown` and `exit`, 1 if the connection ended without them,\n"
             "2 stdout could not be written, 100 and above an error in the command\n"
             "line.");
  app.set_version_flag("--version", versionString().str());
  bool verbose = false;
  app.add_flag("--verbose", verbose, "Log every message");
  CLI11_PARSE(app, argc, argv);

  lsp::Logger::setLogLevel(verbose ? lsp::Logger::Level::Debug : lsp::Logger::Level::Error);
  llvm::sys::ChangeStdinToBinary();
  return serve(stdin, llvm::outs()) ? 0 : 1;
}
