//===- FreedMemory.cpp - Memory of messages ---------------------------------------------------===//

#include "runtime/grpc/FreedMemory.h"

#include <cstdlib> // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

void updraft::worker::keepFreedMemory() {
#ifdef __GLIBC__
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20); // longer than any message
#endif
}
