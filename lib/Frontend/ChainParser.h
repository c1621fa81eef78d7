//===- ChainParser.h - Parsing chains of transforms and a rule ----------------------*- C++ -*-===//
// The grammar of `clip_by_value(bound = 1) |> AdamW`, which stands in a file after `rule name =`
// and in a request instead of a rule's name.

#ifndef UPDRAFT_LIB_FRONTEND_CHAINPARSER_H
#define UPDRAFT_LIB_FRONTEND_CHAINPARSER_H

#include "ExpressionParser.h"

namespace updraft {

class ChainParser : public ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;

  /// The whole text as a chain. Empty after a report.
  std::vector<StageCall> parseWholeChain();

protected:
  /// Empty after a report.
  std::vector<StageCall> parseChain();
  std::optional<Identifier> parseName(llvm::StringRef what);

private:
  std::optional<StageCall> parseStage();
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_CHAINPARSER_H
