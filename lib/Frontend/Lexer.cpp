//===- Lexer.cpp - From bytes to tokens -------------------------------------------------------===//

#include "updraft/Frontend/Token.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstdlib>

using namespace updraft;
using llvm::StringRef;

namespace {
constexpr uint32_t maxNameLength = 100;

struct Keyword {
  StringRef text;
  TokenKind kind;
};

constexpr Keyword keywordTable[] = {
    {"else", TokenKind::Else},       {"false", TokenKind::False},
    {"finish", TokenKind::Finish},   {"fn", TokenKind::Fn},
    {"hold", TokenKind::Hold},       {"if", TokenKind::If},
    {"import", TokenKind::Import},   {"let", TokenKind::Let},
    {"next", TokenKind::Next},       {"over", TokenKind::Over},
    {"probe", TokenKind::Probe},     {"repeat", TokenKind::Repeat},
    {"require", TokenKind::Require}, {"return", TokenKind::Return},
    {"rule", TokenKind::Rule},       {"skip", TokenKind::Skip},
    {"state", TokenKind::State},     {"static", TokenKind::Static},
    {"then", TokenKind::Then},       {"transform", TokenKind::Transform},
    {"true", TokenKind::True},       {"update", TokenKind::Update},
    {"when", TokenKind::When},
};

TokenKind keywordKind(StringRef text) {
  for (const Keyword &keyword : keywordTable)
    if (keyword.text == text)
      return keyword.kind;
  return TokenKind::Identifier;
}

bool startsName(char c) { return llvm::isAlpha(c) || c == '_'; }
bool continuesName(char c) { return llvm::isAlnum(c) || c == '_'; }

class Lexer {
public:
  Lexer(const SourceFile &file, DiagnosticEngine &diagnostics, std::vector<SourceRange> *comments)
      : file(file), diagnostics(diagnostics), comments(comments), text(file.text()) {}

  std::vector<Token> run() {
    checkText(file, diagnostics);
    tokens.reserve(text.size() / 4 + 1);
    if (text.starts_with("\xEF\xBB\xBF"))
      at = 3;
    while (!diagnostics.isFull() && skipBlanks())
      lexOne();
    // Errors about a token missing at the end of the file refer to the end of its last token.
    uint32_t end = tokens.empty() ? 0 : tokens.back().end;
    tokens.push_back({TokenKind::End, end, end});
    return std::move(tokens);
  }

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  SourceRange from(uint32_t begin) const { return {&file, begin, at}; }
  void push(TokenKind kind, uint32_t begin) { tokens.push_back({kind, begin, at}); }

  // Moves to the next token. Returns false at the end of the file.
  bool skipBlanks() {
    while (at < text.size()) {
      if (llvm::isSpace(text[at])) {
        ++at;
      } else if (text.substr(at).starts_with("//")) {
        uint32_t begin = at;
        size_t end = text.find('\n', at);
        at = static_cast<uint32_t>(end == StringRef::npos ? text.size() : end);
        if (comments)
          comments->push_back(from(begin));
      } else {
        return true;
      }
    }
    return false;
  }

  void lexOne() {
    uint32_t begin = at;
    if (startsName(peek()))
      return lexName(begin);
    if (llvm::isDigit(peek()) || (peek() == '.' && llvm::isDigit(peek(1))))
      return lexNumber(begin);
    if (peek() == '"')
      return lexString(begin);
    lexOperator(begin);
  }

  void lexName(uint32_t begin) {
    while (continuesName(peek()))
      ++at;
    if (at - begin > maxNameLength)
      diagnostics.report(DiagnosticKind::NameTooLong, from(begin), at - begin, maxNameLength);
    push(keywordKind(text.slice(begin, at)), begin);
  }

  void lexNumber(uint32_t begin) {
    auto digits = [&] {
      bool any = false;
      for (; llvm::isDigit(peek()); ++at)
        any = true;
      return any;
    };
    bool valid = digits() || peek() == '.'; // `.5` needs no digit before the point
    if (peek() == '.') {
      ++at;
      valid &= digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at;
      if (peek() == '+' || peek() == '-')
        ++at;
      valid &= digits();
    }
    while (continuesName(peek()) || peek() == '.') {
      ++at;
      valid = false;
    }
    Token token{TokenKind::Number, begin, at};
    std::string spelling = text.slice(begin, at).str();
    if (!valid) {
      diagnostics.report(DiagnosticKind::InvalidNumber, from(begin), spelling);
    } else {
      token.number = std::strtod(spelling.c_str(), nullptr);
      StringRef mantissa =
          StringRef(spelling).take_until([](char c) { return c == 'e' || c == 'E'; });
      bool isZero = mantissa.find_first_of("123456789") == StringRef::npos;
      if (std::isinf(token.number))
        diagnostics.report(DiagnosticKind::NumberTooLarge, from(begin), spelling);
      else if (token.number == 0 && !isZero)
        diagnostics.report(DiagnosticKind::NumberTooSmall, from(begin), spelling);
    }
    tokens.push_back(token);
  }

