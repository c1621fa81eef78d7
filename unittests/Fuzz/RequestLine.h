//===- RequestLine.h - What is to be compiled, in the text itself -------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_FUZZ_REQUESTLINE_H
#define UPDRAFT_UNITTESTS_FUZZ_REQUESTLINE_H

#include "updraft/Driver/CompileRequest.h"

namespace updraft::fuzz {

constexpr llvm::StringRef requestStart = "//! ";

/// The text with what its first line asks for, in the words of updraftc:
/// `//! --rule=NAME --set NAME=VALUE --storage NAME=TYPE --target=CPU --numerics=MODE`. What is
/// none of these counts for nothing.
CompileRequest requestOf(llvm::StringRef text);

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_REQUESTLINE_H
