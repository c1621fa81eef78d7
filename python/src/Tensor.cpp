//===- Tensor.cpp - Python arrays as tensors of the C API -------------------------------------===//

#include "Tensor.h"

#include "Status.h"

#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace updraft::python;

namespace {
using ReadOnlyArray = nb::ndarray<nb::ro>;
using WritableArray = nb::ndarray<>;

std::optional<upd_dtype> dtypeOf(nb::dlpack::dtype dtype) {
  if (dtype.lanes != 1)
    return std::nullopt;
  if (dtype.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat) && dtype.bits == 16)
    return UPD_BF16;
  if (dtype.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Int) && dtype.bits == 8)
    return UPD_I8;
  if (dtype.code != static_cast<uint8_t>(nb::dlpack::dtype_code::Float))
    return std::nullopt;
  switch (dtype.bits) {
  case 16:
    return UPD_F16;
  case 32:
    return UPD_F32;
  case 64:
    return UPD_F64;
  default:
    return std::nullopt;
  }
}

std::string asText(nb::handle object) { return nb::str(object).c_str(); }

std::string dtypeText(nb::handle array) {
  nb::object dtype = nb::getattr(array, "dtype", nb::none());
  return asText(dtype);
}

/// ml_dtypes' bfloat16 can be exported neither by DLPack nor as a buffer; its bits can.
bool isNumpyBFloat16(nb::handle object) {
  return nb::hasattr(object, "__array_interface__") && dtypeText(object) == "bfloat16";
}
} // namespace

TensorView::TensorView(nb::handle object, const char *what) {
  nb::object source = nb::borrow(object);
  // torch refuses to export a tensor that requires a gradient; the detached one is the same memory.
  if (nb::hasattr(source, "requires_grad") && nb::hasattr(source, "detach")) {
    source = source.attr("detach")();
    // It exports a negated view, such as `z.conj().imag`, as if it were what lies in memory.
    if (nb::hasattr(source, "is_neg") && nb::cast<bool>(source.attr("is_neg")()))
      raise(UPD_UNSUPPORTED,
            (std::string(what) + " is a negated view of another tensor; give a tensor of its own, "
                                 "such as `resolve_neg()` returns")
                .c_str());
  }
  bool isBFloat16 = isNumpyBFloat16(source);
  if (isBFloat16)
    source = source.attr("view")("uint16");

  WritableArray writable;
  bool readOnly = !nb::try_cast(source, writable);
  if (readOnly) {
    PyErr_Clear();
    if (!nb::try_cast(source, array)) {
      PyErr_Clear();
      const std::string why = nb::hasattr(object, "__dlpack__")
                                  ? " of dtype `" + dtypeText(object) +
                                        "`, which is not in CPU memory, not dense, or of a dtype "
                                        "that DLPack does not have"
                                  : ", which has neither __dlpack__ nor a buffer";
      throw nb::type_error((std::string(what) + " is " + asText(object.type()) + why +
                            "; pass a numpy array or a dense tensor with `__dlpack__`")
                               .c_str());
    }
  } else {
    array = ReadOnlyArray(writable);
  }

  std::optional<upd_dtype> dtype =
      isBFloat16 ? std::optional<upd_dtype>(UPD_BF16) : dtypeOf(array.dtype());
  if (!dtype)
    raise(UPD_UNSUPPORTED, (std::string(what) + " has dtype `" + dtypeText(source) +
                            "`; the storage types are float32, float64, bfloat16 and float16")
                               .c_str());
  view.data = const_cast<void *>(array.data());
  view.shape = array.shape_ptr();
  view.strides = array.stride_ptr();
  view.rank = static_cast<int32_t>(array.ndim());
  view.dtype = *dtype;
  view.device = static_cast<upd_device>(array.device_type());
  view.device_index = array.device_id();
  view.read_only = readOnly;
}

nb::object updraft::python::toArray(const upd_tensor &tensor, nb::handle owner) {
  size_t rank = static_cast<size_t>(tensor.rank);
  std::vector<size_t> shape(tensor.shape, tensor.shape + rank);
  auto make = [&](auto framework, nb::dlpack::dtype dtype) {
    nb::ndarray<decltype(framework)> array(tensor.data, rank, shape.data(), owner, tensor.strides,
                                           dtype, nb::device::cpu::value);
    return nb::cast(array, nb::rv_policy::reference);
  };
  switch (tensor.dtype) {
  case UPD_F32:
    return make(nb::numpy(), nb::dtype<float>());
  case UPD_F64:
    return make(nb::numpy(), nb::dtype<double>());
  case UPD_F16:
    return make(nb::numpy(), {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1});
  case UPD_I8:
    return make(nb::numpy(), nb::dtype<int8_t>());
  case UPD_Q8_LINEAR:
  case UPD_Q8_COMPANDED:
    return make(nb::numpy(), nb::dtype<uint8_t>());
  case UPD_BF16:
  case UPD_BF16_STOCHASTIC:
  case UPD_BF16_CORRECTED:
    break;
  }
  nb::object mlDtypes = nb::module_::import_("updraft.dtypes").attr("numpy_bfloat16")();
  if (mlDtypes.is_none())
    return make(nb::array_api(), {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1});
  return make(nb::numpy(), nb::dtype<uint16_t>()).attr("view")(mlDtypes);
}
