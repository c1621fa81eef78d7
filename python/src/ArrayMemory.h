//===- ArrayMemory.h - Detects changes of an array's memory -------------------------*- C++ -*-===//
// numpy and torch can give an array other memory, or less of it, while views of the old memory
// exist: `array.resize(…, refcheck=False)`, `tensor.untyped_storage().resize_(…)`.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_ARRAYMEMORY_H
#define UPDRAFT_PYTHON_ARRAYMEMORY_H

#include <cstddef>
#include <nanobind/nanobind.h>

namespace updraft::python {

/// All functions and the destructor need the GIL.
class ArrayMemory {
public:
  /// Memory that its exporter never changes.
  ArrayMemory() = default;
  static ArrayMemory ofNumpy(nanobind::handle array);
  static ArrayMemory ofTorch(nanobind::handle tensor);

  /// Whether the memory has neither moved nor shrunk since.
  bool isSame() const;

  const void *begin() const { return taken.begin; }
  size_t bytes() const { return taken.bytes; }

  /// The owner of the memory: the numpy array that views refer to, or torch's storage. May be null.
  nanobind::handle holder() const { return owner; }

private:
  struct Range {
    const void *begin = nullptr;
    size_t bytes = 0;
  };
  enum class Kind { Fixed, Numpy, Torch };

  ArrayMemory(Kind kind, nanobind::object owner);
  Range range() const;

  Kind kind = Kind::Fixed;
  nanobind::object owner;
  Range taken;
};

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_ARRAYMEMORY_H
