//===- Origins.h - Reading a upd_source_map -----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CAPI_ORIGINS_H
#define UPDRAFT_LIB_CAPI_ORIGINS_H

#include "updraft-c/compiler.h"

#include "updraft/Support/SourceMap.h"

namespace updraft::capi {

/// Copies the files and checks every span against them and a source of `length` bytes. Fails with
/// UPD_INVALID_ARGUMENT.
llvm::Expected<std::shared_ptr<const SourceMap>> readOrigins(const upd_source_map &map,
                                                             size_t length);

} // namespace updraft::capi

#endif // UPDRAFT_LIB_CAPI_ORIGINS_H
