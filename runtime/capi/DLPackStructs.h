//===- DLPackStructs.h - The structs of DLPack --------------------------------------*- C++ -*-===//
// The part of DLPack's ABI, version 1, that updraft-c/dlpack.h needs. The names are those of
// DLPack's own header, which Debian has in a version before 1.0 only.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_RUNTIME_CAPI_DLPACKSTRUCTS_H
#define UPDRAFT_RUNTIME_CAPI_DLPACKSTRUCTS_H

#include <cstddef>
#include <cstdint>

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLDevice {
  int32_t device_type; // as upd_device
  int32_t device_id;
};

enum : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 };
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; // in elements; null: row-major
  uint64_t byte_offset;
};

enum : uint64_t { DLPACK_FLAG_BITMASK_READ_ONLY = 1 };
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};
static_assert(sizeof(void *) != 8 || (offsetof(DLManagedTensorVersioned, dl_tensor) == 32 &&
                                      sizeof(DLManagedTensorVersioned) == 80));

#endif // UPDRAFT_RUNTIME_CAPI_DLPACKSTRUCTS_H
