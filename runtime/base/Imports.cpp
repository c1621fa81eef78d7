//===- Imports.cpp - The functions that compiled code may call --------------------------------===//

#include "runtime/base/Imports.h"

#include <cmath>
#include <cstring>

using namespace updraft;

#if defined(__x86_64__)
// NOLINTBEGIN(bugprone-reserved-identifier): the names of the compiler's own library
extern "C" float __extendhfsf2(_Float16);
extern "C" _Float16 __truncsfhf2(float);
extern "C" _Float16 __truncdfhf2(double);
// NOLINTEND(bugprone-reserved-identifier)
#define UPD_IMPORT_X86(NAME, ...) {#NAME, addressOf<__VA_ARGS__>(::NAME)},
#else
#define UPD_IMPORT_X86(NAME, ...) {#NAME, nullptr},
#endif

/// The address of the overload with type `Function`.
template <typename Function> static void *addressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

std::span<const runtime::Import> runtime::imports() {
  static const Import all[] = {
#define UPD_IMPORT(NAME, ...) {#NAME, addressOf<__VA_ARGS__>(::NAME)},
#include "updraft-c/imports.def"
  };
  return all;
}
