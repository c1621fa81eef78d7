//===- LinkNames.cpp - Names of a rule in a C program -----------------------------------------===//

#include "updraft/Driver/LinkNames.h"

#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace updraft;

static bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

static std::string asName(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return !isNameCharacter(c); }, '_');
  return text;
}

std::string updraft::linkSymbol(llvm::StringRef name, llvm::StringRef target) {
  return asName((name + "_" + target).str());
}

std::string updraft::linkNameOf(llvm::StringRef file) {
  return asName(llvm::sys::path::stem(file).str());
}

bool updraft::isReservedInC(llvm::StringRef word) {
  static const llvm::StringSet<> words = [] {
    llvm::StringSet<> result;
    // Keywords of C23 and C++23, then macros: of GNU compilers, and of the C library.
    constexpr llvm::StringRef text =
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t "
        "char16_t char32_t class co_await co_return co_yield compl concept const const_cast "
        "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
        "else enum explicit export extern false float for friend goto if inline int long mutable "
        "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires restrict return short signed sizeof static "
        "static_assert static_cast struct switch template this thread_local throw true try "
        "typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile "
        "wchar_t while xor xor_eq "
        "i386 linux unix "
        "EOF HUGE_VAL I INFINITY NAN NULL complex errno imaginary noreturn stderr stdin stdout";
    llvm::SmallVector<llvm::StringRef> parts;
    text.split(parts, ' ');
    for (llvm::StringRef part : parts)
      result.insert(part);
    return result;
  }();
  return words.contains(word);
}

static llvm::Error checkTarget(llvm::StringRef target) {
  CompileRequest named;
  if (llvm::Error error = named.setTarget(target))
    return error;
  if (named.gpu)
    return makeError(UPD_INVALID_ARGUMENT, "a rule for `" + target.str() +
                                               "` can't be linked into a program; use a package, "
                                               "which `updraftc pack` writes");
  if (target == "host")
    return makeError(UPD_INVALID_ARGUMENT, "a program can't contain code for `host`, which isn't "
                                           "the same on every machine; name a CPU, such as "
                                           "`x86-64-v3`");
  return llvm::Error::success();
}

llvm::Error updraft::checkLink(const CompileRequest &request) {
  const llvm::StringRef name = request.link.name;
  if (name.empty() || !llvm::isAlpha(name.front()) || !llvm::all_of(name, isNameCharacter))
    return makeError(UPD_INVALID_ARGUMENT,
                     "`" + name.str() +
                         "` can't start the names of C functions; with `--name`, choose a name of "
                         "letters, digits and `_` that starts with a letter");
  for (llvm::StringRef target : request.link.targets) {
    if (llvm::Error error = checkTarget(target))
      return error;
    if (llvm::count(request.link.targets, target) != 1)
      return makeError(UPD_INVALID_ARGUMENT, "the target `" + target.str() + "` is given twice");
  }
  return llvm::Error::success();
}
