//===- Utf8.h - Validation of UTF-8 -------------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_UTF8_H
#define UPDRAFT_RUNTIME_BASE_UTF8_H

#include <string_view>

namespace updraft::runtime {

/// As defined by RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF.
bool isUtf8(std::string_view bytes);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_UTF8_H
