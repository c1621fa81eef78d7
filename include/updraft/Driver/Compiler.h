//===- Compiler.h - From text to machine code ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILER_H
#define UPDRAFT_DRIVER_COMPILER_H

#include "updraft/Driver/CompileRequest.h"
#include "updraft/Driver/CompiledRule.h"
#include "updraft/Driver/DiskCache.h"
#include "updraft/Driver/Recording.h"
#include "updraft/Driver/Stage.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace updraft {

struct Toolchain;

/// Rejects a stage that the target of `request` lacks. The error lists the target's stages for
/// which `isOffered` returns true.
llvm::Error checkStage(const CompileRequest &request, Stage stage,
                       llvm::function_ref<bool(Stage)> isOffered);

/// Runs the stages in order. Reuses expensive objects (the MLIR context, the code generators)
/// between rules. Not thread-safe, except `parse`. All errors are StatusErrors with a complete
/// message: for an error in the rule's text, every diagnostic with source lines and carets.
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

  /// Prints the request after a stage; for Stage::Obj and Stage::Cubin, writes the machine code.
  /// Stage::Cubin and later stages run programs of the CUDA toolkit.
  llvm::Error emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os);

  /// Prints the cost of a step. For a GPU, adds the resources of its kernels if ptxas is available.
  llvm::Error explain(const CompileRequest &request, llvm::raw_ostream &os);

  /// The rule within the compiler while it is recorded.
  struct Recorded {
    Stage stage; ///< Updraft or Schedule
    mlir::ModuleOp module;
    const RuleFacts &rule;
    llvm::function_ref<uint32_t(mlir::Location)> placeOf; ///< an index into Recording::places
  };
  /// Takes `program`, which is `parse(request)`, through all stages up to assembly or PTX, and adds
  /// the text after every pass to `recording`. Calls `observe` after import and after scheduling.
  llvm::Error record(const Program &program, const CompileRequest &request, Recording &recording,
                     llvm::function_ref<llvm::Error(const Recorded &)> observe);

private:
  /// Creates the toolchain on first use, so a process that loads all rules from the cache needs
  /// none.
  Toolchain &getToolchain();
  std::unique_ptr<Toolchain> toolchain;
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILER_H
