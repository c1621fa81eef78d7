//===- Sample.h - Inputs and results that show that a rule computes the right bits --*- C++ -*-===//

#ifndef UPDRAFT_LIB_PACKAGER_SAMPLE_H
#define UPDRAFT_LIB_PACKAGER_SAMPLE_H

#include "updraft/Driver/CompileRequest.h"

namespace updraft {

/// Returns the sample of a variant (upd_package_variant). The reference interpreter computes the
/// results.
llvm::Expected<std::string> makeSample(const Program &program, const RuleRequest &request);

} // namespace updraft

#endif // UPDRAFT_LIB_PACKAGER_SAMPLE_H
