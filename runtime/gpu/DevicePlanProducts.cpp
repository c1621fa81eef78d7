//===- DevicePlanProducts.cpp - Products of matrices in a plan on a device --------------------===//
// The matrices between the stages of a plan, and the products of their windows.

#include "runtime/base/DType.h"
#include "runtime/gpu/LaunchUnits.h"

#include <algorithm>

using namespace updraft::gpu;
using updraft::runtime::MatrixLayout;
using updraft::runtime::ProductInterface;
using updraft::runtime::sizeOf;
using updraft::runtime::Status;

/// How many operands of a product are packed: none unless they are rounded, and one if a matrix is
/// multiplied by its transpose, because both have the same lines.
static size_t packedOperandsOf(const ProductInterface &product) {
  if (!product.operandFormat)
    return 0;
  return product.lhs == product.rhs && product.lhsTransposed != product.rhsTransposed ? 1 : 2;
}

/// The bytes of the packed operands of a product of one tensor. 0 if they aren't rounded, and if
/// the matrices are so small that most of these bytes would be padding: then it is multiplied in
/// f32.
size_t DevicePlan::packedBytesOf(size_t index, size_t position) const {
  const Product product = productOf(index, position);
  int64_t bytes = 0, elements = 0;
  for (size_t operand = 0; operand < packedOperandsOf(plan.products[index]); ++operand) {
    const Packing packing = packingOf(product, position, operand == 0);
    bytes += packing.batches * packing.bytesOfBatch();
    elements += packing.batches * packing.lines * packing.depth;
  }
  constexpr int64_t mostBytesOfElement = 8; // four times as many as without padding
  return bytes <= elements * mostBytesOfElement ? static_cast<size_t>(bytes) : 0;
}

/// The bytes of the largest packed operands of a product of one tensor.
size_t DevicePlan::largestPackedBytesOf(size_t position) const {
  size_t bytes = 0;
  for (size_t index = 0; index < plan.products.size(); ++index)
    bytes = std::max(bytes, packedBytesOf(index, position));
  return bytes;
}

/// Divides the tensors into windows, whose matrices start at the same address.
void DevicePlan::reserveMatrices(DeviceArena &scratch, size_t matrixBytes) {
  windows.clear();
  const size_t start = scratch.position(), count = plan.temporaries().size();
  size_t bytes = 0;
  for (size_t position = 0; position < list.size(); ++position) {
    const SteppedTensor &tensor = list[position];
    const auto places = tensor.byRows ? MatrixLayout::Places() : matrices.place(tensor.shape);
    const size_t own = places.bytes + (tensor.byRows ? 0 : largestPackedBytesOf(position));
    if (windows.empty() || (!hasOwnMatrices && bytes != 0 && bytes + own > matrixBytes)) {
      windows.push_back({position, position});
      scratch.moveTo(start);
      bytes = 0;
    }
    windows.back().end = position + 1;
    bytes += own;
    const Table<char> all = scratch.reserve<char>(places.bytes);
    for (size_t i = 0; i < places.offsets.size(); ++i)
      temporaries[position * count + matrices.streams()[i] - plan.firstTemporary].offset =
          all.offset + places.offsets[i];
  }
  scratch.moveToEnd();
}

/// Packed operands are needed by one product, so all products and windows share the memory.
void DevicePlan::reservePackings(DeviceArena &scratch) {
  packed.assign(plan.products.size(), {});
  const size_t start = scratch.position();
  for (size_t index = 0; index < packed.size(); ++index)
    for (const Window &window : windows) {
      scratch.moveTo(start);
      for (size_t position = window.begin; position < window.end; ++position) {
        const Product product = productOf(index, position);
        const bool isPacked = packedBytesOf(index, position) != 0;
        for (size_t operand = 0; operand < packedOperandsOf(plan.products[index]); ++operand) {
          const Packing packing = packingOf(product, position, operand == 0);
          packed[index].push_back(scratch.reserve<char>(
              isPacked ? static_cast<size_t>(packing.batches * packing.bytesOfBatch()) : 0));
        }
      }
    }
  scratch.moveToEnd();
}

void DevicePlan::reserveProducts(DeviceArena &tables) {
  products.clear();
  packings.clear();
  for (const runtime::ProductInterface &product : plan.products) {
    products.push_back(tables.reserve<Product>(list.size()));
    packings.push_back(tables.reserve<Packing>(packedOperandsOf(product) * list.size()));
  }
}

