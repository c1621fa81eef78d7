//===- DevicePlanProducts.cpp - Products of matrices in a plan on a device --------------------===//
// The matrices between the stages of a plan, and the products of their windows.

#include "runtime/base/DType.h"
#include "runtime/gpu/DevicePlan.h"

#include <algorithm>

using namespace updraft::gpu;
using updraft::runtime::sizeOf;
using updraft::runtime::Status;
using updraft::runtime::StreamInterface;
using updraft::runtime::SweepInterface;

/// Whether a matrix is made in one section and read in another, so that each tensor needs its own.
bool DevicePlan::matricesOutliveSections() const {
  std::vector<size_t> madeIn(plan.streams.size()); // the end of a section
  size_t end = 0;
  for (size_t i = 0; i < plan.sequence.size(); ++i) {
    if (i == end)
      end = sectionEndFrom(i, false);
    auto outlives = [&](uint32_t stream) {
      return stream >= plan.firstTemporary && runtime::isMatrix(plan.streams[stream].over) &&
             madeIn[stream] != end;
    };
    const runtime::StageInterface &stage = plan.sequence[i];
    if (stage.kind == runtime::StageInterface::Kind::Product) {
      const runtime::ProductInterface &product = plan.products[stage.index];
      if (outlives(product.lhs) || outlives(product.rhs))
        return true;
      madeIn[product.result] = end;
    } else if (stage.isSweep()) {
      const SweepInterface &sweep = plan.sweeps[stage.index];
      if (std::any_of(sweep.reads.begin(), sweep.reads.end(), outlives))
        return true;
      for (const uint32_t stream : sweep.makes)
        madeIn[stream] = end;
    }
  }
  return false;
}

/// The bytes of the temporaries of a tensor that are matrices.
size_t DevicePlan::matrixBytesOf(const SteppedTensor &tensor) const {
  size_t bytes = 0;
  for (const StreamInterface &temporary : plan.temporaries())
    if (runtime::isMatrix(temporary.over) && !tensor.byRows)
      bytes += static_cast<size_t>(tensor.shape.count(temporary.over)) * sizeOf(temporary.dtype);
  return bytes;
}

/// Divides the tensors into windows, whose matrices start at the same address.
void DevicePlan::reserveMatrices(DeviceArena &scratch, size_t matrixBytes) {
  windows.clear();
  size_t bytes = 0;
  for (size_t position = 0; position < list.size(); ++position) {
    const size_t own = matrixBytesOf(list[position]);
    if (windows.empty() || (!hasOwnMatrices && bytes != 0 && bytes + own > matrixBytes)) {
      windows.push_back({position, position});
      bytes = 0;
    }
    windows.back().end = position + 1;
    bytes += own;
  }
  const size_t count = plan.temporaries().size();
  const size_t start = scratch.position();
  for (const Window &window : windows) {
    scratch.moveTo(start);
    for (size_t position = window.begin; position < window.end; ++position)
      for (size_t i = 0; i < count; ++i) {
        const StreamInterface &temporary = plan.temporaries()[i];
        const SteppedTensor &tensor = list[position];
        if (runtime::isMatrix(temporary.over))
          temporaries[position * count + i] = scratch.reserve<char>(
              tensor.byRows ? 0
                            : static_cast<size_t>(tensor.shape.count(temporary.over)) *
                                  sizeOf(temporary.dtype));
      }
  }
  scratch.moveToEnd();
}

void DevicePlan::fillProducts(DeviceArena &tables, const DeviceArena &scratch) {
  productTiles.assign(plan.products.size(), std::vector<int64_t>(list.size()));
  for (const runtime::StageInterface &stage : plan.sequence)
    for (const Window &window : windows) {
      if (stage.kind != runtime::StageInterface::Kind::Product)
        break;
      int64_t tiles = 0;
      for (size_t position = window.begin; position < window.end; ++position) {
        Product &own = tables.host(products[stage.index])[position];
        own = productOf(stage, position, tables, scratch);
        own.firstTile = tiles;
        const int64_t batches = list[position].shape.batches;
        tiles += productTiles[stage.index][position] =
            batches * productTilesOf(own, sizeOf(compute()));
      }
    }
}

/// The product of a stage for one tensor, but for its first tile.
Product DevicePlan::productOf(const runtime::StageInterface &stage, size_t position,
                              const DeviceArena &tables, const DeviceArena &scratch) const {
  const runtime::ProductInterface &product = plan.products[stage.index];
  auto shapeOf = [&](uint32_t stream) {
    return list[position].shape.of(plan.streams[stream].over);
  };
  // The lines of an operand are rows in memory, or columns.
  auto operandOf = [&](uint32_t stream, bool byRows) {
    const runtime::TensorShape shape = shapeOf(stream);
    return ProductOperand{stream, byRows ? shape.columns : 1, byRows ? 1 : shape.columns,
                          shape.rows * shape.columns};
  };
  const runtime::TensorShape lhs = shapeOf(product.lhs), result = shapeOf(product.result);
  return {tables.at(streamTable, position * plan.streams.size()),
          scratch.at(rows, position * rowBytes()),
          stage.condition,
          compute(),
          operandOf(product.lhs, !product.lhsTransposed),
          operandOf(product.rhs, product.rhsTransposed),
          product.result,
          result.columns,
          result.rows * result.columns,
          result.rows,
          result.columns,
          product.lhsTransposed ? lhs.rows : lhs.columns,
          product.symmetric,
          0};
}

Status DevicePlan::launchProduct(const Step &step, size_t index, Window window) {
  Product *first = step.tables.at(products[index], window.begin);
  auto count = static_cast<int64_t>(window.end - window.begin);
  int64_t tiles = 0;
  for (size_t position = window.begin; position < window.end; ++position)
    tiles += productTiles[index][position];
  void *arguments[] = {&first, &count, &tiles};
  return step.device.launch(
      compute() == UPD_F32 ? step.engine.multiplyF32 : step.engine.multiplyF64,
      step.device.blocksFor(static_cast<size_t>(tiles), 1), arguments, step.stream);
}
