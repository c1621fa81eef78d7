//===- PackagePolicy.h - Packages that this process takes from clients --------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_TORCH_RPC_PACKAGEPOLICY_H
#define UPDRAFT_RUNTIME_TORCH_RPC_PACKAGEPOLICY_H

#include <mutex>
#include <optional>
#include <string>

namespace updraft::torch_adapter {

/// A package is machine code. A process with Python runs any code of its clients and takes all
/// packages; updraft-torch-worker takes those that a key has signed. Thread-safe.
class PackagePolicy {
public:
  /// The process's instance.
  static PackagePolicy &process();

  /// Takes only packages that are signed by the key in the text of a PEM file from now on. An empty
  /// key takes none.
  void limitTo(std::string publicKey);

  /// Throws for a package that is not taken: ValueError, or NotImplementedError without libsodium
  /// or for a newer format. Messages call the package `name`.
  void require(const std::string &package, const std::string &name) const;

private:
  mutable std::mutex mutex;
  std::optional<std::string> key; ///< null: all packages
};

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_RPC_PACKAGEPOLICY_H
