//===- Compiler.h - From text to machine code ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILER_H
#define UPDRAFT_DRIVER_COMPILER_H

#include "updraft/Driver/CompileRequest.h"
#include "updraft/Driver/CompiledRule.h"
#include "updraft/Driver/DiskCache.h"
#include "updraft/Driver/Stage.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace updraft {

struct Toolchain;

/// Refuses a stage that the target of `request` has not, and names those that it has and that are
/// offered where the request comes from.
llvm::Error checkStage(const CompileRequest &request, Stage stage,
                       llvm::function_ref<bool(Stage)> isOffered);

/// Runs the stages in order. Keeps what is costly to make (the MLIR context, the code generators)
/// from one rule to the next. One thread at a time. All errors are StatusErrors whose message is
/// complete: for an error in the rule's text, every diagnostic, with source lines and carets.
class Compiler {
public:
  Compiler();
  ~Compiler();
  Compiler(const Compiler &) = delete;
  Compiler &operator=(const Compiler &) = delete;

  /// Parses and checks the text of `request`. Thread-safe.
  static llvm::Expected<std::shared_ptr<const Program>> parse(const CompileRequest &request);

  /// Compiles a rule of `program`, which is `parse(request)`.
  llvm::Expected<CompiledRule> compile(const Program &program, const CompileRequest &request);

  /// Prints what the request is after a stage; for Stage::Obj and Stage::Cubin the bytes
  /// of the machine code. Those from Stage::Cubin on run programs of the CUDA toolkit.
  llvm::Error emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os);

  /// Prints the cost of a step; for a GPU also what kernels need of it, by ptxas if there is one.
  llvm::Error explain(const CompileRequest &request, llvm::raw_ostream &os);

private:
  /// Made when a rule is first compiled: a process whose rules all come from the cache does
  /// without.
  Toolchain &getToolchain();
  std::unique_ptr<Toolchain> toolchain;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILER_H
