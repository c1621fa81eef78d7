//===- Stage.h - The stages that can be looked at -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_STAGE_H
#define UPDRAFT_DRIVER_STAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace updraft {

/// In the order in which a rule passes through them; see docs/architecture.md. Torch is one that
/// ends there: nothing is made of its text. From Loops on they are of CPUs, from Kernels on of
/// GPUs; an emulated GPU has Kernels before Loops.
enum class Stage {
  Ast,
  Updraft,
  Torch,
  Schedule,
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

inline bool isOfCPU(Stage stage) { return stage >= Stage::Loops && stage <= Stage::Obj; }
inline bool isOfGPU(Stage stage) { return stage >= Stage::Kernels; }

/// What the file of a stage that is no text ends in, ".o"; empty for text.
llvm::StringRef binarySuffix(Stage stage);

/// The names of the stages, indexed by Stage: "ast", "updraft", …
llvm::ArrayRef<llvm::StringRef> stageNames();

std::optional<Stage> parseStage(llvm::StringRef name);

} // namespace updraft

#endif // UPDRAFT_DRIVER_STAGE_H
