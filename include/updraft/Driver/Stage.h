//===- Stage.h - The stages that can be printed -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_STAGE_H
#define UPDRAFT_DRIVER_STAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace updraft {

/// The stages of a rule, in order; see docs/architecture.md. Torch is a final stage: nothing is
/// compiled from its text, and so is Header, a C header for a program that contains the rule.
/// Stages from Header on are for CPUs, from Kernels on for GPUs. An emulated GPU runs Kernels
/// before Loops.
enum class Stage {
  Ast,
  Updraft,
  Torch,
  Schedule,
  Header,
  Loops,
  LLVM,
  Asm,
  Obj,
  Kernels,
  NVVM,
  PTX,
  Cubin,
  SASS
};

inline bool isOfGPU(Stage stage) { return stage >= Stage::Kernels; }

/// Returns the file suffix of a binary stage, such as ".o"; empty for text.
llvm::StringRef binarySuffix(Stage stage);

/// The names of the stages, indexed by Stage: "ast", "updraft", …
llvm::ArrayRef<llvm::StringRef> stageNames();
llvm::StringRef nameOf(Stage stage);

std::optional<Stage> parseStage(llvm::StringRef name);

} // namespace updraft

#endif // UPDRAFT_DRIVER_STAGE_H
