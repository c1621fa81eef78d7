//===- Index.h - The meaning of the names in a file ---------------------------------*- C++ -*-===//
// For editors: the declarations of a file, the uses of each name, and the types that the checker
// found. Works for broken files too, as far as they could be parsed.

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
  SourceRange extent; ///< from the name to the end of the declaration
  std::vector<Declaration> parts;

  bool isScope() const {
    return kind == DeclarationKind::Rule || kind == DeclarationKind::Transform ||
           kind == DeclarationKind::Function;
  }
};

/// The rules and functions of a file with their parts, in the order of the text.
std::vector<Declaration> declarationsOf(const ParsedFile &file);

/// The text of a declaration on one line, without the body of a rule or of a longer function.
std::string headOf(const Declaration &declaration);

/// The comment on the lines before a declaration, without its slashes.
std::string commentAbove(SourceRange name);

/// Filled by the checker and by the loader of files.
class Index {
public:
  void addUse(SourceRange use, SourceRange declared);
  /// Functions may be called with several types; all are kept. `generic` marks types found by
  /// checking a function on its own, which are used only if there is no call.
  void addType(SourceRange place, llvm::StringRef type, bool generic);

  struct Use {
    SourceRange range;
    SourceRange declared; ///< the declared name; the start of a file for an import
  };
  /// The use that is at or just before an offset of a file, or null.
  const Use *useAt(const SourceFile &file, uint32_t offset) const;

  /// "a tensor", "a scalar or a tensor"; empty if unknown.
  std::string typeAt(SourceRange place) const;
  /// The range with a known type at an offset; without a file if there is none.
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
  std::shared_ptr<const Program> program; ///< the part that could be parsed; never null
  Index index;
};

/// Returns the text of a file that is open in an editor; nothing for other files.
using OpenFiles = std::function<std::optional<std::string>(llvm::StringRef path)>;

/// Like parseProgram, but continues after errors.
Analysis analyzeProgram(llvm::StringRef text, llvm::StringRef filename, const OpenFiles &openFiles,
                        DiagnosticEngine &diagnostics);

/// The functions that map to operations.
struct BuiltinFunction {
  llvm::StringRef name;
  unsigned arity;
};
std::vector<BuiltinFunction> builtinFunctions();

} // namespace updraft

#endif // UPDRAFT_FRONTEND_INDEX_H
