//===- TypedHeader.h - A C header for a rule that is linked into a program ----------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_TYPEDHEADER_H
#define UPDRAFT_LIB_DRIVER_TYPEDHEADER_H

#include "runtime/base/RuleInterface.h"
#include "updraft/Driver/CompileRequest.h"

#include <string>

namespace updraft {

/// Returns a header for C11 and C++11 with typed structs and functions for the rule. They use the
/// objects of `link.targets` (LinkRecord.h).
std::string typedHeader(const runtime::RuleInterface &rule, const LinkRequest &link);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_TYPEDHEADER_H
