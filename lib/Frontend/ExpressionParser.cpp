//===- ExpressionParser.cpp - Expressions by precedence ---------------------------------------===//

#include "ExpressionParser.h"

#include "llvm/ADT/ScopeExit.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

namespace {
constexpr unsigned comparisonPrecedence = 3;

struct BinaryInfo {
  unsigned precedence; ///< 0: not a binary operator
  BinaryOperator op;
};

BinaryInfo binaryInfo(TokenKind kind) {
  switch (kind) {
  case TokenKind::Or:
    return {1, BinaryOperator::Or};
  case TokenKind::And:
    return {2, BinaryOperator::And};
  case TokenKind::Less:
    return {comparisonPrecedence, BinaryOperator::Less};
  case TokenKind::LessEqual:
    return {comparisonPrecedence, BinaryOperator::LessEqual};
  case TokenKind::Greater:
    return {comparisonPrecedence, BinaryOperator::Greater};
  case TokenKind::GreaterEqual:
    return {comparisonPrecedence, BinaryOperator::GreaterEqual};
  case TokenKind::Equal:
    return {comparisonPrecedence, BinaryOperator::Equal};
  case TokenKind::NotEqual:
    return {comparisonPrecedence, BinaryOperator::NotEqual};
  case TokenKind::Plus:
    return {4, BinaryOperator::Add};
  case TokenKind::Minus:
    return {4, BinaryOperator::Subtract};
  case TokenKind::Star:
    return {5, BinaryOperator::Multiply};
  case TokenKind::Slash:
    return {5, BinaryOperator::Divide};
  case TokenKind::At:
    return {5, BinaryOperator::MatrixProduct};
  default:
    return {0, BinaryOperator::Add};
  }
}

// The tokens that never follow a name within an expression.
bool startsOperand(TokenKind kind) {
  return kind == TokenKind::Identifier || kind == TokenKind::Number || kind == TokenKind::True ||
         kind == TokenKind::False || kind == TokenKind::Not;
}
} // namespace

void ExpressionParser::expected(StringRef what, StringRef hint) {
  // An earlier error at this place is the cause of this one.
  if (atUnexpected())
    return;
  lastUnexpected = position;
  if (hint.empty() && at(TokenKind::Assign))
    hint = "; equality is written `==`";
  if (at(TokenKind::Identifier) || at(TokenKind::Number))
    diagnostics.report(DiagnosticKind::ExpectedToken, currentRange(), what,
                       "`" + shown(currentRange().text()) + "`", hint);
  else
    diagnostics.report(
        DiagnosticKind::ExpectedToken, currentRange(), what,
        isWhole && at(TokenKind::End) ? "the end of the value" : describe(current().kind), hint);
}

bool ExpressionParser::expect(TokenKind kind, StringRef hint) {
  if (accept(kind))
    return true;
  expected(describe(kind), hint);
  return false;
}

void ExpressionParser::expectedOneOf(llvm::ArrayRef<TokenKind> kinds, StringRef hint) {
  std::string what = describe(kinds.front()).str();
  for (size_t i = 1; i < kinds.size(); ++i)
    what += ((i + 1 < kinds.size() ? ", " : " or ") + describe(kinds[i])).str();
  expected(what, hint);
}

bool ExpressionParser::parseList(llvm::function_ref<bool()> parseItem, TokenKind close) {
  while (!at(close)) {
    if (!parseItem())
      return false;
    if (!accept(TokenKind::Comma))
      break;
  }
  if (accept(close))
    return true;
  expectedOneOf({TokenKind::Comma, close}, typeHint());
  return false;
}

bool ExpressionParser::enter() {
  if (++nesting <= maxNesting)
    return true;
  diagnostics.report(DiagnosticKind::NestingTooDeep, currentRange(), maxNesting);
  return false;
}

// Called only where a name would be an error, so these words may be names elsewhere.
bool ExpressionParser::isForeignOperator() {
  StringRef word = currentRange().text();
  StringRef symbol = word == "and" ? "&&" : word == "or" ? "||" : word == "not" ? "!" : "";
  if (!at(TokenKind::Identifier) || symbol.empty())
    return false;
  diagnostics.report(DiagnosticKind::InvalidCharacter, currentRange(), ("`" + word + "`").str(),
                     ("; it is written `" + symbol + "`").str());
  return true;
}

const Expr *ExpressionParser::make(Expr expr, llvm::ArrayRef<const Expr *> operands) {
  for (const Expr *operand : operands) {
    if (!operand)
      return nullptr;
    expr.depth = std::max(expr.depth, operand->depth + 1);
  }
  if (expr.depth > maxExpressionDepth) {
    diagnostics.report(DiagnosticKind::ExpressionTooDeep, expr.focus, maxExpressionDepth);
    return nullptr;
  }
  expr.operands = operands.copy(file.arena);
  return new (file.arena.Allocate<Expr>()) Expr(expr);
}

const Expr *ExpressionParser::parseWhole() {
  beWhole();
  const Expr *expr = parseExpression();
  if (expr && !at(TokenKind::End)) {
    expected("the end of the value");
    return nullptr;
  }
  return expr;
}

const Expr *ExpressionParser::parseExpression() {
  llvm::scope_exit leave([this] { --nesting; });
  if (!enter())
    return nullptr;
  return parseBinary(1);
}

