//===- Sodium.h - libsodium, found at run time --------------------------------------*- C++ -*-===//
// Only signatures need it, so programs that use none don't need the library.

#ifndef UPDRAFT_RUNTIME_PACKAGE_SODIUM_H
#define UPDRAFT_RUNTIME_PACKAGE_SODIUM_H

#include "runtime/base/Status.h"

#include <cstddef>

namespace updraft::package {

/// The functions of libsodium that signatures use, with its types.
struct Sodium {
  int (*sodium_init)();
  int (*crypto_sign_ed25519_verify_detached)(const unsigned char *signature,
                                             const unsigned char *message,
                                             unsigned long long length, const unsigned char *key);
  int (*crypto_sign_ed25519_seed_keypair)(unsigned char *publicKey, unsigned char *secretKey,
                                          const unsigned char *seed);
  int (*crypto_sign_ed25519_detached)(unsigned char *signature, unsigned long long *signatureLength,
                                      const unsigned char *message, unsigned long long length,
                                      const unsigned char *secretKey);
  int (*sodium_base642bin)(unsigned char *binary, size_t capacity, const char *text, size_t length,
                           const char *ignored, size_t *binaryLength, const char **end,
                           int variant);
  void (*sodium_memzero)(void *memory, size_t length);

  /// Loads the library at the first call. UPD_UNSUPPORTED: it is not installed.
  static runtime::Status load(const Sodium *&result);
};

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_SODIUM_H
