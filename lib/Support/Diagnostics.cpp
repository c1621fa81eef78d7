//===- Diagnostics.cpp - Located diagnostics and their rendering ------------------------------===//

#include "updraft/Support/Diagnostics.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

namespace {
struct KindInfo {
  const char *name;
  Severity severity;
  const char *format;
};

constexpr KindInfo kindInfos[] = {
#define UPDRAFT_DIAGNOSTIC(Kind, Level, Format) {#Kind, Severity::Level, Format},
#include "updraft/Support/Diagnostics.def"
};

constexpr DiagnosticKind kinds[] = {
#define UPDRAFT_DIAGNOSTIC(Kind, Level, Format) DiagnosticKind::Kind,
#include "updraft/Support/Diagnostics.def"
};

const KindInfo &info(DiagnosticKind kind) { return kindInfos[static_cast<size_t>(kind)]; }

// Returns the number of columns of printable text. UTF-8 continuation bytes take none.
size_t columns(StringRef text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

// Returns the called function as written: `module.function` for `module.function(x)`.
StringRef calleeOf(SourceRange call) {
  StringRef line = call.text().take_until([](char c) { return c == '\n' || c == '\r'; });
  StringRef callee = line.take_until([](char c) { return c == '('; }).rtrim();
  return callee.empty() ? line : callee;
}

void renderOne(llvm::raw_ostream &os, const Diagnostic &diagnostic) {
  StringRef severity = diagnosticSeverity(diagnostic.kind) == Severity::Error ? "error" : "note";
  if (!diagnostic.file) {
    os << severity << ": " << diagnostic.message << '\n';
    return;
  }
  SourceRange range = diagnostic.range.origin();
  const SourceFile &file = *range.file;
  LineColumn at = file.position(range.begin);
  os << printable(file.path()) << ':' << at.line << ':' << at.column << ": " << severity << ": "
     << diagnostic.message << '\n';

  if (diagnostic.kind == DiagnosticKind::ImportNotParsed)
    return;
  // Shows only the surroundings of the place in a long line, which may be as long as a file.
  constexpr size_t maxShown = 240;
  StringRef line = file.line(at.line);
  size_t column = at.column - 1;
  if (line.size() > maxShown) {
    auto continues = [&](size_t at) { return at < line.size() && (line[at] & 0xC0) == 0x80; };
    size_t begin = column > maxShown / 2 ? column - maxShown / 2 : 0;
    while (begin < column && continues(begin))
      ++begin;
    size_t end = begin + maxShown;
    while (end > column && continues(end))
      --end;
    line = line.slice(begin, end);
    column -= begin;
  }
  os << printable(line) << '\n';
  // Repeats tabs, so that the caret is below its character for any tab width.
  for (char c : printable(line.take_front(column)))
    if ((c & 0xC0) != 0x80)
      os << (c == '\t' ? '\t' : ' ');
  StringRef marked =
      line.drop_front(std::min<size_t>(column, line.size())).take_front(range.end - range.begin);
  os << '^' << std::string(std::max<size_t>(columns(printable(marked)), 1) - 1, '~') << '\n';
}
} // namespace

StringRef updraft::diagnosticName(DiagnosticKind kind) { return info(kind).name; }
Severity updraft::diagnosticSeverity(DiagnosticKind kind) { return info(kind).severity; }
const char *updraft::diagnosticFormat(DiagnosticKind kind) { return info(kind).format; }
llvm::ArrayRef<DiagnosticKind> updraft::allDiagnosticKinds() { return kinds; }

bool DiagnosticEngine::isInput(DiagnosticKind kind, size_t index) {
  auto [before, after] = StringRef(info(kind).format).split("{" + std::to_string(index) + "}");
  return before.count('`') % 2 == 1;
}

bool DiagnosticEngine::isRepeated(const Diagnostic &diagnostic, size_t end) const {
  return llvm::any_of(llvm::ArrayRef(list).take_front(end), [&](const Diagnostic &other) {
    return other.kind == diagnostic.kind && other.file == diagnostic.file &&
           other.range.begin == diagnostic.range.begin && other.message == diagnostic.message;
  });
}

void DiagnosticEngine::moveSince(size_t index, llvm::function_ref<bool(const Diagnostic &)> isMoved,
                                 SourceRange call, StringRef callee) {
  for (Diagnostic &diagnostic : llvm::MutableArrayRef(list).drop_front(index)) {
    if (!isMoved(diagnostic))
      continue;
    diagnostic.notes.insert(diagnostic.notes.begin(),
                            make(DiagnosticKind::InLibrary, diagnostic.range));
    diagnostic.range = call;
    diagnostic.file = call.file->shared_from_this();
    diagnostic.message = "in `" + shown(callee) + "`: " + diagnostic.message;
  }
  if (isFull())
    return; // the last one says so
  for (size_t next = list.size(); next-- > index;)
    if (isRepeated(list[next], next))
      list.erase(list.begin() + next);
}

Diagnostic *DiagnosticEngine::add(Diagnostic diagnostic) {
  if (isFull())
    return nullptr;
  if (isRepeated(diagnostic, list.size()))
    return nullptr;
  if (list.size() == maxErrors)
    diagnostic = make(DiagnosticKind::TooManyErrors, SourceRange(), maxErrors);
  list.push_back(std::move(diagnostic));
  return isFull() ? nullptr : &list.back();
}

void DiagnosticEngine::render(llvm::raw_ostream &os) const {
  for (const Diagnostic &diagnostic : list) {
    renderOne(os, diagnostic);
    for (SourceRange call : diagnostic.range.calls())
      renderOne(os, make(DiagnosticKind::InCall, call, calleeOf(call)));
    for (const Diagnostic &note : diagnostic.notes)
      renderOne(os, note);
  }
}

std::string DiagnosticEngine::render() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  render(os);
  return text;
}

// Whether the names differ only by two swapped neighbouring characters.
static bool isTransposed(StringRef a, StringRef b) {
  if (a.size() != b.size())
    return false;
  size_t i = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] &&
         a.drop_front(i + 2) == b.drop_front(i + 2);
}

StringRef updraft::nearestName(StringRef name, llvm::ArrayRef<StringRef> candidates) {
  // Up to half of a short name may be wrong, and up to a third of a long one.
  unsigned best = std::max<unsigned>(1, name.size() / 3) + 1;
  StringRef nearest;
  for (StringRef candidate : candidates) {
    bool isNear = name.equals_insensitive(candidate) || isTransposed(name, candidate);
    unsigned distance =
        isNear ? 1 : name.edit_distance(candidate, /*AllowReplacements=*/true, best);
    if (distance < best && (isNear || distance < candidate.size())) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string updraft::didYouMean(StringRef name, llvm::ArrayRef<StringRef> candidates) {
  StringRef nearest = nearestName(name, candidates);
  return nearest.empty() ? std::string() : ("; did you mean `" + nearest + "`?").str();
}
