//===- Format.cpp - Formats source text -------------------------------------------------------===//
// Works on words instead of the syntax tree. Comments keep their places between words, and every
// construct of the language is handled.

#include "updraft/Frontend/Format.h"

#include "LineBreaking.h"

#include "updraft/Frontend/Parser.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

namespace {
constexpr unsigned indentation = 2;
/// Longer names don't affect the alignment of other `=`.
constexpr unsigned maxAlignedWidth = 40;

/// A statement, a clause, or a declaration: some words, and possibly a block in braces.
struct Item {
  Words head; ///< including the name and parameters of a block
  std::vector<Item> clauses;
  std::vector<Item> body;
  const Word *open = nullptr; ///< the brace, or null if there is no block
  const Word *close = nullptr;

  bool isBlock() const { return open; }
  TokenKind kind() const { return head.front().kind; }
};

/// Groups words into items by the keywords that start them.
class ItemReader {
public:
  explicit ItemReader(Words words) : words(words) {}

  std::vector<Item> readItems() {
    std::vector<Item> items;
    while (!at(TokenKind::RightBrace) && !at(TokenKind::End))
      items.push_back(readItem());
    return items;
  }

private:
  bool at(TokenKind kind) const { return words.front().kind == kind; }

  Item readItem() {
    Item item;
    item.head = takeHead();
    bool hasClauses = item.kind() == TokenKind::Rule || item.kind() == TokenKind::Transform;
    while (hasClauses && at(TokenKind::Require)) {
      Item clause;
      clause.head = takeHead();
      item.clauses.push_back(std::move(clause));
    }
    if (!at(TokenKind::LeftBrace))
      return item;
    item.open = take();
    item.body = readItems();
    item.close = take();
    return item;
  }

  Words takeHead() {
    size_t length = 1;
    while (!startsItem(words[length].kind) && words[length].kind != TokenKind::LeftBrace &&
           words[length].kind != TokenKind::RightBrace && words[length].kind != TokenKind::End)
      ++length;
    Words head = words.take_front(length);
    words = words.drop_front(length);
    return head;
  }
  const Word *take() {
    const Word *word = &words.front();
    if (!at(TokenKind::End))
      words = words.drop_front();
    return word;
  }

  Words words;
};

class Formatter {
public:
  std::string run(Words words) {
    print(ItemReader(words).readItems(), 0);
    printAbove(words.back(), 0);
    alignComments();
    std::string text;
    for (const Line &line : lines) {
      text += line.text;
      if (!line.beside.empty())
        text += std::string(line.gap, ' ') + line.beside.str();
      text += '\n';
    }
    return text;
  }

private:
  struct Line {
    std::string text;
    StringRef beside = {};
    unsigned gap = 1; ///< between the text and the comment beside it
  };

  void addLine(unsigned indent, StringRef text, StringRef beside = {}) {
    lines.push_back({std::string(text.empty() ? 0 : indent, ' ') + text.str(), beside});
    isBlockStart = false;
  }
  void addBlank() {
    if (!isBlockStart && !lines.back().text.empty())
      lines.push_back({});
  }

  void printAbove(const Word &word, unsigned indent) {
    for (const CommentLine &comment : word.above) {
      if (comment.blankAbove)
        addBlank();
      addLine(indent, comment.text);
    }
    if (word.blankAbove && word.kind != TokenKind::RightBrace && word.kind != TokenKind::End)
      addBlank();
  }

  void print(llvm::ArrayRef<Item> items, unsigned indent) {
    for (size_t i = 0; i < items.size(); ++i) {
      const Item &item = items[i];
      // Blank lines surround a block.
      if (i > 0 && (item.isBlock() || items[i - 1].isBlock()))
        addBlank();
      if (item.isBlock()) {
        printBlock(item, indent);
        continue;
      }
      size_t end = i + 1;
      while (end < items.size() && isAligned(items[i], items[end]))
        ++end;
      unsigned width = alignedWidth(items.slice(i, end - i));
      for (; i < end; ++i)
        printStatement(items[i].head, indent, width);
      --i;
    }
  }

