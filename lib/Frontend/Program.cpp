//===- Program.cpp - Loads a file and its imports ---------------------------------------------===//

#include "Checker.h"
#include "StandardLibrary.h"

#include "updraft/Frontend/Frontend.h"
#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/RuleText.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace updraft;
using llvm::StringRef;

namespace {
/// The most files in one program.
constexpr size_t maxFiles = 64;

class Loader {
public:
  Loader(Program &program, DiagnosticEngine &diagnostics) : Loader(program, diagnostics, nullptr) {}

  /// With an index, the loader continues after errors to fill it.
  Loader(Program &program, DiagnosticEngine &diagnostics, Index *index,
         const OpenFiles &openFiles = {})
      : program(program), diagnostics(diagnostics), index(index), openFiles(openFiles) {}

  void loadMain(std::shared_ptr<const SourceFile> source) {
    size_t before = diagnostics.diagnostics().size();
    llvm::scope_exit leave([&] { program.noteImports(diagnostics, before); });
    std::string identity = canonical(source->path());
    load(parseFile(std::move(source), diagnostics, index), identity);
    if (diagnostics.hasErrors() && !index)
      return;
    // Errors in an incomplete tree follow from reported errors.
    DiagnosticEngine unused;
    Checker checker(diagnostics.hasErrors() ? unused : diagnostics, index);
    // Checks imported files first, because their errors may cause others.
    for (const auto &file : llvm::reverse(program.parsed))
      checker.check(*file);
  }

private:
  static std::string canonical(StringRef path) {
    llvm::SmallString<128> result;
    if (llvm::sys::fs::real_path(path, result))
      return path.str();
    return result.str().str();
  }

  ParsedFile *load(std::unique_ptr<ParsedFile> parsed, const std::string &identity) {
    program.texts.push_back(parsed->source);
    ParsedFile *file = program.parsed.emplace_back(std::move(parsed)).get();
    loaded[identity] = file;
    open.push_back(identity);
    for (const ImportDeclaration &declaration : file->imports)
      import(*file, *declaration.path);
    open.pop_back();
    makeVisible(*file);
    return file;
  }

  // A text may import any file that the compiler can read, but the author of the import may not be
  // allowed to read it. Errors therefore quote only files that parse.
  std::unique_ptr<ParsedFile> parseImport(std::shared_ptr<const SourceFile> source) {
    DiagnosticEngine withheld;
    auto file = parseFile(std::move(source), withheld, index);
    if (withheld.hasErrors()) {
      SourceRange range = withheld.diagnostics().front().range;
      diagnostics.report(DiagnosticKind::ImportNotParsed, {range.file, range.begin, range.begin});
    }
    return file;
  }

  void import(ParsedFile &importer, const Expr &pathExpr) {
    std::string written = stringValue(pathExpr);
    llvm::SmallString<128> path(written);
    if (!llvm::sys::path::is_absolute(written)) {
      path = llvm::sys::path::parent_path(importer.source->path());
      llvm::sys::path::append(path, written);
    }
    std::string identity = canonical(path);
    if (llvm::is_contained(open, identity)) {
      diagnostics.report(DiagnosticKind::ImportCycle, pathExpr.range, written);
      return;
    }
    ParsedFile *file = loaded.lookup(identity);
    if (!file) {
      if (program.parsed.size() == maxFiles) {
        diagnostics.report(DiagnosticKind::TooManyFiles, pathExpr.range, maxFiles);
        return;
      }
      auto source = read(path.str(), written, pathExpr.range);
      if (!source)
        return;
      program.importedAt[source.get()] = pathExpr.range;
      file = load(parseImport(std::move(source)), identity);
    }
    if (index)
      index->addUse(pathExpr.range, {file->source.get(), 0, 0});
    imported[&importer].push_back(file);
  }

  std::shared_ptr<const SourceFile> read(StringRef path, StringRef written, SourceRange range) {
    if (auto open = openFiles ? openFiles(path) : std::nullopt)
      return SourceFile::create(path.str(), std::move(*open));
    llvm::Expected<std::string> text = readImport(path);
    if (text)
      return SourceFile::create(path.str(), std::move(*text));
    diagnostics.report(DiagnosticKind::ImportNotFound, range, written,
                       llvm::toString(text.takeError()));
    return nullptr;
  }

