//===- Words.cpp - Tokens with the comments around them ---------------------------------------===//

#include "Words.h"

using namespace updraft;
using llvm::StringRef;

namespace {
class Splitter {
public:
  Splitter(StringRef text, llvm::ArrayRef<SourceRange> comments) : text(text), comments(comments) {}

  std::vector<Word> run(llvm::ArrayRef<Token> tokens) {
    for (const Token &token : tokens) {
      // The End token is at the last word; it owns the comments after that word.
      uint32_t begin = token.kind == TokenKind::End ? text.size() : token.begin;
      takeComments(begin);
      bool startsLine = isFirstOnLine(begin), blank = isBlankAbove(begin);
      last = token.end;
      if (token.kind == TokenKind::Semicolon)
        continue;
      if (token.kind == TokenKind::RightParen || token.kind == TokenKind::RightBracket)
        dropComma();
      words.push_back({token.kind,
                       text.slice(token.begin, token.end),
                       std::move(above),
                       {},
                       blank,
                       startsLine || words.empty()});
      above.clear();
    }
    return std::move(words);
  }

private:
  void takeComments(uint32_t end) {
    for (; !comments.empty() && comments.front().begin < end; comments = comments.drop_front()) {
      const SourceRange &range = comments.front();
      StringRef comment = range.text().rtrim();
      bool isBeside = !words.empty() && above.empty() && words.back().beside.empty() &&
                      !isFirstOnLine(range.begin);
      if (isBeside)
        words.back().beside = comment;
      else
        above.push_back({comment, isBlankAbove(range.begin)});
      last = range.end;
    }
  }

  // A comma with a comment is kept, so that the comment keeps its place.
  void dropComma() {
    if (!words.empty() && words.back().kind == TokenKind::Comma && words.back().above.empty() &&
        words.back().beside.empty() && above.empty())
      words.pop_back();
  }

  bool isFirstOnLine(uint32_t at) const { return last == 0 || text.slice(last, at).contains('\n'); }
  bool isBlankAbove(uint32_t at) const { return text.slice(last, at).count('\n') > 1; }

  StringRef text;
  llvm::ArrayRef<SourceRange> comments;
  uint32_t last = 0; ///< the end of the last token or comment
  std::vector<Word> words;
  std::vector<CommentLine> above;
};
} // namespace

std::vector<Word> updraft::splitWords(const SourceFile &file, DiagnosticEngine &diagnostics) {
  std::vector<SourceRange> comments;
  std::vector<Token> tokens = lex(file, diagnostics, &comments);
  return Splitter(file.text(), comments).run(tokens);
}

bool updraft::startsItem(TokenKind kind) {
  switch (kind) {
  case TokenKind::Finish:
  case TokenKind::Fn:
  case TokenKind::Hold:
  case TokenKind::Import:
  case TokenKind::Let:
  case TokenKind::Next:
  case TokenKind::Probe:
  case TokenKind::Repeat:
  case TokenKind::Require:
  case TokenKind::Return:
  case TokenKind::Rule:
  case TokenKind::Skip:
  case TokenKind::State:
  case TokenKind::Transform:
  case TokenKind::Update:
    return true;
  default:
    return false;
  }
}

std::vector<StringRef> updraft::contentOf(Words words) {
  std::vector<StringRef> content;
  for (const Word &word : words) {
    for (const CommentLine &comment : word.above)
      content.push_back(comment.text);
    content.push_back(word.text);
    if (!word.beside.empty())
      content.push_back(word.beside);
  }
  return content;
}