  // Whether the item continues a group of statements whose `=` are aligned.
  static bool isAligned(const Item &first, const Item &item) {
    const Word &word = item.head.front();
    return (first.kind() == TokenKind::State || first.kind() == TokenKind::Next) &&
           item.kind() == first.kind() && !item.isBlock() && !word.blankAbove &&
           llvm::none_of(word.above, [](const auto &comment) { return comment.blankAbove; });
  }

  static bool holdsComments(Words words) {
    return llvm::any_of(words.drop_front(), [](const Word &word) { return !word.above.empty(); }) ||
           llvm::any_of(words.drop_back(), [](const Word &word) { return !word.beside.empty(); });
  }

  /// Returns the width before the `=`, or 0 if the statement is not aligned with others.
  static unsigned widthBeforeAssign(Words words) {
    size_t assign = findOutside(words, TokenKind::Assign);
    if (assign == words.size() || holdsComments(words))
      return 0;
    unsigned width = widthOf(onOneLine(words.take_front(assign)));
    return width <= maxAlignedWidth ? width : 0;
  }
  static unsigned alignedWidth(llvm::ArrayRef<Item> items) {
    unsigned width = 0;
    if (items.size() > 1)
      for (const Item &item : items)
        width = std::max(width, widthBeforeAssign(item.head));
    return width;
  }

  void printBlock(const Item &item, unsigned indent) {
    bool ownLine =
        !item.clauses.empty() || !item.open->above.empty() || !item.head.back().beside.empty();
    printStatement(item.head, indent, 0, ownLine ? 0 : 2);
    printClauses(item.clauses, indent + indentation);
    printAbove({item.open->kind, "", item.open->above, "", false, false}, indent);
    if (ownLine)
      addLine(indent, "{", item.open->beside);
    else {
      lines.back().text += " {";
      lines.back().beside = item.open->beside;
    }
    isBlockStart = true;
    print(item.body, indent + indentation);
    printAbove(*item.close, indent + indentation);
    addLine(indent, "}", item.close->beside);
  }

  // Aligns the `else` of `require condition else "message"`. A clause that would become too long
  // has its message on a second line.
  void printClauses(llvm::ArrayRef<Item> clauses, unsigned indent) {
    llvm::SmallVector<size_t> elses;
    std::vector<std::string> conditions, messages;
    for (const Item &clause : clauses) {
      elses.push_back(findOutside(clause.head, TokenKind::Else));
      conditions.push_back(onOneLine(clause.head.take_front(elses.back())));
      messages.push_back(onOneLine(clause.head.drop_front(elses.back())));
    }
    llvm::SmallVector<bool> isAligned;
    for (size_t i = 0; i < clauses.size(); ++i)
      isAligned.push_back(!holdsComments(clauses[i].head));
    unsigned width = 0;
    for (bool changed = true; changed;) {
      changed = false;
      width = 0;
      for (size_t i = 0; i < clauses.size(); ++i)
        if (isAligned[i])
          width = std::max(width, widthOf(conditions[i]));
      bool fits = true;
      for (size_t i = 0; i < clauses.size(); ++i)
        fits &= !isAligned[i] || indent + width + 1 + widthOf(messages[i]) <= maxLineWidth;
      for (size_t i = 0; i < clauses.size() && !fits; ++i)
        if (isAligned[i] && widthOf(conditions[i]) == width) {
          isAligned[i] = false;
          changed = true;
        }
    }
    for (size_t i = 0; i < clauses.size(); ++i) {
      Words head = clauses[i].head;
      if (holdsComments(head)) {
        printStatement(head, indent, 0);
        continue;
      }
      printAbove(head.front(), indent);
      if (isAligned[i]) {
        unsigned pad = width - widthOf(conditions[i]) + 1;
        addLine(indent, conditions[i] + std::string(pad, ' ') + messages[i], head.back().beside);
        continue;
      }
      addLine(indent, "require ");
      appendLines(head.slice(1, elses[i] - 1));
      addLine(indent + indentation, messages[i], head.back().beside);
    }
  }

