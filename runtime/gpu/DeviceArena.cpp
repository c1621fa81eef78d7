//===- DeviceArena.cpp - Many tables in one piece of a device's memory ------------------------===//

#include "runtime/gpu/DeviceArena.h"

using namespace updraft::gpu;
using updraft::runtime::Status;

// What the widest access of a kernel is aligned to.
static constexpr size_t alignment = 64;

size_t DeviceArena::reserveBytes(size_t count) {
  const size_t offset = bytes;
  bytes += (count + alignment - 1) / alignment * alignment;
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
