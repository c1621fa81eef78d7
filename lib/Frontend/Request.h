//===- Request.h - What a request settles about a rule ------------------------------*- C++ -*-===//
// The rule that is meant, the values of its hyperparameters and static flags, and which states
// exist with which storage types. No IR is made here.

#ifndef UPDRAFT_LIB_FRONTEND_REQUEST_H
#define UPDRAFT_LIB_FRONTEND_REQUEST_H

#include "Evaluator.h"

#include "updraft/Frontend/Frontend.h"

namespace updraft {

struct ResolvedParameter {
  const Parameter *declaration;
  Value value;     ///< a constant
  bool isExplicit; ///< the request gave the value
};

struct ResolvedState {
  const State *declaration;
  bool exists;
  upd_dtype storage;
};

struct ResolvedRequest {
  const Rule *rule = nullptr;
  std::vector<ResolvedParameter> parameters;
  std::vector<ResolvedState> states;
  upd_dtype param = UPD_F32;
  upd_dtype grad = UPD_F32;
  /// Every hyperparameter and flag as a constant.
  Names constants;
  /// Owns the texts that settings were parsed from.
  std::vector<std::unique_ptr<ParsedFile>> settingFiles;

  bool computesInF64() const;
};

/// Nothing after a report.
std::optional<ResolvedRequest> resolveRequest(const Program &program, const RuleRequest &request,
                                              Evaluator &evaluator, DiagnosticEngine &diagnostics);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_REQUEST_H
