//===- ShownText.cpp - Renders input for messages ---------------------------------------------===//

#include "updraft/Support/ShownText.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ConvertUTF.h"

#include <algorithm>

using namespace updraft;
using llvm::StringRef;

size_t updraft::utf8Length(StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  return llvm::isLegalUTF8Sequence(begin, begin + text.size()) ? llvm::getNumBytesForUTF8(*begin)
                                                               : 0;
}

bool updraft::isControl(StringRef character) {
  auto first = static_cast<unsigned char>(character.front());
  // U+0080 to U+009F are the bytes C2 80 to C2 9F.
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

std::string updraft::printable(StringRef text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    size_t length = utf8Length(text);
    StringRef character = text.take_front(std::max<size_t>(length, 1));
    text = text.drop_front(character.size());
    if (length == 0 || (isControl(character) && character != "\t"))
      result += '?';
    else
      result += character;
  }
  return result;
}

std::string updraft::shown(StringRef text) {
  constexpr size_t head = maxShownBytes * 3 / 5, tail = maxShownBytes - head;
  if (text.size() <= maxShownBytes)
    return printable(text);
  auto continues = [&](size_t at) { return (text[at] & 0xC0) == 0x80; };
  size_t end = head, begin = text.size() - tail;
  while (end > 0 && continues(end))
    --end;
  while (begin < text.size() && continues(begin))
    ++begin;
  return printable(text.take_front(end)) + "…" + printable(text.drop_front(begin));
}

std::string updraft::quotedList(llvm::ArrayRef<StringRef> names, StringRef conjunction) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      list += i + 1 < names.size() ? ", " : (" " + conjunction + " ").str();
    list += ("`" + names[i] + "`").str();
  }
  return list;
}
