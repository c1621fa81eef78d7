//===- DLPack.cpp - updraft-c/dlpack.h --------------------------------------------------------===//

#include "updraft-c/dlpack.h"

#include "runtime/capi/DLPackStructs.h"
#include "runtime/capi/Report.h"

#include <fmt/format.h>
#include <vector>

using namespace updraft;
using capi::nullArgument;
using runtime::Status;

namespace {
struct TypePair {
  upd_dtype ours;
  DLDataType theirs;
};
constexpr TypePair types[] = {
    {UPD_F32, {kDLFloat, 32, 1}},
    {UPD_F64, {kDLFloat, 64, 1}},
    {UPD_BF16, {kDLBfloat, 16, 1}},
    {UPD_F16, {kDLFloat, 16, 1}},
    {UPD_I8, {kDLInt, 8, 1}},
    {UPD_Q8_LINEAR, {kDLUInt, 8, 1}},
    {UPD_Q8_COMPANDED, {kDLUInt, 8, 1}},
};

Status readDType(const DLDataType &type, upd_dtype &result) {
  for (const TypePair &pair : types)
    if (pair.theirs.code == type.code && pair.theirs.bits == type.bits && type.lanes == 1 &&
        type.code != kDLUInt) {
      result = pair.ours;
      return {};
    }
  return {
      UPD_UNSUPPORTED,
      fmt::format("the DLPack tensor has elements of type code {} with {} bits and {} lanes; the "
                  "element types are f32, f64, bf16, f16 and i8",
                  type.code, type.bits, type.lanes)};
}

/// A state that was exported, with what it needs.
struct Export {
  std::shared_ptr<runtime::Optimizer> optimizer;
  std::vector<int64_t> dimensions; ///< shape, then strides
  DLManagedTensorVersioned managed;
};

DLDataType typeOf(upd_dtype dtype) {
  for (const TypePair &pair : types)
    if (pair.ours == dtype)
      return pair.theirs;
  return {};
}

} // namespace

upd_status upd_tensor_from_dlpack(const DLManagedTensorVersioned *managed, upd_tensor *tensor) {
  return capi::report([&]() -> Status {
    if (!managed)
      return nullArgument("managed");
    if (!tensor)
      return nullArgument("tensor, where the result goes,");
    // Of another version, the other members may be elsewhere.
    if (managed->version.major != 1)
      return {
          UPD_UNSUPPORTED,
          fmt::format("the tensor is of DLPack {}.{}; this library takes those of 1.x, which an "
                      "exporter is asked for with max_version",
                      managed->version.major, managed->version.minor)};
    const DLTensor &from = managed->dl_tensor;
    upd_tensor view{};
    if (Status status = readDType(from.dtype, view.dtype); !status.ok())
      return status;
    view.data = from.data ? static_cast<char *>(from.data) + from.byte_offset : nullptr;
    view.shape = from.shape;
    view.strides = from.strides;
    view.rank = from.ndim;
    view.device = static_cast<upd_device>(from.device.device_type);
    view.device_index = from.device.device_id;
    view.read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    *tensor = view;
    return {};
  });
}

upd_status upd_optimizer_state_to_dlpack(upd_optimizer *optimizer, size_t param, const char *state,
                                         DLManagedTensorVersioned **managed) {
  if (managed)
    *managed = nullptr;
  return capi::query(
      optimizer, "managed, where the result goes,", managed, [&](runtime::Optimizer &o) {
        upd_tensor view{};
        if (Status status = o.state(param, state, view); !status.ok())
          return status;
        auto made = std::make_unique<Export>();
        made->optimizer = optimizer->optimizer;
        made->dimensions.assign(view.shape, view.shape + view.rank);
        made->dimensions.insert(made->dimensions.end(), view.strides, view.strides + view.rank);
        made->managed.version = {1, 0};
        made->managed.manager_ctx = made.get();
        made->managed.deleter = [](DLManagedTensorVersioned *self) {
          delete static_cast<Export *>(self->manager_ctx);
        };
        made->managed.flags = 0;
        made->managed.dl_tensor = {view.data,
                                   {view.device, view.device_index},
                                   view.rank,
                                   typeOf(view.dtype),
                                   made->dimensions.data(),
                                   made->dimensions.data() + view.rank,
                                   0};
        *managed = &made.release()->managed;
        return Status();
      });
}
