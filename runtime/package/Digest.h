//===- Digest.h - SHA-256 of bytes --------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_DIGEST_H
#define UPDRAFT_RUNTIME_PACKAGE_DIGEST_H

#include "updraft-c/package_format.h"

#include <array>
#include <string_view>

namespace updraft::package {

using Digest = std::array<uint8_t, UPD_DIGEST_BYTES>;

Digest digestOf(std::string_view bytes);

/// The digest of a package's header: `table` is the header and the records of the sections.
Digest digestOfTable(std::string_view table);

/// The digest that a package's signature signs (upd_package_signature). The last record is the
/// signature's.
Digest signedDigestOf(std::string_view table);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_DIGEST_H
