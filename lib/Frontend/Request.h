//===- Request.h - What a request settles about a rule ------------------------------*- C++ -*-===//
// The rule that is meant, as the stages of its chain, the values of their hyperparameters and
// static flags, and which states exist with which storage types. No IR is made here.

#ifndef UPDRAFT_LIB_FRONTEND_REQUEST_H
#define UPDRAFT_LIB_FRONTEND_REQUEST_H

#include "Evaluator.h"

#include "updraft/Frontend/Frontend.h"

namespace updraft {

struct ResolvedParameter {
  const Parameter *declaration;
  std::string name; ///< as it is known outside
  Value value;      ///< a constant
  bool isExplicit;  ///< the request or the chain gave the value
};

struct ResolvedState {
  const State *declaration;
  std::string name;
  StorageType storage;
  bool forVectors; ///< whether it exists for tensors of less than two dimensions
  bool forMatrices;

  bool exists(bool isMatrix) const { return isMatrix ? forMatrices : forVectors; }
};

struct ResolvedStage {
  const Rule *rule = nullptr;
  std::string label;
  std::vector<ResolvedParameter> parameters;
  std::vector<ResolvedState> states;
  /// Every hyperparameter and flag as a constant, by its local name.
  Names constants;
};

struct ResolvedRequest {
  /// The requested rule or chain: its name is that of the result.
  const Rule *rule = nullptr;
  std::vector<ResolvedStage> stages;
  StorageType param = StorageType::F32;
  StorageType grad = StorageType::F32;
  /// Vectors and matrices have rules of their own.
  bool hasMatrixRule = false;
  /// Owns the texts that settings, and a chain in the request, were parsed from.
  std::vector<std::unique_ptr<ParsedFile>> requestFiles;

  bool computesInF64() const;
};

/// Nothing after a report.
std::optional<ResolvedRequest> resolveRequest(const Program &program, const RuleRequest &request,
                                              Evaluator &evaluator, DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_REQUEST_H
