//===- Parser.h - From tokens to a syntax tree --------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_PARSER_H
#define UPDRAFT_FRONTEND_PARSER_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

/// What a file may hold, in bytes.
constexpr size_t maxFileSize = 65536;
/// How deep parentheses, `if` and unary operators may nest.
constexpr unsigned maxNesting = 64;
/// How deep an expression's tree may be; a chain of n operators is n deep.
constexpr unsigned maxExpressionDepth = 256;

/// Parses a file without looking at its imports. Reports every error that it can tell apart from
/// its consequences; the tree holds what was understood. A file with wrong words is not parsed,
/// unless `goesOn`, which makes a tree of its other words.
std::unique_ptr<ParsedFile> parseFile(std::shared_ptr<const SourceFile> source,
                                      DiagnosticEngine &diagnostics, bool goesOn = false);

/// What `update` of a rule or a transform takes as inputs.
llvm::ArrayRef<llvm::StringRef> updateInputs(bool isTransform);

/// What `state name over extent` takes as an extent.
llvm::ArrayRef<llvm::StringRef> overNames();

/// Parses a text that is one expression, into the arena of `file`. Null if it is in error.
const Expr *parseExpression(ParsedFile &file, DiagnosticEngine &diagnostics);

/// Parses a text that is a chain, likewise. Empty if it is in error.
std::vector<StageCall> parseChain(ParsedFile &file, DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_PARSER_H
