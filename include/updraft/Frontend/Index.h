//===- Index.h - What the names in a file stand for ---------------------------------*- C++ -*-===//
// For editors: the declarations of a file, where each name is used, and the types the checker
// found. Made from whatever could be understood, so it is there for broken files too.

#ifndef UPDRAFT_FRONTEND_INDEX_H
#define UPDRAFT_FRONTEND_INDEX_H

#include "updraft/Frontend/Program.h"

#include <functional>
#include <map>
#include <set>

namespace updraft {

enum class DeclarationKind : uint8_t {
  Rule,
  Transform,
  Function,
  Argument, ///< of a function
  Hyperparameter,
  Flag,
  State,
  Input, ///< of `update`
  Let,
};

/// "hyperparameter", "static flag", …
llvm::StringRef describe(DeclarationKind kind);

struct Declaration {
  DeclarationKind kind;
  Identifier name;
  SourceRange extent; ///< from the name to the end of what is declared
  std::vector<Declaration> parts;

  bool isScope() const {
    return kind == DeclarationKind::Rule || kind == DeclarationKind::Transform ||
           kind == DeclarationKind::Function;
  }
};

/// The rules and functions of a file with their parts, in the order of the text.
std::vector<Declaration> declarationsOf(const ParsedFile &file);

/// The text of a declaration, without the body of a rule or of a longer function, on one line.
std::string headOf(const Declaration &declaration);

/// The comment on the lines before a declaration, without its slashes.
std::string commentAbove(SourceRange name);

/// Filled by the checker and by the loader of files.
class Index {
public:
  void addUse(SourceRange use, SourceRange declared);
  /// A function may be called with several types; all are kept. What is found of a function by
  /// itself, before any call, is `generic`, and counts only if there is no call.
  void addType(SourceRange place, llvm::StringRef type, bool generic);

  struct Use {
    SourceRange range;
    SourceRange declared; ///< the name that is declared; the start of a file for an import
  };
  /// The use that is at or just before an offset of a file, or null.
  const Use *useAt(const SourceFile &file, uint32_t offset) const;

  /// "a tensor", "a scalar or a tensor"; empty if there is none.
  std::string typeAt(SourceRange place) const;
  /// The place with a type that is at an offset; without a file if there is none.
  SourceRange typedPlaceAt(const SourceFile &file, uint32_t offset) const;

private:
  using Place = std::pair<const SourceFile *, uint32_t>;
  std::map<Place, Use> uses;
  struct Types {
    uint32_t end;
    std::set<llvm::StringRef> names;
    llvm::StringRef generic;
  };
  std::map<Place, Types> types;
};

struct Analysis {
  std::shared_ptr<const Program> program; ///< what was understood; never null
  Index index;
};

/// The text of a file that is open and may differ from the disk; nothing for other files.
using OpenFiles = std::function<std::optional<std::string>(llvm::StringRef path)>;

/// Parses and checks as parseProgram does, but goes on after errors.
Analysis analyzeProgram(llvm::StringRef text, llvm::StringRef filename, const OpenFiles &openFiles,
                        DiagnosticEngine &diagnostics);

/// The functions that are operations.
struct BuiltinFunction {
  llvm::StringRef name;
  unsigned arity;
};
std::vector<BuiltinFunction> builtinFunctions();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_INDEX_H
