//===- StandardLibrary.cpp - The embedded standard library ------------------------------------===//

#include "StandardLibrary.h"

#include "Checker.h"

#include "updraft/Frontend/Parser.h"

using namespace updraft;

namespace {
struct Library {
  DiagnosticEngine diagnostics;
  std::vector<std::unique_ptr<ParsedFile>> files;
  llvm::StringMap<const Function *> functions;
  llvm::StringMap<const Rule *> transforms;

  Library() {
    for (const EmbeddedFile &embedded : embeddedStandardLibrary())
      files.push_back(parseFile(SourceFile::create(embedded.path, embedded.text), diagnostics));
    for (const auto &file : files)
      for (const Function &function : file->functions)
        functions.try_emplace(function.name.text, &function);
    for (const auto &file : files)
      for (const Rule &transform : file->transforms)
        transforms.try_emplace(transform.name.text, &transform);
    for (const auto &file : files) {
      file->visible = functions;
      file->stages = transforms;
    }
  }

  // The library is the same in every process, so checking it once in tests suffices.
  void check() {
    Checker checker(diagnostics);
    for (const auto &file : files)
      checker.check(*file);
  }
};

Library &library() {
  static Library instance;
  return instance;
}
} // namespace

const llvm::StringMap<const Function *> &updraft::standardFunctions() {
  return library().functions;
}

const llvm::StringMap<const Rule *> &updraft::standardTransforms() { return library().transforms; }

static bool isStandard(const SourceFile *file) {
  return llvm::any_of(library().files,
                      [&](const auto &standard) { return standard->source.get() == file; });
}

void updraft::noteCall(DiagnosticEngine &diagnostics, size_t index, const Expr &call) {
  if (index == diagnostics.diagnostics().size())
    return; // as for almost every call
  const bool isCaller = !isStandard(call.focus.file);
  auto isMoved = [&](const Diagnostic &diagnostic) {
    return isCaller && isStandard(diagnostic.range.file);
  };
  diagnostics.visitSince(index, [&](const Diagnostic &diagnostic, DiagnosticEngine::Notes notes) {
    if (!isMoved(diagnostic))
      notes.note(DiagnosticKind::InCall, call.focus, call.text);
  });
  diagnostics.moveSince(index, isMoved, call.focus, call.text);
}

const DiagnosticEngine &updraft::standardLibraryDiagnostics() {
  static const bool isChecked = (library().check(), true);
  static_cast<void>(isChecked);
  return library().diagnostics;
}
