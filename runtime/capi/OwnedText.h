//===- OwnedText.h - Text that the caller owns --------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_OWNEDTEXT_H
#define UPDRAFT_RUNTIME_CAPI_OWNEDTEXT_H

#include "runtime/capi/LastError.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace updraft::capi {

/// Copies `text` to memory for upd_string_release. Rejects a text that a C string cannot hold,
/// instead of truncating it.
inline upd_status giveText(const std::string &text, char **result) {
  if (const size_t null = text.find('\0'); null != std::string::npos)
    return fail(UPD_UNSUPPORTED, "the text has a NUL at byte " + std::to_string(null) +
                                     ", where a C string would end");
  *result = static_cast<char *>(std::malloc(text.size() + 1));
  if (!*result)
    return fail(UPD_OUT_OF_MEMORY, "out of memory");
  std::memcpy(*result, text.c_str(), text.size() + 1);
  return UPD_OK;
}

} // namespace updraft::capi

#endif // UPDRAFT_RUNTIME_CAPI_OWNEDTEXT_H
