//===- StorageBFloat16.cpp - bf16 in memory ---------------------------------------------------===//
// bf16 is the upper half of an f32, and integer arithmetic converts it. CPU instructions for bf16
// flush denormals, and on CPUs without them `arith.truncf` is a library call. Instructions of GPUs
// keep denormals.

#include "StorageTypes.h"
#include "Updraft/Transforms/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace updraft {
namespace {

// Returns the bits of an f32 value, as i32, whose upper half is `value` as bf16.
Value roundUpperHalf(OpBuilder &builder, Location loc, Value value) {
  Type i32 = builder.getI32Type();
  auto constant = [&](uint64_t bits) { return integerLike(builder, loc, value, i32, bits); };
  Value bits = arith::BitcastOp::create(builder, loc, withShapeOf(value, i32), value);
  Value upper = arith::ShRUIOp::create(builder, loc, bits, constant(16));
  // Half a unit less one, plus the last bit that stays: carries exactly if the value rounds up.
  Value lastBit = arith::AndIOp::create(builder, loc, upper, constant(1));
  Value half = arith::AddIOp::create(builder, loc, lastBit, constant(0x7fff));
  Value rounded = arith::AddIOp::create(builder, loc, bits, half);
  // A NaN with its payload in the lower half must not become an infinity or carry into the sign.
  Value quiet = arith::OrIOp::create(builder, loc, bits, constant(0x400000));
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(builder, loc, isNaN, quiet, rounded);
}

class BFloat16Storage : public StorageConversion {
public:
  Type memoryType(MLIRContext *context) const override { return IntegerType::get(context, 16); }

  Value widen(OpBuilder &builder, Location loc, Value stored, Type compute) const override {
    Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
    Value extended = arith::ExtUIOp::create(builder, loc, withShapeOf(stored, i32), stored);
    Value bits =
        arith::ShLIOp::create(builder, loc, extended, integerLike(builder, loc, stored, i32, 16));
    Value value = arith::BitcastOp::create(builder, loc, withShapeOf(stored, f32), bits);
    return convertFloat(builder, loc, value, compute);
  }

  Value narrow(OpBuilder &builder, Location loc, Value value) const override {
    Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
    if (getElementTypeOrSelf(value.getType()).isF64())
      value = roundToOdd(builder, loc, value);
    Value rounded = roundUpperHalf(builder, loc, value);
    Value upper =
        arith::ShRUIOp::create(builder, loc, rounded, integerLike(builder, loc, value, i32, 16));
    return arith::TruncIOp::create(builder, loc, withShapeOf(value, i16), upper);
  }

  Value narrowOnGPU(OpBuilder &builder, Location loc, Value value) const override {
    if (getElementTypeOrSelf(value.getType()).isF64())
      value = roundToOdd(builder, loc, value);
    Value rounded = convertFloat(builder, loc, value, builder.getBF16Type());
    return arith::BitcastOp::create(builder, loc, withShapeOf(value, builder.getI16Type()),
                                    rounded);
  }
};

} // namespace

std::pair<Value, Value> widenBFloat16Pairs(OpBuilder &builder, Location loc, Value stored) {
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  int64_t lanes = cast<VectorType>(stored.getType()).getNumElements() / 2;
  Value words = vector::BitCastOp::create(builder, loc, VectorType::get(lanes, i32), stored);
  Value even =
      arith::ShLIOp::create(builder, loc, words, integerLike(builder, loc, words, i32, 16));
  Value odd =
      arith::AndIOp::create(builder, loc, words, integerLike(builder, loc, words, i32, 0xffff0000));
  Type type = withShapeOf(words, f32);
  return {arith::BitcastOp::create(builder, loc, type, even),
          arith::BitcastOp::create(builder, loc, type, odd)};
}

// Merges halves of two vectors of words, as vector<2n x i16>: `low` gives the even elements, `high`
// the odd ones.
static Value mergeHalves(OpBuilder &builder, Location loc, Value low, Value high) {
  Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
  auto masked = [&](Value words, uint64_t mask) -> Value {
    return arith::AndIOp::create(builder, loc, words, integerLike(builder, loc, words, i32, mask));
  };
  Value words = arith::OrIOp::create(builder, loc, masked(low, 0xffff), masked(high, 0xffff0000));
  int64_t lanes = cast<VectorType>(words.getType()).getNumElements();
  return vector::BitCastOp::create(builder, loc, VectorType::get(2 * lanes, i16), words);
}

// Pairs duplicate the body. A large body would take twice as long to compile.
static bool isWorthTwice(Block &body) {
  constexpr size_t largeBody = 1000;
  return body.getOperations().size() < largeBody &&
         llvm::none_of(body, [](Operation &op) { return isElementaryFunction(&op); });
}

bool computesBFloat16Pairs(SweepOp sweep, Type compute, unsigned lanes) {
  auto isBFloat16 = [](Value stream) {
    return cast<StreamType>(stream.getType()).getStorage().isBF16();
  };
  return lanes > 1 && compute.isF32() && !sweep.runsByRows() && !sweep.runsByBatches() &&
         sweep.getReductionRange().empty() && sweep.getBody().front().getOps<RandomOp>().empty() &&
         llvm::all_of(sweep.getReads(), isBFloat16) &&
         llvm::all_of(sweep.getWrites(), isBFloat16) &&
         llvm::all_of(sweep.getTemporaries(), isBFloat16) && isWorthTwice(sweep.getBody().front());
}

Value shortenNaN(OpBuilder &builder, Location loc, Value value) {
  // Selects integers: LLVM treats all NaNs as equal, so it may fold a select of floats to `value`.
  Type i32 = builder.getI32Type();
  Value bits = arith::BitcastOp::create(builder, loc, withShapeOf(value, i32), value);
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
  Value either = arith::SelectOp::create(builder, loc, isNaN,
                                         integerLike(builder, loc, value, i32, 0x7fc00000), bits);
  return arith::BitcastOp::create(builder, loc, value.getType(), either);
}

Value narrowBFloat16Pairs(OpBuilder &builder, Location loc, Value even, Value odd, bool shortNaNs) {
  Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
  Value shift = integerLike(builder, loc, even, i32, 16);
  auto bitsOf = [&](Value value) -> Value {
    return shortNaNs
               ? arith::BitcastOp::create(builder, loc, withShapeOf(value, i32), value).getResult()
               : roundUpperHalf(builder, loc, value);
  };
  Value evenBits = bitsOf(even), oddBits = bitsOf(odd);
  Value upper =
      mergeHalves(builder, loc, arith::ShRUIOp::create(builder, loc, evenBits, shift), oddBits);
  if (!shortNaNs)
    return upper;
  // Rounding the halves of all elements at once takes fewer operations. Rounds up if the lower
  // half, minus one if the upper half is even, has its first bit set.
  Value lower =
      mergeHalves(builder, loc, evenBits, arith::ShLIOp::create(builder, loc, oddBits, shift));
  auto constant = [&](uint64_t bits) { return integerLike(builder, loc, upper, i16, bits); };
  Value flipped = arith::XOrIOp::create(builder, loc, upper, constant(0xffff));
  Value isEven = arith::AndIOp::create(builder, loc, flipped, constant(1));
  Value rest = LLVM::USubSat::create(builder, loc, lower, isEven);
  Value carry = arith::ShRUIOp::create(builder, loc, rest, constant(15));
  return arith::AddIOp::create(builder, loc, upper, carry);
}

const StorageConversion *bf16Storage() {
  static const BFloat16Storage storage;
  return &storage;
}

} // namespace updraft
