//===- DeviceArena.cpp - Several tables in one device allocation ------------------------------===//

#include "runtime/gpu/DeviceArena.h"

#include "runtime/base/Alignment.h"

#include <algorithm>

using namespace updraft::gpu;
using updraft::runtime::Status;

size_t DeviceArena::reserveBytes(size_t count) {
  const size_t offset = next;
  next += updraft::runtime::alignedSize(count); // as the widest access in a kernel needs
  bytes = std::max(bytes, next);
  return offset;
}

Status DeviceArena::allocate() {
  if (use == Use::Filled)
    copy.assign(bytes, 0);
  if (bytes <= capacity)
    return {};
  device->release(memory);
  memory = nullptr;
  capacity = 0;
  if (Status status = device->allocate(bytes, &memory); !status.ok())
    return status;
  capacity = bytes;
  return {};
}

Status DeviceArena::upload(Stream stream) {
  return device->write(memory, copy.data(), copy.size(), stream);
}
