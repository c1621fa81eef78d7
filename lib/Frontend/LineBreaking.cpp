//===- LineBreaking.cpp - Breaks statements into lines ----------------------------------------===//

#include "LineBreaking.h"

#include "updraft/Frontend/Format.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

namespace {
/// If parentheses open further to the right, their contents start on the next line.
constexpr unsigned maxParenColumn = 60;
constexpr unsigned indentation = 4;

bool opens(const Word &word) {
  return word.kind == TokenKind::LeftParen || word.kind == TokenKind::LeftBracket;
}

bool closes(const Word &word) {
  return word.kind == TokenKind::RightParen || word.kind == TokenKind::RightBracket;
}

bool endsOperand(const Word &word) {
  switch (word.kind) {
  case TokenKind::Identifier:
  case TokenKind::Number:
  case TokenKind::String:
  case TokenKind::True:
  case TokenKind::False:
  case TokenKind::RightParen:
  case TokenKind::RightBracket:
    return true;
  default:
    return false;
  }
}

bool isPrefixOperator(Words words, size_t index) {
  TokenKind kind = words[index].kind;
  return kind == TokenKind::Not ||
         (kind == TokenKind::Minus && (index == 0 || !endsOperand(words[index - 1])));
}

/// Returns the precedence of an operator; 0 for other words.
unsigned bindingStrength(TokenKind kind) {
  switch (kind) {
  case TokenKind::Pipe:
    return 1;
  case TokenKind::Or:
    return 2;
  case TokenKind::And:
    return 3;
  case TokenKind::Less:
  case TokenKind::LessEqual:
  case TokenKind::Greater:
  case TokenKind::GreaterEqual:
  case TokenKind::Equal:
  case TokenKind::NotEqual:
    return 4;
  case TokenKind::Plus:
  case TokenKind::Minus:
    return 5;
  case TokenKind::Star:
  case TokenKind::Slash:
  case TokenKind::At:
    return 6;
  case TokenKind::Caret:
    return 7;
  default:
    return 0;
  }
}

bool isSpaced(Words words, size_t index) {
  const Word &left = words[index - 1], &right = words[index];
  if (opens(left) || closes(right) || right.kind == TokenKind::Comma)
    return false;
  if (right.kind == TokenKind::LeftParen)
    return (left.kind != TokenKind::Identifier || left.text == "for") &&
           left.kind != TokenKind::Update && left.kind != TokenKind::Finish &&
           !isPrefixOperator(words, index - 1);
  return !isPrefixOperator(words, index - 1);
}

/// Finds words outside of parentheses and conditional expressions.
class OutsideWalk {
public:
  /// Whether the word is outside. Parentheses themselves are outside.
  bool isOutside(const Word &word) {
    if (closes(word))
      --parens;
    bool result = parens == 0 && ifs == 0;
    if (opens(word))
      ++parens;
    if (parens == 0 && word.kind == TokenKind::If)
      ++ifs;
    if (parens == 0 && word.kind == TokenKind::Else && ifs > 0)
      --ifs;
    return result;
  }

private:
  unsigned parens = 0, ifs = 0;
};

/// Text that grows line by line.
class Lines {
public:
  explicit Lines(unsigned column) : end(column) {}

  void append(StringRef text) {
    lines.back() += text;
    end += widthOf(text);
  }
  void append(std::vector<std::string> more) {
    append(more.front());
    for (std::string &line : llvm::MutableArrayRef(more).drop_front()) {
      end = widthOf(line);
      lines.push_back(std::move(line));
    }
  }
  void breakTo(unsigned column) {
    lines.emplace_back(column, ' ');
    end = column;
  }
  bool fits(unsigned width) const { return end + width <= maxLineWidth; }
  unsigned column() const { return end; }
  std::vector<std::string> take() { return std::move(lines); }

private:
  std::vector<std::string> lines{""};
  unsigned end;
};

// if a        aligns each part with the `if`
// then b
// else c
void breakConditional(Words words, Lines &lines, unsigned reserve) {
  unsigned column = lines.column();
  size_t begin = 0;
  unsigned open = 0, parens = 0;
  auto addPart = [&](size_t end, unsigned after) {
    if (begin != 0)
      lines.breakTo(column);
    lines.append(words[begin].text.str() + " ");
    lines.append(breakLines(words.slice(begin + 1, end - begin - 1), lines.column(), after));
    begin = end;
  };
  // Finds the `then` and `else` of the first `if`, and skips those of nested conditions.
  for (size_t i = 1; i < words.size(); ++i) {
    if (opens(words[i]))
      ++parens;
    else if (closes(words[i]))
      --parens;
    if (parens != 0)
      continue;
    if (words[i].kind == TokenKind::If)
      ++open;
    else if (words[i].kind == TokenKind::Then && open == 0)
      addPart(i, 0);
    else if (words[i].kind == TokenKind::Else && open == 0) {
      addPart(i, 0);
      break;
    } else if (words[i].kind == TokenKind::Else)
      --open;
  }
  addPart(words.size(), reserve);
}

// Returns the operators of lowest precedence outside of parentheses. Stops at an `if`, which
// extends to the end.
llvm::SmallVector<size_t> loosestOperators(Words words) {
  llvm::SmallVector<size_t> found;
  unsigned least = ~0U, parens = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    TokenKind kind = words[i].kind;
    parens += opens(words[i - 1]);
    parens -= closes(words[i]);
    if (parens == 0 && kind == TokenKind::If)
      break;
    unsigned strength = bindingStrength(kind);
    if (parens != 0 || strength == 0 || strength > least || !endsOperand(words[i - 1]))
      continue;
    if (strength < least)
      found.clear();
    least = strength;
    found.push_back(i);
  }
  return found;
}

