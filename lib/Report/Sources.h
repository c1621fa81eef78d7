//===- Sources.h - The lines of a rule and the stages that they reach ---------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_SOURCES_H
#define UPDRAFT_LIB_REPORT_SOURCES_H

#include "Owners.h"
#include "updraft/Driver/Compiler.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <set>

namespace updraft {

/// The regions of a plan that a line has operations in.
enum class Region { Declared, Initial, Validate, Prologue, Sweep, Matrices };

/// The regions of a plan by line, which say why a line goes no further.
struct PlanRegions {
  std::map<SourceLine, std::set<Region>> ofLine;

  void collect(const Recording &recording, mlir::ModuleOp module,
               llvm::function_ref<uint32_t(mlir::Location)> placeOf);
};

/// The texts of a rule, with the lines that each stage was compiled from.
class Sources {
public:
  /// `request` is the text of a chain that was requested in place of a rule's name.
  Sources(const Program &program, const CompileRequest &request, const Recording &recording,
          const PlanRegions &regions, const RuleFacts &facts);

  /// The members `sources`, `places` and `lines` of a report.
  void writeTo(llvm::json::Object &report) const;

private:
  struct Source {
    const SourceFile *file;
    std::string kind;
    unsigned first, last; ///< the lines that are shown
    std::vector<Owner> owners;
  };

  void addSource(const SourceFile &file, std::string kind);
  void addOwners(const ParsedFile &file);
  const Owner *ownerOf(const Source &source, unsigned line) const;
  llvm::json::Array links() const;
  /// Whether an operation of the rule has one of these lines.
  bool isUsed(const Source &source, unsigned first, unsigned last) const;
  std::string reasonWithoutOperations(const Source &source, unsigned line) const;
  std::string reasonFor(const SourceLine &line, size_t lostBy) const;

  const Recording &recording;
  const PlanRegions &regions;
  const RuleFacts &facts;
  std::shared_ptr<const SourceFile> chain; ///< null unless a chain was requested
  std::vector<Source> sources;
  std::map<const SourceFile *, size_t> indices;
  std::map<std::string, size_t> byPath;
  /// For each text of the recording, the lines that it was compiled from.
  std::vector<std::set<SourceLine>> linesOfText;
};

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_SOURCES_H
