//===- RequestLine.h - Compile requests in the text itself --------------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_FUZZ_REQUESTLINE_H
#define UPDRAFT_UNITTESTS_FUZZ_REQUESTLINE_H

#include "updraft/Driver/CompileRequest.h"

namespace updraft::fuzz {

constexpr llvm::StringRef requestStart = "//! ";

/// The text with the options in its first line, in the form of updraftc: `//! --rule=NAME --set
/// NAME=VALUE --storage NAME=TYPE --target=CPU --numerics=MODE`. Ignores anything else there.
/// none of these counts for nothing.
CompileRequest requestOf(llvm::StringRef text);

} // namespace updraft::fuzz

#endif // UPDRAFT_UNITTESTS_FUZZ_REQUESTLINE_H
