//===- Digest.cpp - SHA-256 of bytes ----------------------------------------------------------===//

#include "runtime/package/Digest.h"

#include <cstddef>
#include <initializer_list>
#include <sha256.h>

using namespace updraft;

static package::Digest digestOf(std::initializer_list<std::string_view> parts) {
  SHA256_CTX state;
  SHA256_Init(&state);
  for (std::string_view part : parts)
    SHA256_Update(&state, reinterpret_cast<const uint8_t *>(part.data()), part.size());
  package::Digest digest;
  static_assert(digest.size() == SHA256_DIGEST_LENGTH);
  SHA256_Final(digest.data(), &state);
  return digest;
}

package::Digest package::digestOf(std::string_view bytes) { return ::digestOf({bytes}); }

package::Digest package::digestOfTable(std::string_view table) {
  constexpr size_t begin = offsetof(upd_package_header, digest);
  constexpr char zeros[UPD_DIGEST_BYTES] = {};
  return ::digestOf({table.substr(0, begin), std::string_view(zeros, sizeof(zeros)),
                     table.substr(begin + sizeof(zeros))});
}

package::Digest package::signedDigestOf(std::string_view table) {
  return ::digestOf(
      {table.substr(0, offsetof(upd_package_header, size)),
       table.substr(sizeof(upd_package_header),
                    table.size() - sizeof(upd_package_header) - sizeof(upd_package_section))});
}
