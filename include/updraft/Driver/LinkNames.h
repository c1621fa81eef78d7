//===- LinkNames.h - Names of a rule in a C program ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_LINKNAMES_H
#define UPDRAFT_DRIVER_LINKNAMES_H

#include "updraft/Driver/CompileRequest.h"

#include <string>

namespace updraft {

/// Returns the symbol of the code of rule `name` for a target: "adamw_x86_64_v3".
std::string linkSymbol(llvm::StringRef name, llvm::StringRef target);

/// Returns the name for the rule in a file: the file's, with `_` for what C doesn't allow.
std::string linkNameOf(llvm::StringRef file);

/// Whether a member of a struct can't have the name in C or C++: a keyword, or a macro of headers
/// that programs include.
bool isReservedInC(llvm::StringRef word);

/// Rejects a `link` with a name that C doesn't allow, or with targets whose code can't be part of a
/// program for other machines.
llvm::Error checkLink(const CompileRequest &request);

} // namespace updraft

#endif // UPDRAFT_DRIVER_LINKNAMES_H
