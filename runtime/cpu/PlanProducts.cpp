//===- PlanProducts.cpp - Products of matrices in a plan --------------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"
#include "runtime/cpu/PlanRun.h"

#include <algorithm>
#include <cmath>
#include <span>

using namespace updraft::runtime;

namespace {

/// Part `index` of `count` parts of a matrix: a range of rows if it is symmetric or higher than it
/// is wide, else of columns. Each element of a part needs the same work.
struct Part {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
};

/// The parts of a matrix begin at multiples of this, which is that of a register tile.
constexpr int64_t partUnit = 32;

int64_t boundary(int64_t size, double share) {
  const auto units = static_cast<int64_t>(
      std::lround(static_cast<double>(size) * share / static_cast<double>(partUnit)));
  return std::min(units * partUnit, size);
}

Part partOf(const TensorShape &result, bool symmetric, size_t index, size_t count) {
  auto cut = [&](int64_t size, size_t at) {
    if (at == count)
      return size;
    const double share = static_cast<double>(at) / static_cast<double>(count);
    // Below the diagonal, the number of elements grows with the square of the rows.
    return boundary(size, symmetric ? std::sqrt(share) : share);
  };
  if (symmetric) {
    const int64_t end = cut(result.rows, index + 1);
    return {cut(result.rows, index), end, 0, end};
  }
  if (result.rows > result.columns)
    return {cut(result.rows, index), cut(result.rows, index + 1), 0, result.columns};
  return {0, result.rows, cut(result.columns, index), cut(result.columns, index + 1)};
}

} // namespace

/// Returns the address of a value of the tensor's row, or of 1 for the position 0.
const void *PlanRun::scaleOf(size_t position, uint32_t scale) const {
  static constexpr float singleOne = 1;
  static constexpr double one = 1;
  const bool isSingle = kernels->interface.compute == UPD_F32;
  if (scale == 0)
    return isSingle ? static_cast<const void *>(&singleOne) : &one;
  return prologueRows.data(list[position].row) + scale * sizeOf(kernels->interface.compute);
}

void PlanRun::multiplyPart(const ProductInterface &product, size_t position, size_t part,
                           size_t parts, void *workspace) const {
  const timeline::Span span("product", [&](timeline::Event &event) {
    event.name(plan.prefix, " product ", &product - plan.products.data());
    event.number("multiply_adds", operationsOf(product, position) / static_cast<int64_t>(parts));
    event.number("parameter", list[position].param);
  });
  auto shapeOf = [&](uint32_t stream) { return shapes[position].of(plan.streams[stream].over); };
  const TensorShape lhs = shapeOf(product.lhs), rhs = shapeOf(product.rhs),
                    result = shapeOf(product.result);
  const auto [rowBegin, rowEnd, columnBegin, columnEnd] =
      partOf(result, product.symmetric, part, parts);
  if (rowBegin >= rowEnd || columnBegin >= columnEnd)
    return;
  const size_t bytes = sizeOf(plan.streams[product.result].dtype);
  auto at = [&](uint32_t stream, int64_t element) {
    return static_cast<char *>(this->stream(position, stream)) +
           static_cast<size_t>(element) * bytes;
  };
  upd_product_update update{};
  upd_product_sum &sum = update.sum;
  upd_product &call = sum.product;
  call.lhs_row = product.lhsTransposed ? 1 : lhs.columns;
  call.lhs_column = product.lhsTransposed ? lhs.columns : 1;
  call.rhs_row = product.rhsTransposed ? 1 : rhs.columns;
  call.rhs_column = product.rhsTransposed ? rhs.columns : 1;
  call.result_row = result.columns;
  call.rows = rowEnd - rowBegin;
  call.columns = columnEnd - columnBegin;
  call.depth = product.lhsTransposed ? lhs.rows : lhs.columns;
  call.below = product.symmetric ? rowBegin : INT64_MAX;
  call.workspace = workspace;
  sum.addend_row = result.columns;
  sum.scale = scaleOf(position, product.scale);
  sum.addend_scale = scaleOf(position, product.addendScale);
  update.target_row = result.columns;
  update.sum_scale = scaleOf(position, product.sumScale);
  update.target_scale = scaleOf(position, product.targetScale);
  for (int64_t batch = 0; batch < result.batches; ++batch) {
    call.lhs = at(product.lhs, batch * lhs.rows * lhs.columns + rowBegin * call.lhs_row);
    call.rhs = at(product.rhs, batch * rhs.rows * rhs.columns + columnBegin * call.rhs_column);
    const int64_t first = batch * result.rows * result.columns;
    const int64_t start = first + rowBegin * result.columns + columnBegin;
    call.result = at(product.result, start);
    if (product.addend)
      sum.addend = at(*product.addend, start);
    if (product.target)
      update.target = at(*product.target, start);
    (product.operandFormat == UPD_BF16 ? kernels->bf16Product : kernels->product)(&call);
    if (product.symmetric)
      kernels->mirror(at(product.result, first), result.columns, rowBegin, rowEnd);
  }
}

