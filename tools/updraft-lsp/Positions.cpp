//===- Positions.cpp - Converts byte offsets to editor positions ------------------------------===//

#include "tools/updraft-lsp/Positions.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

// The number of UTF-16 units for a byte of UTF-8. The first byte counts for the whole character.
static unsigned unitsOf(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte >= 0xF0 ? 2 : (byte & 0xC0) == 0x80 ? 0 : 1;
}

llvm::lsp::Position updraft::positionOf(const SourceFile &file, uint32_t offset) {
  StringRef text = file.text();
  offset = std::min<size_t>(offset, text.size());
  // A byte order mark counts as a character.
  size_t end = text.rfind('\n', offset), begin = end == StringRef::npos ? 0 : end + 1;
  int column = 0;
  for (char c : text.slice(begin, offset))
    column += unitsOf(c);
  return llvm::lsp::Position(file.position(offset).line - 1, column);
}

llvm::lsp::Range updraft::rangeOf(SourceRange range) {
  return {positionOf(*range.file, range.begin), positionOf(*range.file, range.end)};
}

uint32_t updraft::offsetOf(const SourceFile &file, const llvm::lsp::Position &position) {
  StringRef text = file.text();
  size_t begin = 0;
  for (int line = 0; line < position.line; ++line) {
    size_t end = text.find('\n', begin);
    if (end == StringRef::npos)
      return text.size();
    begin = end + 1;
  }
  size_t at = begin, end = std::min(text.find('\n', begin), text.size());
  for (int units = 0; at < end; ++at) {
    units += unitsOf(text[at]);
    if (units > position.character)
      break;
  }
  return at;
}
