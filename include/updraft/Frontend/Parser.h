//===- Parser.h - From tokens to a syntax tree --------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_FRONTEND_PARSER_H
#define UPDRAFT_FRONTEND_PARSER_H

#include "updraft/Frontend/Ast.h"
#include "updraft/Support/Diagnostics.h"

namespace updraft {

/// The maximum size of a file, in bytes.
constexpr size_t maxFileSize = 65536;
/// The maximum nesting of parentheses, `if` and unary operators.
constexpr unsigned maxNesting = 64;
/// The checker visits the statements of a `repeat` twice, and so those of the innermost 2^n times.
constexpr unsigned maxRepeatDepth = 8;
/// The maximum depth of an expression's tree; a chain of n operators has depth n.
constexpr unsigned maxExpressionDepth = 256;

/// Parses a file without its imports. Reports every error that is not a consequence of another; the
/// tree holds the part that could be parsed. A file with invalid tokens is not parsed, unless
/// `goesOn` is set, which skips them.
std::unique_ptr<ParsedFile> parseFile(std::shared_ptr<const SourceFile> source,
                                      DiagnosticEngine &diagnostics, bool goesOn = false);

/// The inputs that `update` of a rule or a transform can take.
llvm::ArrayRef<llvm::StringRef> updateInputs(bool isTransform);

/// The extents that `state name over extent` can take.
llvm::ArrayRef<llvm::StringRef> overNames();

/// Parses a text that is one expression, into the arena of `file`. Returns null on an error.
const Expr *parseExpression(ParsedFile &file, DiagnosticEngine &diagnostics);

/// Parses a text that is a chain, into `file`. Returns an empty list on an error.
std::vector<StageCall> parseChain(ParsedFile &file, DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_FRONTEND_PARSER_H
