//===- ErrorCases.h - Inputs with mistakes, and their errors ------------------------*- C++ -*-===//
// A case is a file, a request, and the complete text of the errors. Most cases are read from
// Errors/*.txt:
//
//   === name of the case
//   @rule R, @set name=value, @store name=type, @probe NAME   (any number, before the source)
//   source of rule.upd
//   +++ other.upd                                   (further files)
//   --- expected
//   rule.upd:1:2: error: …

#ifndef UPDRAFT_UNITTESTS_FRONTEND_ERRORCASES_H
#define UPDRAFT_UNITTESTS_FRONTEND_ERRORCASES_H

#include "updraft/Frontend/Frontend.h"

#include <set>

namespace updraft::test {

struct ErrorCase {
  std::string name;
  RuleRequest request;
  std::string source;
  std::vector<std::pair<std::string, std::string>> files;
  std::string expected;
};

/// The cases of Errors/*.txt.
const std::vector<ErrorCase> &writtenCases();

/// Cases that are generated, or don't fit a text file: limits and bytes.
const std::vector<ErrorCase> &generatedCases();

/// Returns the errors of a case, and adds the kinds of its diagnostics to `kinds`.
std::string diagnose(const ErrorCase &errorCase, std::set<DiagnosticKind> &kinds);

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_FRONTEND_ERRORCASES_H
