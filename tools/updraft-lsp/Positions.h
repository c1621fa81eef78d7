//===- Positions.h - Converts byte offsets to editor positions ----------------------*- C++ -*-===//
// The protocol counts lines from 0 and columns in UTF-16 code units.

#ifndef UPDRAFT_TOOLS_LSP_POSITIONS_H
#define UPDRAFT_TOOLS_LSP_POSITIONS_H

#include "updraft/Support/SourceFile.h"
#include "llvm/Support/LSP/Protocol.h"

namespace updraft {

llvm::lsp::Position positionOf(const SourceFile &file, uint32_t offset);
llvm::lsp::Range rangeOf(SourceRange range);

/// A position past the end of a line or file becomes the end of that line or file.
uint32_t offsetOf(const SourceFile &file, const llvm::lsp::Position &position);

} // namespace updraft

#endif // UPDRAFT_TOOLS_LSP_POSITIONS_H
