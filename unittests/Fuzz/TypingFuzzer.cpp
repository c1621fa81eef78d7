//===- TypingFuzzer.cpp - The language server while a user types ------------------------------===//
// The input is typed into a document, and some bytes are other actions of an editor: moving,
// deleting, asking, and switching to another document that the first may import. For any content,
// all answers must have locations inside the text and be valid text, and formatting must be
// idempotent.

#include "FuzzTarget.h"
#include "SourceFiles.h"

#include "tools/updraft-lsp/Workspace.h"
#include "updraft/Frontend/Format.h"
#include "updraft/Frontend/Functions.h"
#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/Token.h"
#include "llvm/Support/JSON.h"

#include <cstdlib>
#include <set>

using namespace updraft;
using namespace updraft::fuzz;
using llvm::StringRef;
namespace lsp = llvm::lsp;

namespace {

/// Bytes of the input that are not typed.
enum Key : char {
  moveTo = 1, ///< the next byte is the position in the document, as a fraction of 255
  erase = 2,  ///< the next byte is the number of bytes before the cursor
  ask = 3,
  switchDocument = 4,
  closeDocument = 5,
  format = 6,
};

/// More questions would only make an input slow.
constexpr unsigned maxQuestions = 16;

/// A position in the editor's units.
struct Place {
  explicit Place(StringRef before) {
    line = before.count('\n');
    for (char c : before.drop_front(before.rfind('\n') + 1)) {
      auto byte = static_cast<unsigned char>(c);
      character += byte >= 0xF0 ? 2 : (byte & 0xC0) == 0x80 ? 0 : 1;
    }
  }
  operator lsp::Position() const { return {line, character}; }
  int line = 0, character = 0;
};

class Editor {
public:
  Editor() : workspace([this](const lsp::PublishDiagnosticsParams &params) { check(params); }) {}

  void run(StringRef input) {
    for (size_t i = 0; i < input.size(); ++i) {
      std::string &text = documents[current].text;
      size_t &cursor = documents[current].cursor;
      const char key = input[i];
      const size_t amount = i + 1 < input.size() ? static_cast<unsigned char>(input[i + 1]) : 0;
      switch (key) {
      case moveTo:
        cursor = text.size() * amount / 255;
        ++i;
        break;
      case erase: {
        const size_t count = std::min(amount, cursor);
        text.erase(cursor -= count, count);
        ++i;
        break;
      }
      case ask:
        questions < maxQuestions ? askAll() : void();
        break;
      case switchDocument:
        current = 1 - current;
        break;
      case closeDocument:
        workspace.close(documents[current].uri);
        break;
      case format:
        questions < maxQuestions ? formatAll() : void();
        break;
      default:
        text.insert(cursor++, 1, key);
      }
    }
    askAll();
    askEverywhere();
  }

private:
  struct Open {
    lsp::URIForFile uri;
    std::string text;
    size_t cursor = 0;
  };

  // Messages always contain UTF-8. Replacement characters take more bytes than invalid ones.
  const Document &update() {
    Open &open = documents[current];
    std::string before = llvm::json::fixUTF8(StringRef(open.text).take_front(open.cursor));
    open.text = before + llvm::json::fixUTF8(StringRef(open.text).drop_front(open.cursor));
    open.cursor = before.size();
    workspace.update(open.uri, open.text, ++version);
    const Document *document = workspace.find(open.uri);
    if (!document || document->source().text() != open.text)
      finding("a document is not open, or has another text");
    return *document;
  }

  void askAll() {
    ++questions;
    const Document &document = update();
    StringRef text = documents[current].text;
    askAt(document, Place(text.take_front(documents[current].cursor)));
    for (const lsp::DocumentSymbol &symbol : document.symbols())
      check(symbol, text);
  }

  // Like a user who points with a mouse.
  void askEverywhere() {
    const Document &document = update();
    StringRef text = documents[current].text;
    for (size_t at = 0; at < text.size(); at += std::max<size_t>(text.size() / 16, 1))
      askAt(document, Place(text.take_front(at)));
  }

