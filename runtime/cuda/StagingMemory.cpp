//===- StagingMemory.cpp - Host memory for copies to a GPU ------------------------------------===//

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

void StagingMemory::destroy(const Buffer &buffer) const {
  if (buffer.copied)
    (void)driver.eventDestroy(buffer.copied);
  if (buffer.memory)
    (void)driver.hostFree(buffer.memory);
}

Result StagingMemory::make(Buffer &buffer) const {
  buffer = {};
  Result result = driver.hostAlloc(&buffer.memory, bufferBytes, hostMemoryPortable);
  if (result == success)
    result = driver.eventCreate(&buffer.copied, eventDisableTiming);
  if (result != success)
    destroy(buffer);
  return result;
}

/// Takes a free buffer from `buffers`, or creates one.
Result StagingMemory::acquire(Buffer &buffer) {
  const bool isFull = buffers.size() == mostBuffers;
  // After a buffer in use, others are free only if their streams differ.
  const size_t asked = isFull ? buffers.size() : std::min<size_t>(buffers.size(), 1);
  size_t found = 0;
  Result result = errorNotReady;
  for (; found < asked; ++found)
    if (result = driver.eventQuery(buffers[found].copied); result != errorNotReady)
      break;
  if (result == errorNotReady && !isFull)
    return make(buffer);
  if (result == errorNotReady) {
    found = 0;
    result = driver.eventSynchronize(buffers[0].copied);
  }
  if (result != success)
    return result;
  buffer = buffers[found];
  buffers.erase(buffers.begin() + static_cast<std::ptrdiff_t>(found));
  return success;
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
      // Without the event, only the end of the stream tells when the buffer is free.
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
