//===- Names.h - Names that clients choose ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_NAMES_H
#define UPDRAFT_RUNTIME_SERVER_NAMES_H

#include "runtime/server/Refusal.h"

#include <algorithm>
#include <string>

namespace updraft::server {

/// The largest number of bytes in a name, which a worker keeps and logs.
constexpr size_t longestName = 256;

/// Throws InvalidArgument for a name that is empty, too long, or has a control character. `what`
/// begins the message: "the name of a client".
inline void checkName(const std::string &name, const std::string &what) {
  const bool hasControl = std::any_of(name.begin(), name.end(), [](char one) {
    return static_cast<unsigned char>(one) < 0x20 || one == 0x7f;
  });
  if (name.empty() || name.size() > longestName || hasControl)
    throw Refusal(Reason::InvalidArgument,
                  what + " has from 1 to 256 bytes, and no control characters");
}

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_NAMES_H
