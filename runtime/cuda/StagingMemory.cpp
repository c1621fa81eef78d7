//===- StagingMemory.cpp - Host memory that copies to a GPU start from ------------------------===//

#include "runtime/cuda/StagingMemory.h"

#include <algorithm>
#include <cstring>

using namespace updraft::cuda;

StagingMemory::~StagingMemory() {
  for (const Buffer &buffer : buffers) {
    (void)driver.eventSynchronize(buffer.copied);
    destroy(buffer);
  }
}

void StagingMemory::destroy(const Buffer &buffer) {
  if (buffer.copied)
    (void)driver.eventDestroy(buffer.copied);
  if (buffer.memory)
    (void)driver.hostFree(buffer.memory);
}

/// Takes one from `buffers`, or makes it.
Result StagingMemory::acquire(Buffer &buffer) {
  const bool mayMake = buffers.size() < mostBuffers;
  // The first is the one whose copy began first, so that the others are not through before it
  // unless their stream is another.
  if (!buffers.empty()) {
    buffer = buffers.front();
    const Result result =
        mayMake ? driver.eventQuery(buffer.copied) : driver.eventSynchronize(buffer.copied);
    if (result == success)
      buffers.pop_front();
    if (result != errorNotReady)
      return result;
    buffer = {};
  }
  Result result = driver.hostAlloc(&buffer.memory, bufferBytes, hostMemoryPortable);
  if (result == success)
    result = driver.eventCreate(&buffer.copied, eventDisableTiming);
  if (result != success)
    destroy(buffer);
  return result;
}

Result StagingMemory::copy(DevicePointer to, const void *from, size_t bytes, Queue *stream) {
  const char *source = static_cast<const char *>(from);
  std::lock_guard lock(mutex);
  while (bytes != 0) {
    Buffer buffer;
    if (const Result result = acquire(buffer); result != success)
      return result;
    const size_t part = std::min(bytes, bufferBytes);
    std::memcpy(buffer.memory, source, part);
    Result result = driver.copyToDeviceAsync(to, buffer.memory, part, stream);
    if (result == success)
      result = driver.eventRecord(buffer.copied, stream);
    if (result != success) {
      // Nothing tells when the buffer is free again.
      (void)driver.streamSynchronize(stream);
      destroy(buffer);
      return result;
    }
    buffers.push_back(buffer);
    to += part;
    source += part;
    bytes -= part;
  }
  return success;
}
