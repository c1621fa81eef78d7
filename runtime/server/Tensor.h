//===- Tensor.h - Tensors that a server owns ----------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_TENSOR_H
#define UPDRAFT_RUNTIME_SERVER_TENSOR_H

#include "runtime/server/Budget.h"
#include "updraft-c/types.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::server {

using Shape = std::vector<int64_t>;

/// "f32 [3, 4]".
std::string textOf(upd_dtype dtype, const Shape &shape);

/// The number of elements or bytes of a tensor. Throws InvalidArgument for a negative dimension, or
/// if the number doesn't fit into 63 bits; `what` names the tensor in the message.
int64_t elementsOf(const Shape &shape, const std::string &what);
size_t bytesOf(upd_dtype dtype, const Shape &shape, const std::string &what);

/// A tensor in row-major order without gaps. Its memory counts against a budget.
class Tensor {
public:
  Tensor() = default;
  /// With any values. Throws ResourceExhausted if the budget or the machine has too little memory.
  Tensor(upd_dtype dtype, Shape shape, Budget &budget, const std::string &what);
  Tensor(Tensor &&) noexcept = default;
  Tensor &operator=(Tensor &&) noexcept = default;

  upd_dtype dtype() const { return type; }
  const Shape &shape() const { return dimensions; }
  int64_t elements() const { return count; }
  char *data() const { return memory.data(); }
  size_t bytes() const;
  /// Valid as long as the tensor.
  upd_tensor view() const;

private:
  upd_dtype type = UPD_F32;
  Shape dimensions;
  int64_t count = 0;
  Budget::Memory memory;
};

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_TENSOR_H