void DevicePlan::fillProducts(DeviceArena &tables, const DeviceArena &scratch) {
  productTiles.assign(plan.products.size(), std::vector<int64_t>(list.size()));
  packedUnits.assign(plan.products.size(), std::vector<int64_t>(list.size()));
  for (const runtime::StageInterface &stage : plan.sequence) {
    if (stage.kind != runtime::StageInterface::Kind::Product)
      continue;
    for (const Window &window : windows) {
      int64_t tiles = 0, units = 0;
      for (size_t position = window.begin; position < window.end; ++position) {
        Product &own = tables.host(products[stage.index])[position];
        own = productOf(stage.index, position);
        own.streams = tables.at(streamTable, position * plan.streams.size());
        own.row = scratch.at(rows, position * rowBytes());
        own.condition = stage.condition;
        own.firstTile = tiles;
        tiles += productTiles[stage.index][position] =
            list[position].shape.batches * productTilesOf(own, sizeOf(compute()));
        units += packedUnits[stage.index][position] =
            fillPackings(tables, scratch, own, stage.index, position, units);
      }
    }
  }
}

/// Packs the rounded operands of a product of one tensor from the unit number `firstUnit` on.
/// Returns the number of units.
int64_t DevicePlan::fillPackings(DeviceArena &tables, const DeviceArena &scratch, Product &product,
                                 size_t index, size_t position, int64_t firstUnit) {
  const size_t count = packedOperandsOf(plan.products[index]);
  int64_t units = 0;
  for (size_t operand = 0; operand < count; ++operand) {
    const size_t place = position * count + operand;
    Packing &packing = tables.host(packings[index])[place];
    packing = packingOf(product, position, operand == 0);
    packing.firstUnit = firstUnit;
    if (packed[index][place].count == 0)
      continue;
    packing.to = scratch.at(packed[index][place]);
    packing.firstUnit = firstUnit + units;
    units += packing.batches * packing.unitsOfBatch();
    (operand == 0 ? product.packedLhs : product.packedRhs) = packing.to;
  }
  if (count == 1)
    product.packedRhs = product.packedLhs;
  return units;
}

/// A product of one tensor: its operands, result and sizes.
Product DevicePlan::productOf(size_t index, size_t position) const {
  const runtime::ProductInterface &product = plan.products[index];
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
  Product made{};
  made.compute = compute();
  made.lhs = operandOf(product.lhs, !product.lhsTransposed);
  made.rhs = operandOf(product.rhs, product.rhsTransposed);
  made.result = product.result;
  made.rowStride = result.columns;
  made.batchStride = result.rows * result.columns;
  made.rows = result.rows;
  made.columns = result.columns;
  made.depth = product.lhsTransposed ? lhs.rows : lhs.columns;
  made.isSymmetric = product.symmetric;
  return made;
}

/// The packing of an operand, but for its memory and its first unit.
Packing DevicePlan::packingOf(const Product &product, size_t position, bool isLhs) const {
  return {product.streams,
          product.row,
          product.condition,
          isLhs ? product.lhs : product.rhs,
          isLhs ? product.rows : product.columns,
          product.depth,
          list[position].shape.batches,
          nullptr,
          0};
}

/// A kernel multiplies the tensors whose operands are packed, and another one all others.
Status DevicePlan::launchProduct(const Step &step, size_t index, Window window) {
  const size_t count = window.end - window.begin, operands = packedOperandsOf(plan.products[index]);
  int64_t tiles = 0, otherTiles = 0, units = 0;
  for (size_t position = window.begin; position < window.end; ++position) {
    tiles += productTiles[index][position];
    units += packedUnits[index][position];
    if (packedUnits[index][position] == 0)
      otherTiles += productTiles[index][position];
  }
  auto multiply = [&](Kernel kernel) {
    return launchUnits(step, kernel, step.tables.at(products[index], window.begin), count, tiles,
                       1);
  };
  if (units != 0) {
    const bool isBF16 = plan.products[index].operandFormat == UPD_BF16;
    const size_t warpsOfBlock = UPD_GPU_THREADS / 32;
    Status status = launchUnits(step, isBF16 ? step.engine.packBF16 : step.engine.packF16,
                                step.tables.at(packings[index], window.begin * operands),
                                count * operands, units, warpsOfBlock);
    if (status.ok())
      status = multiply(isBF16 ? step.engine.multiplyBF16 : step.engine.multiplyF16);
    if (!status.ok())
      return status;
  }
  if (otherTiles == 0)
    return {};
  return multiply(compute() == UPD_F32 ? step.engine.multiplyF32 : step.engine.multiplyF64);
}
