//===- Packager.h - Compiles a rule to a package ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_PACKAGER_PACKAGER_H
#define UPDRAFT_PACKAGER_PACKAGER_H

#include "updraft/Driver/CompileRequest.h"

#include <string>
#include <vector>

namespace updraft {

struct PackRequest {
  /// The rule and its options. Its storage types and target are ignored.
  CompileRequest rule;
  /// Names of targets, as in `updraftc --target`; no `host`.
  std::vector<std::string> targets;
  /// The storage types of each variant. Empty: one variant without storage types.
  std::vector<std::vector<std::pair<std::string, StorageType>>> variants;
  /// The text of a PEM file with the key that signs the package; empty: none.
  std::string privateKey;
};

/// Returns the bytes of a package (updraft-c/package_format.h). Equal requests give equal bytes.
/// The message is complete, as in Compiler.h.
llvm::Expected<std::string> packRule(const PackRequest &request);

} // namespace updraft

#endif // UPDRAFT_PACKAGER_PACKAGER_H
