//===- Signature.h - Ed25519 signatures of packages ---------------------------------*- C++ -*-===//
// Keys are in the PEM files of OpenSSL (RFC 8410): `openssl genpkey -algorithm ed25519` makes a
// private key, and `openssl pkey -pubout` its public key.

#ifndef UPDRAFT_RUNTIME_PACKAGE_SIGNATURE_H
#define UPDRAFT_RUNTIME_PACKAGE_SIGNATURE_H

#include "runtime/base/Status.h"
#include "runtime/package/Digest.h"

#include <string>
#include <string_view>

namespace updraft::package {

using PublicKey = std::array<uint8_t, 32>;

/// Signs a digest with the private key in the text of a PEM file. UPD_INVALID_ARGUMENT: the text is
/// something else.
runtime::Status sign(const Digest &digest, std::string_view privateKey,
                     upd_package_signature &signature);

/// Reads the public key in the text of a PEM file.
runtime::Status readPublicKey(std::string_view text, PublicKey &key);

class Package;
/// Refuses a package without a valid signature by this key. UPD_INVALID_ARGUMENT: it lacks one.
/// UPD_UNSUPPORTED: libsodium is not installed.
runtime::Status checkSigned(const Package &package, const PublicKey &key);

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_SIGNATURE_H
