//===- PortableLibc.cpp - Functions that an older glibc lacks ---------------------------------===//
// LLVM was built against a glibc with arc4random, which was added in 2.36.

#include <cstdint>
#include <sys/random.h>

extern "C" uint32_t arc4random() {
  uint32_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
  }
  return value;
}