const Expr *ExpressionParser::parseBinary(unsigned minimumPrecedence) {
  const Expr *left = parsePrefix();
  bool compared = false;
  while (left) {
    if (isForeignOperator())
      return nullptr;
    BinaryInfo info = binaryInfo(current().kind);
    if (info.precedence == 0 || info.precedence < minimumPrecedence)
      break;
    SourceRange focus = currentRange();
    if (info.precedence == comparisonPrecedence && compared) {
      diagnostics.report(DiagnosticKind::ChainedComparison, focus);
      return nullptr;
    }
    compared = info.precedence == comparisonPrecedence;
    advance();
    const Expr *right = parseBinary(info.precedence + 1);
    if (!right)
      return nullptr;
    Expr expr{ExprKind::Binary};
    expr.binary = info.op;
    expr.range = left->range.to(right->range);
    expr.focus = focus;
    left = make(expr, {left, right});
  }
  return left;
}

const Expr *ExpressionParser::parsePrefix() {
  if (!at(TokenKind::Minus) && !at(TokenKind::Not))
    return parsePower();
  llvm::scope_exit leave([this] { --nesting; });
  if (!enter())
    return nullptr;
  Expr expr{ExprKind::Unary};
  expr.unary = at(TokenKind::Minus) ? UnaryOperator::Negate : UnaryOperator::Not;
  expr.focus = currentRange();
  advance();
  const Expr *operand = parsePrefix();
  if (!operand)
    return nullptr;
  expr.range = expr.focus.to(operand->range);
  return make(expr, {operand});
}

// Binds tighter than a preceding minus, and looser than a following one: -x ^ -y is -(x ^ (-y)).
const Expr *ExpressionParser::parsePower() {
  const Expr *base = parseOperand();
  if (base && at(TokenKind::LeftBracket)) {
    diagnostics.report(DiagnosticKind::InvalidCharacter, currentRange(), "`[` behind a value",
                       "; a rule says what becomes of each element, without an index");
    return nullptr;
  }
  if (!base || !at(TokenKind::Caret))
    return base;
  llvm::scope_exit leave([this] { --nesting; });
  if (!enter())
    return nullptr;
  Expr expr{ExprKind::Binary};
  expr.binary = BinaryOperator::Power;
  expr.focus = currentRange();
  advance();
  const Expr *exponent = parsePrefix();
  if (!exponent)
    return nullptr;
  expr.range = base->range.to(exponent->range);
  return make(expr, {base, exponent});
}

const Expr *ExpressionParser::parseOperand() {
  Expr expr{ExprKind::Number};
  expr.range = expr.focus = currentRange();
  switch (current().kind) {
  case TokenKind::Number:
    expr.number = current().number;
    advance();
    return make(expr, {});
  case TokenKind::True:
  case TokenKind::False:
    expr.kind = ExprKind::Bool;
    expr.boolean = at(TokenKind::True);
    advance();
    return make(expr, {});
  case TokenKind::String:
    expr.kind = ExprKind::String;
    expr.text = expr.range.text().drop_front();
    expr.text.consume_back("\"");
    advance();
    return make(expr, {});
  case TokenKind::Identifier:
    if (expr.range.text() == "not" && startsOperand(tokens[position + 1].kind) &&
        isForeignOperator())
      return nullptr;
    advance();
    if (at(TokenKind::LeftParen))
      return parseCall(expr.range);
    expr.kind = ExprKind::Name;
    expr.text = expr.range.text();
    return make(expr, {});
  case TokenKind::If:
    return parseIf();
  case TokenKind::LeftParen:
    return parseParentheses();
  case TokenKind::LeftBracket:
    expr.kind = ExprKind::List;
    return parseElements(expr, TokenKind::RightBracket);
  default:
    expected("an expression");
    return nullptr;
  }
}

/// Parses an expression in parentheses, or the parts of a tuple.
const Expr *ExpressionParser::parseParentheses() {
  Expr tuple{ExprKind::Tuple};
  tuple.focus = currentRange();
  advance();
  const Expr *first = parseExpression();
  if (first && at(TokenKind::Comma))
    return parseElements(tuple, TokenKind::RightParen, first);
  return first && expect(TokenKind::RightParen) ? first : nullptr;
}

/// Parses the rest of a list or tuple, whose first part may have been parsed.
const Expr *ExpressionParser::parseElements(Expr expr, TokenKind close, const Expr *first) {
  advance();
  llvm::SmallVector<const Expr *, 8> parts;
  if (first)
    parts.push_back(first);
  bool isClosed = parseList(
      [&] {
        parts.push_back(parseExpression());
        return parts.back() != nullptr;
      },
      close);
  if (!isClosed)
    return nullptr;
  expr.range = expr.focus.to(previousRange());
  if (expr.kind == ExprKind::Tuple && parts.size() < 2) {
    diagnostics.report(DiagnosticKind::TupleOfOne, expr.range);
    return nullptr;
  }
  return make(expr, parts);
}

const Expr *ExpressionParser::parseIf() {
  Expr expr{ExprKind::If};
  expr.focus = currentRange();
  advance();
  const Expr *condition = parseExpression();
  if (!condition || !expect(TokenKind::Then))
    return nullptr;
  const Expr *whenTrue = parseExpression();
  if (!whenTrue || !expect(TokenKind::Else))
    return nullptr;
  const Expr *whenFalse = parseExpression();
  if (!whenFalse)
    return nullptr;
  expr.range = expr.focus.to(whenFalse->range);
  return make(expr, {condition, whenTrue, whenFalse});
}

const Expr *ExpressionParser::parseCall(SourceRange name) {
  Expr expr{ExprKind::Call};
  expr.focus = name;
  expr.text = name.text();
  advance();
  llvm::SmallVector<const Expr *, 4> arguments;
  bool isClosed = parseList([&] {
    arguments.push_back(parseExpression());
    return arguments.back() != nullptr;
  });
  if (!isClosed)
    return nullptr;
  expr.range = name.to(previousRange());
  return make(expr, arguments);
}