  void lexString(uint32_t begin) {
    ++at;
    while (at < text.size() && text[at] != '"' && text[at] != '\n') {
      if (text[at] != '\\') {
        ++at;
        continue;
      }
      uint32_t escape = at++;
      StringRef escaped = text.substr(at, 1);
      if (escaped.empty() || escaped == "\n")
        continue;
      at += std::max<size_t>(utf8Length(text.substr(at)), 1);
      if (!StringRef("\"\\nt").contains(escaped))
        diagnostics.report(DiagnosticKind::InvalidEscape, from(escape), from(escape).text());
    }
    if (peek() != '"') {
      diagnostics.report(DiagnosticKind::UnterminatedString, from(begin));
    } else {
      ++at;
    }
    push(TokenKind::String, begin);
  }

  // Reports the first character of a name in another script. Invalid UTF-8 was already reported.
  void lexForeign() {
    uint32_t begin = at;
    size_t length = utf8Length(text.substr(at));
    at += std::max<size_t>(length, 1);
    if (length == 0)
      return;
    SourceRange letter = from(begin);
    while (continuesName(peek()) || static_cast<unsigned char>(peek()) >= 0x80)
      ++at;
    diagnostics.report(DiagnosticKind::InvalidCharacter, letter, "`" + shown(letter.text()) + "`",
                       "; names are made of the letters a to z, digits and `_`");
  }

  void lexOperator(uint32_t begin) {
    if (static_cast<unsigned char>(text[at]) >= 0x80)
      return lexForeign();
    auto two = llvm::StringSwitch<TokenKind>(text.substr(at, 2))
                   .Case("<=", TokenKind::LessEqual)
                   .Case(">=", TokenKind::GreaterEqual)
                   .Case("==", TokenKind::Equal)
                   .Case("!=", TokenKind::NotEqual)
                   .Case("&&", TokenKind::And)
                   .Case("||", TokenKind::Or)
                   .Case("|>", TokenKind::Pipe)
                   .Default(TokenKind::End);
    if (two != TokenKind::End) {
      at += 2;
      return push(two, begin);
    }
    StringRef hint = llvm::StringSwitch<StringRef>(text.substr(at, 2))
                         .Case("**", "; a power is written `x ^ y`")
                         .Case("/*", "; a comment starts with `//` and ends with the line")
                         .Default("");
    if (!hint.empty()) {
      at += 2;
      diagnostics.report(DiagnosticKind::InvalidCharacter, from(begin),
                         "`" + from(begin).text().str() + "`", hint);
      return;
    }
    char c = text[at++];
    if (isControl({&c, 1})) // checkText reports it
      return;
    auto one = llvm::StringSwitch<TokenKind>(StringRef(&c, 1))
                   .Case("(", TokenKind::LeftParen)
                   .Case(")", TokenKind::RightParen)
                   .Case("{", TokenKind::LeftBrace)
                   .Case("}", TokenKind::RightBrace)
                   .Case("[", TokenKind::LeftBracket)
                   .Case("]", TokenKind::RightBracket)
                   .Case(",", TokenKind::Comma)
                   .Case(":", TokenKind::Colon)
                   .Case(";", TokenKind::Semicolon)
                   .Case("=", TokenKind::Assign)
                   .Case("+", TokenKind::Plus)
                   .Case("-", TokenKind::Minus)
                   .Case("*", TokenKind::Star)
                   .Case("/", TokenKind::Slash)
                   .Case("@", TokenKind::At)
                   .Case("^", TokenKind::Caret)
                   .Case("<", TokenKind::Less)
                   .Case(">", TokenKind::Greater)
                   .Case("!", TokenKind::Not)
                   .Default(TokenKind::End);
    if (one != TokenKind::End)
      return push(one, begin);
    if (c == '\'' && text.substr(at).take_until([](char d) { return d == '\n'; }).contains(c))
      at = static_cast<uint32_t>(text.find(c, at) + 1);
    hint = llvm::StringSwitch<StringRef>(StringRef(&c, 1))
               .Case("&", "; and is written `&&`")
               .Case("|", "; or is written `||`")
               .Case("#", "; a comment starts with `//`")
               .Case("?", "; a choice is written `if … then … else …`")
               .Case(".", "; a function of `x` is written `f(x)`, and a path in quotes")
               .Case("'", "; a string is written with `\"`")
               .Default("");
    diagnostics.report(DiagnosticKind::InvalidCharacter, from(begin), "`" + std::string(1, c) + "`",
                       hint);
  }

  const SourceFile &file;
  DiagnosticEngine &diagnostics;
  std::vector<SourceRange> *comments;
  StringRef text;
  uint32_t at = 0;
  std::vector<Token> tokens;
};
} // namespace

