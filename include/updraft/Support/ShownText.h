//===- ShownText.h - Input as a message shows it ------------------------------------*- C++ -*-===//
// A message may repeat its input, which can have any bytes and any length.

#ifndef UPDRAFT_SUPPORT_SHOWNTEXT_H
#define UPDRAFT_SUPPORT_SHOWNTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace updraft {

/// The bytes that the first character takes if they are UTF-8, else 0. Surrogates and overlong
/// forms are not UTF-8. `text` is not empty.
size_t utf8Length(llvm::StringRef text);

/// Whether `character`, the UTF-8 of one character, is a control character: U+0000 to U+001F and
/// U+007F to U+009F. Terminals act on them.
bool isControl(llvm::StringRef character);

/// Returns the text with `?` in place of each control character, except tabs, and of each byte that
/// is not UTF-8.
std::string printable(llvm::StringRef text);

/// As `printable`, but replaces the middle of a text of more than `maxShownBytes` by `…`.
std::string shown(llvm::StringRef text);
constexpr size_t maxShownBytes = 200;

/// Returns "`a`, `b` or `c`" for the conjunction "or". Does not make the names printable.
std::string quotedList(llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef conjunction);

} // namespace updraft

#endif // UPDRAFT_SUPPORT_SHOWNTEXT_H
