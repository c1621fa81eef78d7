//===- Diagnostics.h - Located diagnostics and their rendering ----------------------*- C++ -*-===//
// Diagnostics.def registers the kinds of diagnostics. An engine collects diagnostics in order, with
// their notes, and renders them as text with the source line and a caret. Not thread-safe: use one
// engine per compilation.

#ifndef UPDRAFT_SUPPORT_DIAGNOSTICS_H
#define UPDRAFT_SUPPORT_DIAGNOSTICS_H

#include "updraft/Support/ShownText.h"
#include "updraft/Support/SourceFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <tuple>

namespace updraft {

enum class Severity { Error, Note };

enum class DiagnosticKind {
#define UPDRAFT_DIAGNOSTIC(Kind, Level, Format) Kind,
#include "updraft/Support/Diagnostics.def"
};

/// "UnknownName" for DiagnosticKind::UnknownName.
llvm::StringRef diagnosticName(DiagnosticKind kind);
Severity diagnosticSeverity(DiagnosticKind kind);
const char *diagnosticFormat(DiagnosticKind kind);
/// Every registered kind, in the order of the registry.
llvm::ArrayRef<DiagnosticKind> allDiagnosticKinds();

struct Diagnostic {
  DiagnosticKind kind;
  SourceRange range;
  std::string message;
  std::vector<Diagnostic> notes;
  std::shared_ptr<const SourceFile> file; ///< keeps `range` valid; null without a location
};

class DiagnosticEngine {
public:
  /// Errors beyond this many are dropped; the last one kept says so.
  static constexpr size_t maxErrors = 20;

  /// Adds notes to a diagnostic, at most 8.
  class Notes {
  public:
    explicit Notes(Diagnostic *diagnostic) : diagnostic(diagnostic) {}
    template <typename... Args>
    Notes &note(DiagnosticKind kind, SourceRange range, Args &&...args) {
      if (diagnostic && diagnostic->notes.size() < 8)
        diagnostic->notes.push_back(make(kind, range, std::forward<Args>(args)...));
      return *this;
    }

  private:
    Diagnostic *diagnostic;
  };

  /// Reports a diagnostic; `args` fill the placeholders of the kind's format. A placeholder between
  /// backticks repeats input, which goes through `shown`. Duplicates (same kind, text and place)
  /// are reported once.
  template <typename... Args> Notes report(DiagnosticKind kind, SourceRange range, Args &&...args) {
    return Notes(add(make(kind, range, std::forward<Args>(args)...)));
  }

  /// Calls `visit` for every diagnostic from `index` on, to add notes to it.
  void visitSince(size_t index, llvm::function_ref<void(const Diagnostic &, Notes)> visit) {
    for (Diagnostic &diagnostic : llvm::MutableArrayRef(list).drop_front(index))
      visit(diagnostic, Notes(&diagnostic));
  }

  /// Moves each diagnostic from `index` on for which `isMoved` holds to a call of `callee`. A note
  /// has its former place.
  void moveSince(size_t index, llvm::function_ref<bool(const Diagnostic &)> isMoved,
                 SourceRange call, llvm::StringRef callee);

  bool hasErrors() const { return !list.empty(); }
  /// Whether `maxErrors` is reached; further errors are dropped.
  bool isFull() const { return list.size() > maxErrors; }
  llvm::ArrayRef<Diagnostic> diagnostics() const { return list; }

  void render(llvm::raw_ostream &os) const;
  std::string render() const;

private:
  template <typename... Args>
  static Diagnostic make(DiagnosticKind kind, SourceRange range, Args &&...args) {
    [[maybe_unused]] size_t index = 0; // an initializer list is evaluated in order
    std::tuple filled{fill(kind, index++, std::forward<Args>(args))...};
    std::string text = std::apply(
        [&](auto &...values) { return llvm::formatv(diagnosticFormat(kind), values...).str(); },
        filled);
    return {
        kind, range, std::move(text), {}, range.file ? range.file->shared_from_this() : nullptr};
  }
  template <typename Arg> static auto fill(DiagnosticKind kind, size_t index, Arg &&arg) {
    if constexpr (std::is_convertible_v<Arg, llvm::StringRef>)
      return isInput(kind, index) ? shown(arg) : llvm::StringRef(arg).str();
    else
      return std::forward<Arg>(arg);
  }
  /// Whether the format has this argument between backticks.
  static bool isInput(DiagnosticKind kind, size_t index);
  /// Whether a diagnostic before `end` has the same kind, text and place.
  bool isRepeated(const Diagnostic &diagnostic, size_t end) const;
  Diagnostic *add(Diagnostic diagnostic);

  std::vector<Diagnostic> list;
};

/// Returns the candidate nearest to `name` if it is near enough to be a misspelling, else "".
llvm::StringRef nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// "; did you mean `x`?" with the nearest candidate, or "".
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace updraft

#endif // UPDRAFT_SUPPORT_DIAGNOSTICS_H