  /// Prints one statement with its `=` after at least `width` columns.
  void printStatement(Words words, unsigned indent, unsigned width, unsigned reserve = 0) {
    printAbove(words.front(), indent);
    if (holdsComments(words)) {
      printLineByLine(words, indent);
      return;
    }
    addLine(indent, "");
    lines.back().text.assign(indent, ' ');
    size_t assign = findOutside(words, TokenKind::Assign);
    if (words.front().kind == TokenKind::Repeat) {
      appendLines(words, reserve);
    } else if (assign == words.size()) {
      // A keyword stays on the line of its first operand.
      if (words.size() > 1 && words[1].kind != TokenKind::LeftParen) {
        lines.back().text += words.front().text.str() + " ";
        words = words.drop_front();
      }
      appendLines(words, reserve);
    } else {
      std::string name = onOneLine(words.take_front(assign));
      unsigned own = widthOf(name);
      unsigned pad = own < width && own <= maxAlignedWidth ? width - own : 0;
      lines.back().text += name + std::string(pad, ' ') + " = ";
      printValue(words.drop_front(assign + 1), indent);
    }
    lines.back().beside = words.back().beside;
  }

  /// Prints the value after `=`: an expression, then optionally `: type` and `when condition`.
  void printValue(Words words, unsigned indent) {
    size_t end =
        std::min(findOutside(words, TokenKind::When), findOutside(words, TokenKind::Colon));
    appendLines(words.take_front(end));
    if (end == words.size())
      return;
    std::string rest = onOneLine(words.drop_front(end));
    if (widthOf(lines.back().text) + 1 + widthOf(rest) <= maxLineWidth)
      lines.back().text += " " + rest;
    else
      addLine(indent + 2 * indentation, rest);
  }

  void appendLines(Words words, unsigned reserve = 0) {
    std::vector<std::string> more = breakLines(words, widthOf(lines.back().text), reserve);
    lines.back().text += more.front();
    for (std::string &line : llvm::MutableArrayRef(more).drop_front())
      lines.push_back({std::move(line)});
  }

  /// A statement that contains comments keeps its line breaks.
  void printLineByLine(Words words, unsigned indent) {
    llvm::SmallVector<unsigned> parens; // the columns after open parentheses
    size_t begin = 0;
    for (size_t i = 1; i <= words.size(); ++i) {
      bool isEnd = i == words.size();
      if (!isEnd && !words[i].startsLine)
        continue;
      unsigned column = begin == 0 ? indent : parens.empty() ? indent + 4 : parens.back();
      if (begin != 0)
        for (const CommentLine &comment : words[begin].above)
          addLine(column, comment.text);
      Words line = words.slice(begin, i - begin);
      std::string text = onOneLine(line);
      addLine(column, text, line.back().beside);
      size_t at = 0;
      for (const Word &word : line) {
        at = text.find(word.text, at) + word.text.size();
        if (word.kind == TokenKind::LeftParen)
          parens.push_back(column + widthOf(StringRef(text).take_front(at)));
        else if (word.kind == TokenKind::RightParen && !parens.empty())
          parens.pop_back();
      }
      begin = i;
    }
  }

  // Comments beside adjacent lines start in the same column if they fit.
  void alignComments() {
    for (size_t begin = 0; begin < lines.size(); ++begin) {
      size_t end = begin;
      unsigned text = 0, comment = 0;
      for (; end < lines.size() && !lines[end].beside.empty(); ++end) {
        text = std::max(text, widthOf(lines[end].text));
        comment = std::max(comment, widthOf(lines[end].beside));
      }
      if (text + 1 + comment <= maxLineWidth)
        for (size_t i = begin; i < end; ++i)
          lines[i].gap = text - widthOf(lines[i].text) + 1;
      begin = end;
    }
  }

  std::vector<Line> lines;
  bool isBlockStart = true;
};
} // namespace

std::optional<std::string> updraft::formatSource(StringRef text, StringRef filename,
                                                 DiagnosticEngine &diagnostics) {
  auto file = SourceFile::create(filename.str(), text.str());
  size_t before = diagnostics.diagnostics().size();
  parseFile(file, diagnostics);
  if (diagnostics.diagnostics().size() != before)
    return std::nullopt;
  std::vector<Word> words = splitWords(*file, diagnostics);
  std::string formatted = Formatter().run(words);

  auto result = SourceFile::create(filename.str(), formatted);
  DiagnosticEngine unexpected;
  std::vector<Word> again = splitWords(*result, unexpected);
  if (unexpected.hasErrors() || contentOf(again) != contentOf(words))
    return std::nullopt;
  return formatted;
}
