//===- Sodium.cpp - libsodium, found at run time ----------------------------------------------===//

#include "runtime/package/Sodium.h"

#include <dlfcn.h>
#include <optional>

using namespace updraft;
using package::Sodium;

template <typename Function> static bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

static std::optional<Sodium> open() {
  // These functions are the same in all versions since 1.0.14.
  void *library = nullptr;
  for (const char *name : {"libsodium.so.26", "libsodium.so.23", "libsodium.so"})
    if (!library)
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  Sodium found;
  if (library && find(library, "sodium_init", found.sodium_init) &&
      find(library, "crypto_sign_ed25519_verify_detached",
           found.crypto_sign_ed25519_verify_detached) &&
      find(library, "crypto_sign_ed25519_seed_keypair", found.crypto_sign_ed25519_seed_keypair) &&
      find(library, "crypto_sign_ed25519_detached", found.crypto_sign_ed25519_detached) &&
      find(library, "sodium_base642bin", found.sodium_base642bin) &&
      find(library, "sodium_memzero", found.sodium_memzero) && found.sodium_init() >= 0)
    return found;
  return std::nullopt;
}

runtime::Status Sodium::load(const Sodium *&result) {
  static const std::optional<Sodium> library = open();
  if (!library)
    return {UPD_UNSUPPORTED,
            "signatures need libsodium, which can't be loaded; install it (Debian: "
            "libsodium23)"};
  result = &*library;
  return {};
}
