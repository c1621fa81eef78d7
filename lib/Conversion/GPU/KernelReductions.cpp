//===- KernelReductions.cpp - From the lanes of a warp to results -----------------------------===//

#include "../Accumulators.h"
#include "../KernelMemory.h"
#include "SweepKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/gpu_kernel.h"

using namespace mlir;

namespace updraft {

SmallVector<const ReductionAccess *> SweepKernel::laneReductions() const {
  SmallVector<const ReductionAccess *> result;
  for (const ReductionAccess &reduction : reductions)
    if (reduction.hasLanes())
      result.push_back(&reduction);
  return result;
}

SmallVector<Value> SweepKernel::identities() {
  Type type = VectorType::get(vectorLanes, builder.getF64Type());
  return llvm::map_to_vector(laneReductions(), [&](const ReductionAccess *it) {
    return reductionIdentity(builder, loc, it->reduction.getKind(), type);
  });
}

// Returns the value of the thread whose index differs in the bit of `distance`.
Value SweepKernel::exchanged(Value value, int32_t distance) {
  Type i32 = builder.getI32Type();
  Value bits = arith::BitcastOp::create(builder, loc, i64, value);
  auto exchange = [&](Value half) -> Value {
    Value low = arith::TruncIOp::create(builder, loc, i32, half);
    auto shuffled =
        gpu::ShuffleOp::create(builder, loc, low, constantI32(distance),
                               constantI32(UPD_GPU_WARP_THREADS), gpu::ShuffleMode::XOR);
    return arith::ExtUIOp::create(builder, loc, i64, shuffled.getShuffleResult());
  };
  Value low = exchange(bits);
  Value high = exchange(arith::ShRUIOp::create(builder, loc, bits, constantI64(32)));
  Value joined = arith::OrIOp::create(builder, loc, low,
                                      arith::ShLIOp::create(builder, loc, high, constantI64(32)));
  return arith::BitcastOp::create(builder, loc, builder.getF64Type(), joined);
}

// Returns the total of a warp's lanes, in each of its threads. A thread starts with four lanes. At
// each of the first two levels it exchanges half of its values for the same lanes of another
// thread, and keeps half as many. The other levels combine one value per thread.
Value SweepKernel::totalOf(ReductionKind kind, Value lanes) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < vectorLanes; ++i)
    values.push_back(vector::ExtractOp::create(builder, loc, lanes, i));
  int32_t distance = UPD_GPU_WARP_THREADS / 2;
  SmallVector<int32_t> apart; // distances of threads that share the lanes of one
  for (; values.size() > 1; distance /= 2) {
    Value bit = arith::AndIOp::create(builder, loc, member, constantI32(distance));
    Value isUpper =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit, constantI32(0));
    const size_t half = values.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      Value low = values[i], high = values[i + half];
      Value kept = arith::SelectOp::create(builder, loc, isUpper, high, low);
      Value given = arith::SelectOp::create(builder, loc, isUpper, low, high);
      values[i] = combineReduced(builder, loc, kind, kept, exchanged(given, distance));
    }
    values.truncate(half);
    apart.push_back(distance);
  }
  Value total = values.front();
  auto combineAcross = [&](int32_t threads) {
    total = combineReduced(builder, loc, kind, total, exchanged(total, threads));
  };
  for (; distance >= 1; distance /= 2)
    combineAcross(distance);
  llvm::for_each(apart, combineAcross);
  return total;
}

// Stores the results of a chunk: one value per reduction over a tensor or group.
void SweepKernel::storePartials(ValueRange carried, Value partials) {
  SmallVector<Value> totals;
  for (auto [access, lanes] : llvm::zip_equal(laneReductions(), carried))
    if (access->isPartial())
      totals.push_back(totalOf(access->reduction.getKind(), lanes));
  if (totals.empty())
    return;
  alone([&] {
    for (auto [index, total] : llvm::enumerate(totals))
      storeElements(builder, loc, total,
                    elementPointer(builder, loc, builder.getF64Type(), partials,
                                   static_cast<int32_t>(index)));
  });
}

// Stores the results of one row or batch.
void SweepKernel::storeTotals(ValueRange carried, Value index) {
  SmallVector<std::pair<Value, Value>> totals;
  for (auto [access, lanes] : llvm::zip_equal(laneReductions(), carried))
    if (!access->isPartial())
      totals.push_back({totalOf(access->reduction.getKind(), lanes), access->stream->elements});
  if (totals.empty())
    return;
  alone([&] {
    for (auto [total, elements] : totals)
      WriteOp::create(builder, loc, total, elements, index);
  });
}

void SweepKernel::alone(llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, member, constantI32(0));
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

} // namespace updraft
