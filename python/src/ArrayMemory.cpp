//===- ArrayMemory.cpp - Detects changes of an array's memory ---------------------------------===//

#include "ArrayMemory.h"

#include <utility>

namespace nb = nanobind;
using updraft::python::ArrayMemory;

ArrayMemory::ArrayMemory(Kind kind, nb::object owner) : kind(kind), owner(std::move(owner)) {
  taken = range();
}

ArrayMemory ArrayMemory::ofNumpy(nb::handle array) {
  // A view keeps its address even if the memory is freed. The array that it is a view of is itself
  // a view of another array only if their classes differ.
  const nb::object kind = nb::module_::import_("numpy").attr("ndarray");
  nb::object owner = nb::borrow(array);
  for (nb::object base = owner.attr("base"); nb::isinstance(base, kind); base = owner.attr("base"))
    owner = base;
  return {Kind::Numpy, std::move(owner)};
}

ArrayMemory ArrayMemory::ofTorch(nb::handle tensor) {
  return {Kind::Torch, tensor.attr("untyped_storage")()};
}

ArrayMemory::Range ArrayMemory::range() const {
  switch (kind) {
  case Kind::Fixed:
    break;
  case Kind::Numpy: {
    Py_buffer buffer;
    if (PyObject_GetBuffer(owner.ptr(), &buffer, PyBUF_STRIDES) != 0)
      throw nb::python_error();
    const Range range{buffer.buf, static_cast<size_t>(buffer.len)};
    PyBuffer_Release(&buffer);
    return range;
  }
  case Kind::Torch:
    return {reinterpret_cast<const void *>(nb::cast<uintptr_t>(owner.attr("data_ptr")())),
            nb::cast<size_t>(owner.attr("nbytes")())};
  }
  return {};
}

bool ArrayMemory::isSame() const {
  const Range now = range();
  return now.begin == taken.begin && now.bytes >= taken.bytes;
}