  // A file sees its own functions, those of the files it imports, and the standard library's. Its
  // own functions may replace those of the standard library.
  void makeVisible(ParsedFile &file) {
    for (const Function &function : file.functions)
      addVisible(file, function, function.name.range);
    for (const ParsedFile *other : imported[&file])
      for (const Function &function : other->functions)
        addVisible(file, function, function.name.range);
    for (const auto &entry : standardFunctions())
      file.visible.try_emplace(entry.getKey(), entry.getValue());
    addStages(file, file);
    for (const ParsedFile *other : imported[&file])
      addStages(file, *other);
    for (const auto &entry : standardTransforms()) {
      const Rule *known = file.stages.try_emplace(entry.getKey(), entry.getValue()).first->second;
      if (known->file != &file && known != entry.getValue())
        file.repeatedStages.try_emplace(entry.getKey(), entry.getValue());
    }
  }

  // A file's own stage counts first. If a name repeats within a file, the checker reports the
  // second; if two imported files have it, or one and the library, a chain that uses it is refused.
  static void addStages(ParsedFile &file, const ParsedFile &from) {
    for (const auto *rules : {&from.transforms, &from.rules})
      for (const Rule &rule : *rules) {
        if (rule.name.text.empty())
          continue;
        const Rule *known = file.stages.try_emplace(rule.name.text, &rule).first->second;
        if (known->file != &file && known->file != &from)
          file.repeatedStages.try_emplace(rule.name.text, &rule);
      }
  }

  void addVisible(ParsedFile &file, const Function &function, SourceRange range) {
    auto [entry, isNew] = file.visible.try_emplace(function.name.text, &function);
    if (!isNew && entry->second != &function)
      diagnostics.report(DiagnosticKind::DuplicateName, range, function.name.text)
          .note(DiagnosticKind::DeclaredHere, entry->second->name.range, function.name.text);
  }

  Program &program;
  DiagnosticEngine &diagnostics;
  Index *index;
  OpenFiles openFiles;
  llvm::StringMap<ParsedFile *> loaded;
  std::map<const ParsedFile *, std::vector<const ParsedFile *>> imported;
  std::vector<std::string> open;
};
} // namespace

std::vector<StringRef> Program::ruleNames() const {
  std::vector<StringRef> names;
  for (const Rule &rule : main().rules)
    names.push_back(rule.name.text);
  return names;
}

void Program::noteImports(DiagnosticEngine &diagnostics, size_t since) const {
  const SourceFile *mainFile = texts.front().get();
  diagnostics.visitSince(since, [&](const Diagnostic &diagnostic, DiagnosticEngine::Notes notes) {
    if (llvm::any_of(diagnostic.notes,
                     [&](const Diagnostic &note) { return note.range.file == mainFile; }))
      return;
    for (auto found = importedAt.find(diagnostic.range.file); found != importedAt.end();
         found = importedAt.find(found->second.file))
      notes.note(DiagnosticKind::ImportedHere, found->second);
  });
}

std::shared_ptr<const Program> updraft::parseProgram(StringRef text, StringRef filename,
                                                     DiagnosticEngine &diagnostics) {
  return parseProgram(SourceFile::create(filename.str(), text.str()), diagnostics);
}

std::shared_ptr<const Program> updraft::parseProgram(std::shared_ptr<const SourceFile> source,
                                                     DiagnosticEngine &diagnostics) {
  auto program = std::make_shared<Program>();
  size_t before = diagnostics.diagnostics().size();
  Loader(*program, diagnostics).loadMain(std::move(source));
  if (diagnostics.diagnostics().size() != before)
    return nullptr;
  return program;
}

Analysis updraft::analyzeProgram(StringRef text, StringRef filename, const OpenFiles &openFiles,
                                 DiagnosticEngine &diagnostics) {
  auto program = std::make_shared<Program>();
  Analysis analysis{program, {}};
  Loader(*program, diagnostics, &analysis.index, openFiles)
      .loadMain(SourceFile::create(filename.str(), text.str()));
  return analysis;
}