  static void askAt(const Document &document, lsp::Position position) {
    if (std::optional<lsp::Hover> hover = document.hover(position)) {
      checkText(hover->contents.value, "a hover");
      if (hover->range && (position < hover->range->start || hover->range->end < position))
        finding("a hover is about another place");
    }
    for (const lsp::Location &location : document.definition(position))
      if (location.uri.uri().empty() || location.range.end < location.range.start)
        finding("a definition is nowhere");
    std::set<std::string> labels;
    for (const lsp::CompletionItem &item : document.completion(position).items) {
      checkText(item.label, "a completion");
      if (!labels.insert(item.label).second)
        finding("a completion is there twice: " + item.label);
      if (item.documentation)
        checkText(item.documentation->value, "the documentation of a completion");
    }
  }

  void formatAll() {
    ++questions;
    const std::vector<lsp::TextEdit> edits = update().formatting();
    Open &open = documents[current];
    if (edits.empty())
      return;
    if (edits.size() != 1)
      finding("formatting is more than one edit");
    checkRange(edits.front().range, open.text);
    open.text = edits.front().newText;
    open.cursor = std::min(open.cursor, open.text.size());
    if (!update().formatting().empty())
      finding("formatting twice is not formatting once:\n" + open.text);
  }

  void check(const lsp::PublishDiagnosticsParams &params) {
    for (const lsp::Diagnostic &diagnostic : params.diagnostics) {
      checkText(diagnostic.message, "a diagnostic");
      if (diagnostic.range.end < diagnostic.range.start)
        finding("a diagnostic ends before it begins: " + diagnostic.message);
      if (diagnostic.relatedInformation)
        for (const lsp::DiagnosticRelatedInformation &related : *diagnostic.relatedInformation)
          checkText(related.message, "a note");
    }
  }

  static void check(const lsp::DocumentSymbol &symbol, StringRef text) {
    checkText(symbol.name, "a symbol");
    checkRange(symbol.range, text);
    // Otherwise an editor rejects all symbols.
    if (symbol.selectionRange.start < symbol.range.start ||
        symbol.range.end < symbol.selectionRange.end)
      finding("the name of a symbol is not within it: " + symbol.name);
    for (const lsp::DocumentSymbol &child : symbol.children)
      check(child, text);
  }

  static void checkText(const std::string &text, const char *what) {
    if (text.empty() || !llvm::json::isUTF8(text))
      finding(std::string(what) + " is empty, or no UTF-8: " + text);
  }
  static void checkRange(const lsp::Range &range, StringRef text) {
    const lsp::Position end = Place(text);
    if (range.end < range.start || end < range.end)
      finding("a range is not within the text");
  }

  static lsp::URIForFile uriOf(const char *name) {
    // Prevents imports from the fuzzer's working directory.
    return llvm::cantFail(lsp::URIForFile::fromURI(std::string("file:///nowhere/") + name));
  }

  Open documents[2] = {{uriOf("typed.upd"), "", 0}, {uriOf("other.upd"), "", 0}};
  unsigned current = 0;
  unsigned questions = 0;
  int64_t version = 0;
  Workspace workspace;
};

void fuzzTyping(std::string_view input) {
  // Prevents copies of the library: the server ignores a relative folder.
  static const bool hasNoCache = setenv("XDG_CACHE_HOME", "nowhere", 1) == 0;
  if (!hasNoCache)
    finding("no memory for the input");
  Editor().run(StringRef(input.data(), input.size()));
}

/// Every rule, with a question now and then while it is typed.
std::vector<Seed> typingSeeds() {
  std::vector<Seed> seeds = filesBelow("rules", ".upd");
  llvm::append_range(seeds, documentationExamples("upd"));
  for (Seed &seed : seeds) {
    std::string typed;
    for (size_t i = 0; i < seed.bytes.size(); ++i) {
      typed += seed.bytes[i];
      if (i % 331 == 330)
        typed += Key::ask;
    }
    seed.bytes = typed + static_cast<char>(Key::format);
  }
  return seeds;
}

std::vector<std::string> typingWords() {
  std::vector<std::string> words = {"rule C = ", "|> ",  "import \"other.upd\"\n",
                                    "param",     "grad", "over ",
                                    ": ",        "\x03", "\x01\x80",
                                    "\x02\x08",  "\x04", "\x06",
                                    "// "};
  for (StringRef keyword : keywords())
    words.push_back(keyword.str() + " ");
  for (StringRef name : knownTransforms())
    words.push_back(name.str());
  return words;
}

} // namespace

const FuzzTarget updraft::fuzz::typingTarget = {"typing", fuzzTyping, typingSeeds, typingWords};
