//===- ShownText.h - Renders input for messages -------------------------------------*- C++ -*-===//
// A message may repeat its input, which can contain any bytes and have any length.

#ifndef UPDRAFT_SUPPORT_SHOWNTEXT_H
#define UPDRAFT_SUPPORT_SHOWNTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace updraft {

/// The length of the first character in bytes if it is valid UTF-8, else 0. Surrogates and overlong
/// forms are invalid. `text` must not be empty.
size_t utf8Length(llvm::StringRef text);

/// Whether `character`, one UTF-8 character, is a control character: U+0000 to U+001F or U+007F to
/// U+009F. Terminals act on them.
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
