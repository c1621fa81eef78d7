//===- Tensor.cpp - Python arrays as tensors of the C API -------------------------------------===//

#include "Tensor.h"

#include "Status.h"

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

/// An object of a package, or null if the package hasn't been imported: then no objects of its
/// classes exist.
nb::object importedFrom(const char *package, const char *name) {
  const nb::object module = nb::steal(PyImport_GetModule(nb::str(package).ptr()));
  PyErr_Clear();
  return module.is_valid() ? nb::getattr(module, name, nb::object()) : nb::object();
}

/// Whether an object really has the class's memory layout, which `__class__` doesn't guarantee.
bool isInstance(nb::handle object, nb::handle type) {
  return type.is_valid() && PyType_Check(type.ptr()) &&
         PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject *>(type.ptr()));
}

/// ml_dtypes' bfloat16 can't be exported by DLPack or as a buffer, but its bits can. Its kind is
/// `V`.
bool isBFloat16OfNumpy(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return asText(dtype.attr("kind")) == "V" && asText(dtype) == "bfloat16";
}

bool isTrue(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0)
    throw nb::python_error();
  return truth != 0;
}

/// Exports a detached torch tensor by DLPack. Avoids `__dlpack__`, which subclasses may override,
/// and which takes longer than the rest of a view.
nb::object exportOfTorch(nb::handle tensor) {
  if (tensor.type().is(importedFrom("torch", "Tensor")))
    if (const nb::object exporter = importedFrom("torch.utils.dlpack", "to_dlpack");
        exporter.is_valid()) {
      try {
        return exporter(tensor);
      } catch (nb::python_error &error) {
        if (!error.matches(PyExc_Exception))
          throw;
      }
    }
  return nb::borrow(tensor);
}

/// The object's export by DLPack or as a buffer, or the object itself. nanobind would keep a
/// reference to the object, and assumes that a buffer has strides, which numpy's scalars lack.
nb::object exportOf(nb::handle object) {
  if (nb::hasattr(object, "__dlpack__")) {
    const nb::object method = object.attr("__dlpack__");
    for (const bool isVersioned : {true, false}) {
      try {
        return isVersioned ? method(nb::arg("max_version") = nb::make_tuple(1, 0)) : method();
      } catch (nb::python_error &error) {
        // An exporter may not support versions, or have nothing to export.
        if (!error.matches(PyExc_Exception))
          throw;
      }
    }
  }
  nb::object view = nb::borrow(object);
  if (PyObject_CheckBuffer(object.ptr()))
    view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  PyErr_Clear();
  return view.is_valid() ? view : nb::borrow(object);
}

[[noreturn]] void refuse(nb::handle object, const std::string &what) {
  const std::string why = nb::hasattr(object, "__dlpack__")
                              ? " of dtype `" + dtypeText(object) +
                                    "`, which is not in CPU memory, not dense, or of a dtype "
                                    "that DLPack does not have"
                              : ", which has neither __dlpack__ nor a buffer";
  throw nb::type_error((what + " is " + asText(object.type()) + why +
                        "; pass a numpy array or a dense tensor with `__dlpack__`")
                           .c_str());
}

/// The distance from `begin` to the end of the tensor's last byte.
size_t reachOf(const upd_tensor &tensor, size_t elementBytes, const void *begin) {
  int64_t last = 0;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] == 0)
      return 0;
    last += (tensor.shape[i] - 1) * tensor.strides[i];
  }
  return reinterpret_cast<uintptr_t>(tensor.data) - reinterpret_cast<uintptr_t>(begin) +
         (static_cast<size_t>(last) + 1) * elementBytes;
}
} // namespace

TensorView::TensorView(nb::handle object, const char *what) {
  const nb::object numpyArray = importedFrom("numpy", "ndarray");
  const bool isNumpy = isInstance(object, numpyArray);
  const bool isTorch = !isNumpy && isInstance(object, importedFrom("torch", "Tensor"));
  bool isBFloat16 = false;
  nb::object source;
  if (isNumpy) {
    if (!object.type().is(numpyArray))
      nb::module_::import_("updraft.arguments").attr("require_unmasked")(object, what);
    source = array = nb::borrow(object);
    isBFloat16 = isBFloat16OfNumpy(object);
    if (isBFloat16)
      source = object.attr("view")("uint16");
  } else if (isTorch) {
    // torch doesn't export a tensor that requires a gradient. The detached tensor has the same
    // memory.
    array = object.attr("detach")();
    // It would export a negated view, such as `z.conj().imag`, with the values in memory.
    if (isTrue(array.attr("is_neg")()))
      raise(UPD_UNSUPPORTED,
            (std::string(what) + " is a negated view of another tensor; give a tensor of its own, "
                                 "such as `resolve_neg()` returns")
                .c_str());
    source = exportOfTorch(array);
  } else {
    source = exportOf(object);
  }

  WritableArray writable;
  const bool readOnly = !nb::try_cast(source, writable);
  if (!readOnly)
    exported = ReadOnlyArray(writable);
  PyErr_Clear();
  if (readOnly && !nb::try_cast(source, exported)) {
    PyErr_Clear();
    refuse(object, what);
  }

  std::optional<upd_dtype> dtype =
      isBFloat16 ? std::optional<upd_dtype>(UPD_BF16) : dtypeOf(exported.dtype());
  if (!dtype)
    raise(UPD_UNSUPPORTED, (std::string(what) + " has dtype `" + dtypeText(object) +
                            "`; the storage types are float32, float64, bfloat16 and float16")
                               .c_str());
  view.data = const_cast<void *>(exported.data());
  view.shape = exported.shape_ptr();
  view.strides = exported.stride_ptr();
  view.rank = static_cast<int32_t>(exported.ndim());
  view.dtype = *dtype;
  view.device = static_cast<upd_device>(exported.device_type());
  view.device_index = exported.device_id();
  view.read_only = readOnly;

  if (isNumpy) {
    memory = ArrayMemory::ofNumpy(array);
    sizes.assign(view.shape, view.shape + view.rank);
    sizes.insert(sizes.end(), view.strides, view.strides + view.rank);
    view.shape = sizes.data();
    view.strides = sizes.data() + view.rank;
    exported = ReadOnlyArray();
  } else if (isTorch && view.device == UPD_CPU) {
    memory = ArrayMemory::ofTorch(array);
    const size_t reach = reachOf(view, exported.dtype().bits / 8, memory.begin());
    if (reach > memory.bytes())
      raise(UPD_INVALID_ARGUMENT,
            (std::string(what) + " reaches to byte " + std::to_string(reach) + " of a storage of " +
             std::to_string(memory.bytes()) + " bytes; give a tensor that has its memory")
                .c_str());
  }
}

nb::object TensorView::owner() const {
  if (array.is_valid())
    return array;
  return nb::capsule(new ReadOnlyArray(exported),
                     [](void *held) noexcept { delete static_cast<ReadOnlyArray *>(held); });
}

int TensorView::traverse(visitproc visit, void *arg) const {
  Py_VISIT(array.ptr());
  Py_VISIT(memory.holder().ptr());
  return 0;
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
    break;
  }
  nb::object mlDtypes = nb::module_::import_("updraft.dtypes").attr("numpy_bfloat16")();
  if (mlDtypes.is_none())
    return make(nb::array_api(), {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1});
  return make(nb::numpy(), nb::dtype<uint16_t>()).attr("view")(mlDtypes);
}
