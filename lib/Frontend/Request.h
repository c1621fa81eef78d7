//===- Request.h - Resolves a request for a rule ------------------------------------*- C++ -*-===//
// Determines the stages of the requested rule's chain, the values of their hyperparameters and
// static flags, and the existing states with their storage types. Creates no IR.

#ifndef UPDRAFT_LIB_FRONTEND_REQUEST_H
#define UPDRAFT_LIB_FRONTEND_REQUEST_H

#include "Evaluator.h"

#include "updraft/Frontend/Frontend.h"

namespace updraft {

struct ResolvedParameter {
  const Parameter *declaration;
  std::string name; ///< the public name
  Value value;      ///< a constant
  bool isExplicit;  ///< whether the request or the chain gave the value
};

struct ResolvedState {
  const State *declaration;
  std::string name;
  StorageType storage;
  bool forVectors; ///< whether it exists for tensors of fewer than two dimensions
  bool forMatrices;

  bool exists(bool isMatrix) const { return isMatrix ? forMatrices : forVectors; }
};

struct ResolvedStage {
  const Rule *rule = nullptr;
  std::string label, countName;   ///< as in ChainStage
  std::vector<SourceRange> calls; ///< as in ChainStage
  std::vector<ResolvedParameter> parameters;
  std::vector<ResolvedState> states;
  /// Every hyperparameter and flag as a constant, by local name.
  Names constants;
};

/// A probe that the request adds.
struct RequestedProbe {
  Identifier name;
  const Expr *value;
  const ParsedFile *file;
};

struct ResolvedRequest {
  /// The requested rule or chain, whose name the result has.
  const Rule *rule = nullptr;
  std::vector<ResolvedStage> stages;
  StorageType param = StorageType::F32;
  StorageType grad = StorageType::F32;
  /// Whether vectors and matrices have separate rules.
  bool hasMatrixRule = false;
  std::vector<RequestedProbe> probes;
  /// Owns the files from which settings, probes, and a chain in the request, were parsed.
  std::vector<std::unique_ptr<ParsedFile>> requestFiles;

  bool computesInF64() const;
};

/// Returns nothing after reporting an error.
std::optional<ResolvedRequest> resolveRequest(const Program &program, const RuleRequest &request,
                                              Evaluator &evaluator, DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_REQUEST_H
