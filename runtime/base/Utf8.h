//===- Utf8.h - Whether bytes are UTF-8 ---------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_UTF8_H
#define UPDRAFT_RUNTIME_BASE_UTF8_H

#include <string_view>

namespace updraft::runtime {

/// As RFC 3629 defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
bool isUtf8(std::string_view bytes);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_UTF8_H
