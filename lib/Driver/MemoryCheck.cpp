//===- MemoryCheck.cpp - Checks for enough memory to compile --------------------------------===//

#include "MemoryCheck.h"

#include "updraft/Driver/StatusError.h"

#include <sys/mman.h>

bool updraft::canAllocate(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  munmap(memory, bytes);
  return true;
}

llvm::Error updraft::requireMemory(size_t bytes) {
  if (canAllocate(bytes))
    return llvm::Error::success();
  return makeError(UPD_OUT_OF_MEMORY, "out of memory: compiling the rule may take " +
                                          std::to_string(bytes >> 20) +
                                          " MiB, which the process cannot have");
}
