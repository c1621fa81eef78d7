//===- ImageLinker.h - From an object file to code that needs no linker -------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_PACKAGER_IMAGELINKER_H
#define UPDRAFT_LIB_PACKAGER_IMAGELINKER_H

#include "updraft-c/package_format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace updraft {

/// The code, functions and imports of an image for a CPU, as in updraft-c/package_format.h.
struct LinkedImage {
  std::string code;
  uint32_t executable = 0;
  std::vector<uint32_t> functions;
  std::vector<upd_package_import> imports;
};

/// Links an object file of any CPU target to code that works at any address. Keeps these functions
/// and what they need. Fails if the object lacks one, calls a function that isn't in
/// updraft-c/imports.def, has data that is writable, or contains absolute addresses.
llvm::Expected<LinkedImage> linkImage(llvm::StringRef object,
                                      llvm::ArrayRef<std::string> functions);

} // namespace updraft

#endif // UPDRAFT_LIB_PACKAGER_IMAGELINKER_H