// Reports only the first place: one mistake in saving the file usually causes all of them.
void updraft::checkText(const SourceFile &file, DiagnosticEngine &diagnostics) {
  StringRef text = file.text();
  for (size_t at = 0, length = 1; at < text.size(); at += length) {
    length = utf8Length(text.substr(at));
    StringRef character = text.substr(at, std::max<size_t>(length, 1));
    bool isBlank = character == "\t" || character == "\n" || text.substr(at).starts_with("\r\n");
    if (isBlank || (length != 0 && !isControl(character)))
      continue;
    SourceRange range{&file, static_cast<uint32_t>(at),
                      static_cast<uint32_t>(at + character.size())};
    auto last = static_cast<unsigned char>(character.back());
    std::string digits = llvm::utohexstr(last, /*LowerCase=*/false, /*Width=*/2);
    if (length == 0)
      diagnostics.report(DiagnosticKind::InvalidUtf8, range, "byte 0x" + digits);
    else if (length == 1)
      diagnostics.report(DiagnosticKind::InvalidCharacter, range, "byte 0x" + digits,
                         character == "\r" ? "; a line ends with LF or CR LF" : "");
    else // U+0080 to U+009F
      diagnostics.report(DiagnosticKind::InvalidCharacter, range, "U+00" + digits, "");
    return;
  }
}

std::vector<Token> updraft::lex(const SourceFile &file, DiagnosticEngine &diagnostics,
                                std::vector<SourceRange> *comments) {
  return Lexer(file, diagnostics, comments).run();
}

bool updraft::isKeyword(StringRef text) { return keywordKind(text) != TokenKind::Identifier; }

std::vector<StringRef> updraft::keywords() {
  std::vector<StringRef> names;
  for (const Keyword &keyword : keywordTable)
    names.push_back(keyword.text);
  return names;
}

StringRef updraft::describe(TokenKind kind) {
  switch (kind) {
  case TokenKind::End:
    return "the end of the file";
  case TokenKind::Identifier:
    return "a name";
  case TokenKind::Number:
    return "a number";
  case TokenKind::String:
    return "a string";
  case TokenKind::Else:
    return "`else`";
  case TokenKind::False:
    return "`false`";
  case TokenKind::Finish:
    return "`finish`";
  case TokenKind::Fn:
    return "`fn`";
  case TokenKind::Hold:
    return "`hold`";
  case TokenKind::If:
    return "`if`";
  case TokenKind::Import:
    return "`import`";
  case TokenKind::Let:
    return "`let`";
  case TokenKind::Next:
    return "`next`";
  case TokenKind::Over:
    return "`over`";
  case TokenKind::Probe:
    return "`probe`";
  case TokenKind::Repeat:
    return "`repeat`";
  case TokenKind::Require:
    return "`require`";
  case TokenKind::Return:
    return "`return`";
  case TokenKind::Rule:
    return "`rule`";
  case TokenKind::Skip:
    return "`skip`";
  case TokenKind::State:
    return "`state`";
  case TokenKind::Static:
    return "`static`";
  case TokenKind::Then:
    return "`then`";
  case TokenKind::Transform:
    return "`transform`";
  case TokenKind::True:
    return "`true`";
  case TokenKind::Update:
    return "`update`";
  case TokenKind::When:
    return "`when`";
  case TokenKind::LeftParen:
    return "`(`";
  case TokenKind::RightParen:
    return "`)`";
  case TokenKind::LeftBrace:
    return "`{`";
  case TokenKind::RightBrace:
    return "`}`";
  case TokenKind::LeftBracket:
    return "`[`";
  case TokenKind::RightBracket:
    return "`]`";
  case TokenKind::Comma:
    return "`,`";
  case TokenKind::Colon:
    return "`:`";
  case TokenKind::Semicolon:
    return "`;`";
  case TokenKind::Assign:
    return "`=`";
  case TokenKind::Plus:
    return "`+`";
  case TokenKind::Minus:
    return "`-`";
  case TokenKind::Star:
    return "`*`";
  case TokenKind::Slash:
    return "`/`";
  case TokenKind::At:
    return "`@`";
  case TokenKind::Caret:
    return "`^`";
  case TokenKind::Less:
    return "`<`";
  case TokenKind::LessEqual:
    return "`<=`";
  case TokenKind::Greater:
    return "`>`";
  case TokenKind::GreaterEqual:
    return "`>=`";
  case TokenKind::Equal:
    return "`==`";
  case TokenKind::NotEqual:
    return "`!=`";
  case TokenKind::And:
    return "`&&`";
  case TokenKind::Or:
    return "`||`";
  case TokenKind::Not:
    return "`!`";
  case TokenKind::Pipe:
    return "`|>`";
  }
  return "";
}
