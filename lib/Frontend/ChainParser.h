//===- ChainParser.h - Parsing chains of transforms and a rule ----------------------*- C++ -*-===//
// Parses the grammar of `clip_by_value(bound = 1) |> AdamW`, which follows `rule name =` in a file,
// and may replace a rule's name in a request.

#ifndef UPDRAFT_LIB_FRONTEND_CHAINPARSER_H
#define UPDRAFT_LIB_FRONTEND_CHAINPARSER_H

#include "ExpressionParser.h"

namespace updraft {

class ChainParser : public ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;

  /// Parses the whole text as a chain. Returns an empty list after reporting an error.
  std::vector<StageCall> parseWholeChain();

protected:
  /// Returns an empty list after reporting an error.
  std::vector<StageCall> parseChain();
  std::optional<Identifier> parseName(llvm::StringRef what);

private:
  std::optional<StageCall> parseStage();
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_CHAINPARSER_H
