//===- CacheKey.h - The identity of a compilation -----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_CACHEKEY_H
#define UPDRAFT_DRIVER_CACHEKEY_H

#include "updraft/Driver/CompileRequest.h"

#include <string>

namespace updraft {

/// Returns a hexadecimal key for the machine code of `request`: a hash of the text of the file and
/// its imports, the settings, storage types, numerics, target and this build.
std::string cacheKey(const Program &program, const CompileRequest &request);

} // namespace updraft

#endif // UPDRAFT_DRIVER_CACHEKEY_H
