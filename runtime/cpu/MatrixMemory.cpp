//===- MatrixMemory.cpp - Memory for matrices between the stages of a plan --------------------===//

#include "runtime/cpu/MatrixMemory.h"

#include "runtime/base/DType.h"

#include <new>

using namespace updraft::runtime;

size_t MatrixMemory::bytesOf(uint32_t stream, const TensorShape &shape) const {
  const auto [kind, dtype, over, state, scales] = plan.streams[stream];
  const size_t bytes = static_cast<size_t>(shape.count(over)) * sizeOf(dtype);
  return StateArena::aligned(bytes);
}

size_t MatrixMemory::bytesOf(const TensorShape &shape) const {
  size_t bytes = 0;
  for (const uint32_t stream : streams)
    bytes += bytesOf(stream, shape);
  return bytes;
}

static void grow(StateArena &arena, size_t bytes) {
  if (bytes <= arena.size())
    return;
  arena = StateArena();
  StateArena larger = StateArena::allocate(bytes);
  if (!larger.data())
    throw std::bad_alloc();
  arena = std::move(larger);
}

void MatrixMemory::reserve(size_t bytes, size_t threads) {
  grow(matrices, bytes);
  grow(packed, threads * UPD_PRODUCT_WORKSPACE);
}
