//===- StoreError.h - Why a store can't be read or written --------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_STORE_STOREERROR_H
#define UPDRAFT_RUNTIME_STORE_STOREERROR_H

#include <stdexcept>
#include <string>

namespace updraft::store {

/// Thrown by everything in runtime/store.
class StoreError : public std::runtime_error {
public:
  enum class Kind {
    Full,    ///< the disk is full; nothing was written, and a repetition may succeed
    Failed,  ///< the disk reported another error
    Damaged, ///< the store's content is not what was written
    Newer,   ///< a newer version of Updraft wrote it
    InUse,   ///< another process has it open
  };
  StoreError(Kind kind, const std::string &message) : std::runtime_error(message), which(kind) {}
  Kind kind() const { return which; }

private:
  Kind which;
};

} // namespace updraft::store

#endif // UPDRAFT_RUNTIME_STORE_STOREERROR_H
