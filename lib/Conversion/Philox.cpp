//===- Philox.cpp - Random bits from a counter ------------------------------------------------===//
// A 32-bit word is kept in an i64 whose upper half is zero, so the product of two words is one
// instruction on vectors. Values that all elements share are computed once, as scalars.

#include "Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "updraft/Conversion/StorageConversion.h"

using namespace mlir;

namespace updraft {
namespace {

constexpr int rounds = 10;
constexpr int64_t streamsPerTensor = 16;
constexpr uint64_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr uint64_t keyIncrements[] = {0x9E3779B9, 0xBB67AE85};
constexpr uint64_t wordMask = 0xFFFFFFFF;

class PhiloxBuilder {
public:
  PhiloxBuilder(OpBuilder &builder, Location loc, Type type) : b(loc, builder), type(type) {}

  Value constant(Value like, uint64_t bits) {
    return integerLike(b, b.getLoc(), like, b.getI64Type(), bits);
  }
  Value low(Value value) { return arith::AndIOp::create(b, value, constant(value, wordMask)); }
  Value high(Value value) { return arith::ShRUIOp::create(b, value, constant(value, 32)); }
  Value exclusiveOr(Value left, Value right) { return arith::XOrIOp::create(b, left, right); }
  /// Broadcasts a value that all elements share.
  Value uniform(Value scalar) {
    return isa<VectorType>(type) ? vector::BroadcastOp::create(b, type, scalar).getResult()
                                 : scalar;
  }

  Value bits(const RandomSite &site, Value index, int64_t stream);

private:
  ImplicitLocOpBuilder b;
  Type type; ///< i64, or a vector of it
};

Value PhiloxBuilder::bits(const RandomSite &site, Value index, int64_t stream) {
  Value tensor = arith::MulIOp::create(b, site.tensor, constant(site.tensor, streamsPerTensor));
  Value number = arith::AddIOp::create(b, tensor, constant(tensor, stream % streamsPerTensor));
  Value counter[] = {low(index), high(index), uniform(low(site.step)), uniform(low(number))};
  // The second word has 16 bits that no index of an element needs.
  if (stream >= streamsPerTensor)
    counter[1] = arith::OrIOp::create(b, counter[1],
                                      constant(index, uint64_t(stream / streamsPerTensor) << 16));
  Value key[] = {low(site.seed), high(site.seed)};
  for (int round = 0; round < rounds; ++round) {
    if (round > 0)
      for (auto [word, increment] : llvm::zip(key, keyIncrements))
        word = low(arith::AddIOp::create(b, word, constant(word, increment)));
    Value first = arith::MulIOp::create(b, counter[0], constant(counter[0], multipliers[0]));
    Value second = arith::MulIOp::create(b, counter[2], constant(counter[2], multipliers[1]));
    Value next[] = {exclusiveOr(exclusiveOr(high(second), counter[1]), uniform(key[0])),
                    low(second), exclusiveOr(exclusiveOr(high(first), counter[3]), uniform(key[1])),
                    low(first)};
    llvm::copy(next, counter);
  }
  Value upper = arith::ShLIOp::create(b, counter[1], constant(counter[1], 32));
  return arith::OrIOp::create(b, counter[0], upper);
}

} // namespace

Value philoxBits(OpBuilder &builder, Location loc, const RandomSite &site, Value index,
                 int64_t stream) {
  return PhiloxBuilder(builder, loc, index.getType()).bits(site, index, stream);
}

} // namespace updraft
