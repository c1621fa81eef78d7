//===- Stage.cpp - Names of the stages --------------------------------------------------------===//

#include "updraft/Driver/Stage.h"

#include "llvm/ADT/STLExtras.h"

using namespace updraft;

llvm::ArrayRef<llvm::StringRef> updraft::stageNames() {
  static constexpr llvm::StringRef names[] = {"ast",   "updraft", "torch", "schedule", "header",
                                              "loops", "llvm",    "asm",   "obj",      "gpu",
                                              "nvvm",  "ptx",     "cubin", "sass"};
  return names;
}

llvm::StringRef updraft::nameOf(Stage stage) { return stageNames()[static_cast<size_t>(stage)]; }

std::optional<Stage> updraft::parseStage(llvm::StringRef name) {
  const auto *found = llvm::find(stageNames(), name);
  if (found == stageNames().end())
    return std::nullopt;
  return static_cast<Stage>(found - stageNames().begin());
}

llvm::StringRef updraft::binarySuffix(Stage stage) {
  return stage == Stage::Obj ? ".o" : stage == Stage::Cubin ? ".cubin" : "";
}
