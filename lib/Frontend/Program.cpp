//===- Program.cpp - Loading a file with what it imports --------------------------------------===//

#include "Checker.h"
#include "StandardLibrary.h"

#include "updraft/Frontend/Frontend.h"
#include "updraft/Frontend/Parser.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace updraft;
using llvm::StringRef;

namespace {
/// Files that one program may consist of.
constexpr size_t maxFiles = 64;

class Loader {
public:
  Loader(Program &program, DiagnosticEngine &diagnostics) : Loader(program, diagnostics, nullptr) {}

  /// With an index the loader goes on after errors, to fill it.
  Loader(Program &program, DiagnosticEngine &diagnostics, Index *index,
         const OpenFiles &openFiles = {})
      : program(program), diagnostics(diagnostics), index(index), openFiles(openFiles) {}

  void loadMain(std::shared_ptr<const SourceFile> source) {
    std::string identity = canonical(source->path());
    load(std::move(source), identity);
    if (diagnostics.hasErrors() && !index)
      return;
    // What is wrong with half a tree is known already.
    DiagnosticEngine unused;
    Checker checker(diagnostics.hasErrors() ? unused : diagnostics, index);
    // An imported file's mistakes come before what they cause.
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

  ParsedFile *load(std::shared_ptr<const SourceFile> source, const std::string &identity) {
    program.texts.push_back(source);
    ParsedFile *file =
        program.parsed.emplace_back(parseFile(std::move(source), diagnostics, index)).get();
    loaded[identity] = file;
    open.push_back(identity);
    for (const ImportDeclaration &declaration : file->imports)
      import(*file, *declaration.path);
    open.pop_back();
    makeVisible(*file);
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
      size_t before = diagnostics.diagnostics().size();
      file = load(std::move(source), identity);
      diagnostics.noteSince(before, DiagnosticKind::ImportedHere, pathExpr.range);
    }
    if (index)
      index->addUse(pathExpr.range, {file->source.get(), 0, 0});
    imported[&importer].push_back(file);
  }

  std::shared_ptr<const SourceFile> read(StringRef path, StringRef written, SourceRange range) {
    if (auto text = openFiles ? openFiles(path) : std::nullopt)
      return SourceFile::create(path.str(), std::move(*text));
    llvm::sys::fs::file_status status;
    std::error_code error = llvm::sys::fs::status(path, status);
    auto refuse = [&](StringRef reason) {
      diagnostics.report(DiagnosticKind::ImportNotFound, range, written, reason);
      return nullptr;
    };
    if (error || status.type() == llvm::sys::fs::file_type::file_not_found)
      return refuse(error == std::errc::no_such_file_or_directory ? "there is no such file"
                                                                  : error.message());
    // A device or a pipe may never end.
    if (!llvm::sys::fs::is_regular_file(status))
      return refuse("it is no regular file");
    if (status.getSize() > maxFileSize)
      return refuse(("it has more than " + llvm::Twine(maxFileSize) + " bytes").str());
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return refuse(buffer.getError().message());
    return SourceFile::create(path.str(), (*buffer)->getBuffer().str());
  }

  // A file sees its own functions, those of the files it imports, and the standard library's; its
  // own may replace one of the standard library.
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
    for (const auto &entry : standardTransforms())
      file.stages.try_emplace(entry.getKey(), entry.getValue());
  }

  // The first of a name counts; within one file the checker reports the second.
  static void addStages(ParsedFile &file, const ParsedFile &from) {
    for (const auto *rules : {&from.transforms, &from.rules})
      for (const Rule &rule : *rules)
        file.stages.try_emplace(rule.name.text, &rule);
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
