//===- Signature.cpp - Ed25519 signatures of packages -----------------------------------------===//

#include "runtime/package/Signature.h"

#include "runtime/package/Package.h"
#include "runtime/package/Sodium.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::package;
using runtime::Status;

static constexpr std::string_view messageStart = "updraft package signature";

/// Returns the signed message: the digest, after a text that no other use of the key signs.
static std::string messageOf(const Digest &digest) {
  std::string message(messageStart);
  message.append(reinterpret_cast<const char *>(digest.data()), digest.size());
  return message;
}

static const unsigned char *unsignedOf(std::string_view text) {
  return reinterpret_cast<const unsigned char *>(text.data());
}

/// Reads the key of 32 bytes from a PEM file, whose content starts with the bytes of `start`: the
/// ASN.1 header that RFC 8410 gives every key of this kind.
static Status readKey(std::string_view text, std::string_view label, std::string_view start,
                      uint8_t *key) {
  const Sodium *sodium = nullptr;
  if (Status status = Sodium::load(sodium); !status.ok())
    return status;
  constexpr int original = 1; // sodium_base64_VARIANT_ORIGINAL
  const std::string first = fmt::format("-----BEGIN {}-----", label);
  const std::string last = fmt::format("-----END {}-----", label);
  const size_t begin = text.find(first), end = text.find(last);
  uint8_t bytes[64];
  size_t length = 0;
  const size_t expected = start.size() + 32;
  if (begin == std::string_view::npos || end == std::string_view::npos ||
      end < begin + first.size())
    return runtime::invalidArgument(fmt::format(
        "expected a PEM file with `{}`; openssl genpkey -algorithm ed25519 makes one", first));
  const std::string_view encoded = text.substr(begin + first.size(), end - begin - first.size());
  if (sodium->sodium_base642bin(bytes, sizeof(bytes), encoded.data(), encoded.size(), "\r\n \t",
                                &length, nullptr, original) != 0 ||
      length != expected || std::memcmp(bytes, start.data(), start.size()) != 0)
    return runtime::invalidArgument(fmt::format(
        "`{}` is not an Ed25519 key; openssl genpkey -algorithm ed25519 makes one", first));
  std::memcpy(key, bytes + start.size(), 32);
  sodium->sodium_memzero(bytes, sizeof(bytes));
  return {};
}

Status package::readPublicKey(std::string_view text, PublicKey &key) {
  static constexpr std::string_view start("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
  return readKey(text, "PUBLIC KEY", start, key.data());
}

Status package::sign(const Digest &digest, std::string_view privateKey,
                     upd_package_signature &signature) {
  static constexpr std::string_view start(
      "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", 16);
  const Sodium *sodium = nullptr;
  if (Status status = Sodium::load(sodium); !status.ok())
    return status;
  uint8_t seed[32], secret[64];
  if (Status status = readKey(privateKey, "PRIVATE KEY", start, seed); !status.ok())
    return status;
  sodium->crypto_sign_ed25519_seed_keypair(signature.public_key, secret, seed);
  const std::string message = messageOf(digest);
  sodium->crypto_sign_ed25519_detached(signature.signature, nullptr, unsignedOf(message),
                                       message.size(), secret);
  sodium->sodium_memzero(seed, sizeof(seed));
  sodium->sodium_memzero(secret, sizeof(secret));
  return {};
}

static std::string hexOf(const uint8_t *key) {
  std::string text;
  for (size_t i = 0; i < PublicKey().size(); ++i)
    text += fmt::format("{:02x}", key[i]);
  return text;
}

Status package::checkSigned(const Package &package, const PublicKey &key) {
  if (!package.signature())
    return runtime::invalidArgument(
        fmt::format("package `{}` is not signed, and a signature is required", package.name()));
  const upd_package_signature &signature = *package.signature();
  const uint8_t *found = signature.public_key;
  if (std::equal(key.begin(), key.end(), found)) {
    const Sodium *sodium = nullptr;
    if (Status status = Sodium::load(sodium); !status.ok())
      return status;
    const std::string message = messageOf(package.signedDigest());
    if (sodium->crypto_sign_ed25519_verify_detached(signature.signature, unsignedOf(message),
                                                    message.size(), key.data()) == 0)
      return {};
    return runtime::invalidArgument(
        fmt::format("the signature of package `{}` is not valid: the package was changed after it "
                    "was signed, or its signature is forged",
                    package.name()));
  }
  return runtime::invalidArgument(fmt::format("package `{}` is signed by the key {}, expected {}",
                                              package.name(), hexOf(found), hexOf(key.data())));
}
