//===- PortableLibc.cpp - What an older glibc lacks -------------------------------------------===//
// LLVM was built against a glibc that has arc4random, which is of 2.36.

#include <cstdint>
#include <sys/random.h>

extern "C" uint32_t arc4random() {
  uint32_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
  }
  return value;
}