// Operators start lines, aligned with their first operand. Each condition and each stage has its
// own line; lines of sums and products hold as many terms as fit.
void breakOperators(Words words, llvm::ArrayRef<size_t> operators, Lines &lines, unsigned reserve) {
  unsigned column = lines.column();
  bool isOnePerLine = bindingStrength(words[operators[0]].kind) <= 3;
  lines.append(breakLines(words.take_front(operators[0]), column));
  for (size_t i = 0; i < operators.size(); ++i) {
    bool isLast = i + 1 == operators.size();
    size_t begin = operators[i] + 1, end = isLast ? words.size() : operators[i + 1];
    unsigned after = isLast ? reserve : 0;
    Words operand = words.slice(begin, end - begin);
    std::string text = words[operators[i]].text.str() + " ";
    if (!isOnePerLine && lines.fits(1 + text.size() + widthOf(onOneLine(operand)) + after))
      lines.append(" ");
    else
      lines.breakTo(column);
    lines.append(text);
    lines.append(breakLines(operand, lines.column(), after));
  }
}

// Puts as many arguments on a line as fit, aligned with the first.
void breakParentheses(Words words, size_t open, Lines &lines, unsigned reserve) {
  unsigned outer = lines.column();
  lines.append(onOneLine(words.take_front(open + 1)));
  unsigned inner = lines.column();
  if (inner > maxParenColumn) {
    inner = outer + indentation;
    lines.breakTo(inner);
  }
  unsigned parens = 0;
  size_t begin = open + 1, i = begin;
  bool isFirst = true, isBroken = false; // the previous argument
  for (;; ++i) {
    bool isEnd = parens == 0 && closes(words[i]);
    if (parens == 0 && i > begin && (isEnd || words[i].kind == TokenKind::Comma)) {
      Words argument = words.slice(begin, i - begin);
      unsigned after = isEnd ? 1 + reserve : 1;
      if (!isFirst && !isBroken && lines.fits(1 + widthOf(onOneLine(argument)) + after))
        lines.append(" ");
      else if (!isFirst)
        lines.breakTo(inner);
      std::vector<std::string> text = breakLines(argument, lines.column(), after);
      isBroken = text.size() > 1;
      lines.append(std::move(text));
      if (!isEnd)
        lines.append(",");
      begin = i + 1;
      isFirst = false;
    }
    if (isEnd)
      break;
    parens += opens(words[i]);
    parens -= closes(words[i]);
  }
  lines.append(words[i].text);
  if (i + 1 < words.size())
    lines.append((isSpaced(words, i + 1) ? " " : "") + onOneLine(words.drop_front(i + 1)));
}

// repeat y = x,      aligns the values and the `for`
//        z = 1
//        for (a, b) in list
void breakRepeat(Words words, Lines &lines, unsigned reserve) {
  llvm::SmallVector<size_t> ends; // of the values, with their commas
  size_t loop = 0, list = 0;
  OutsideWalk walk;
  for (auto [i, word] : llvm::enumerate(words)) {
    if (!walk.isOutside(word))
      continue;
    // `for` and `in` may also be names.
    bool isName = i + 1 < words.size() && words[i + 1].kind == TokenKind::Assign;
    if (word.kind == TokenKind::Comma && loop == 0)
      ends.push_back(i + 1);
    else if (word.text == "for" && !isName && list == 0)
      loop = i;
    else if (word.text == "in" && !isName && loop != 0 && list == 0)
      list = i + 1;
  }
  ends.push_back(loop);
  lines.append(words.front().text.str() + " ");
  unsigned column = lines.column();
  size_t begin = 1;
  for (size_t end : ends) {
    lines.append(breakLines(words.slice(begin, end - begin), column));
    lines.breakTo(column);
    begin = end;
  }
  lines.append(onOneLine(words.slice(loop, list - loop)) + " ");
  lines.append(breakLines(words.drop_front(list), lines.column(), reserve));
}
} // namespace

unsigned updraft::widthOf(StringRef text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string updraft::onOneLine(Words words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && isSpaced(words, i))
      text += ' ';
    text += words[i].text;
  }
  return text;
}

size_t updraft::findOutside(Words words, TokenKind kind) {
  OutsideWalk walk;
  return llvm::find_if(
             words, [&](const Word &word) { return walk.isOutside(word) && word.kind == kind; }) -
         words.begin();
}

std::vector<std::string> updraft::breakLines(Words words, unsigned column, unsigned reserve) {
  std::string line = onOneLine(words);
  if (words.size() < 2 || column + widthOf(line) + reserve <= maxLineWidth)
    return {line};
  Lines lines(column);
  if (words.front().kind == TokenKind::Repeat) {
    breakRepeat(words, lines, reserve);
    return lines.take();
  }
  if (words.front().kind == TokenKind::If) {
    breakConditional(words, lines, reserve);
    return lines.take();
  }
  if (auto operators = loosestOperators(words); !operators.empty()) {
    breakOperators(words, operators, lines, reserve);
    return lines.take();
  }
  if (isPrefixOperator(words, 0)) {
    lines.append(words.front().text);
    lines.append(breakLines(words.drop_front(), lines.column(), reserve));
    return lines.take();
  }
  size_t open = std::min(findOutside(words, TokenKind::LeftParen),
                         findOutside(words, TokenKind::LeftBracket));
  if (open == words.size())
    return {line};
  breakParentheses(words, open, lines, reserve);
  return lines.take();
}