/// Multiplies matrices of all tensors of the window. Several threads share each product, unless
/// they all have windows of their own.
void PlanRun::multiply(const Walk &walk, const StageInterface &stage) const {
  const ProductInterface &product = plan.products[stage.index];
  const auto [begin, end] = walk.tensors;
  int64_t operations = 0;
  for (size_t position = begin; position < end && !walk.isOwn; ++position)
    if (isNeeded(position, stage.condition))
      operations += operationsOf(product, position);
  const size_t parts =
      std::min(sharedThreads, static_cast<size_t>(operations / threadOperations + 1));
  forParts(walk.step.pool, parts, 1, [&](size_t firstPart, size_t lastPart) {
    for (size_t part = firstPart; part < lastPart; ++part)
      for (size_t position = walk.tensors.begin; position < walk.tensors.end; ++position)
        if (isNeeded(position, stage.condition))
          multiplyPart(product, position, part, parts, walk.memory->operands(part));
  });
}

/// Returns the number of fused multiply-adds of a product of one tensor.
int64_t PlanRun::operationsOf(const ProductInterface &product, size_t position) const {
  const TensorShape result = shapes[position].of(plan.streams[product.result].over);
  const TensorShape lhs = shapes[position].of(plan.streams[product.lhs].over);
  const int64_t all = result.elements() * (product.lhsTransposed ? lhs.rows : lhs.columns);
  return product.symmetric ? all / 2 : all;
}

/// Makes the windows and the memory of the step. Throws OutOfMemory.
void PlanRun::reserveMatrices(const upd_pool &pool) {
  if (!plan.hasWholeMatrices())
    return;
  windows.assign(SweepDomain::threadsFor(windows.cost(), pool));
  while (memories.size() < windows.threads() + 1)
    memories.emplace_back(plan);
  auto reserve = [&](size_t index, std::span<const TensorWindows::Window> ofMemory,
                     size_t threads) {
    size_t bytes = 0, workspace = 0;
    for (const TensorWindows::Window &window : ofMemory)
      for (size_t position = window.begin; position < window.end; ++position) {
        if (!hasOwnMatrices)
          bytes = std::max(bytes, matrixPlaces[position].bytes);
        workspace = std::max(workspace, workspaceOf(plan, shapes[position]));
      }
    if (!ofMemory.empty())
      memories[index].reserve(bytes, workspace, threads);
  };
  sharedThreads = static_cast<size_t>(std::max(pool.thread_count(pool.pool), 1));
  reserve(0, windows.shared(), sharedThreads);
  for (size_t thread = 0; thread < windows.threads(); ++thread)
    reserve(thread + 1, windows.own(thread), 1);
}

void PlanRun::placeMatrices(const Walk &walk) {
  if (hasOwnMatrices || !walk.memory)
    return;
  for (size_t position = walk.tensors.begin; position < walk.tensors.end; ++position)
    placeMatrices(position, walk.memory->data());
}
