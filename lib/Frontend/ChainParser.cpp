//===- ChainParser.cpp - Parsing chains of transforms and a rule ------------------------------===//

#include "ChainParser.h"

using namespace updraft;
using llvm::StringRef;

std::optional<Identifier> ChainParser::parseName(StringRef what) {
  if (!at(TokenKind::Identifier)) {
    expected(what);
    return std::nullopt;
  }
  SourceRange range = currentRange();
  advance();
  return Identifier{range.text(), range};
}

std::optional<StageCall> ChainParser::parseStage() {
  auto name = parseName("the name of a rule or a transform");
  if (!name)
    return std::nullopt;
  StageCall stage{*name, {}};
  if (!accept(TokenKind::LeftParen))
    return stage;
  bool isClosed = parseList([&] {
    StageCall::Argument argument{};
    if (at(TokenKind::Identifier) && isFollowedBy(TokenKind::Assign)) {
      argument.name = parseName("the name of a hyperparameter");
      advance();
    }
    argument.value = parseExpression();
    stage.arguments.push_back(argument);
    return argument.value != nullptr;
  });
  if (!isClosed)
    return std::nullopt;
  return stage;
}

std::vector<StageCall> ChainParser::parseChain() {
  std::vector<StageCall> stages;
  do {
    auto stage = parseStage();
    if (!stage)
      return {};
    stages.push_back(std::move(*stage));
  } while (accept(TokenKind::Pipe));
  return stages;
}

std::vector<StageCall> ChainParser::parseWholeChain() {
  beWhole();
  std::vector<StageCall> stages = parseChain();
  if (!stages.empty() && !at(TokenKind::End)) {
    expected("`|>` or the end of the value");
    return {};
  }
  return stages;
}
