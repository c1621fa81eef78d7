//===- ExpandStorage.cpp - Rounding in storage as arithmetic ----------------------------------===//
// Replaces storage with stochastic rounding or with a correction by plain streams: the rule itself
// computes bits that bf16 holds exactly. The formulas work on the 32 bits of an f32 value.

#include "Updraft/IR/Locations.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_EXPANDSTORAGEPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

/// The first stream of random bits that rules in the language can't use.
constexpr int64_t firstRandomStream = 16;
/// The number of values that 64 random bits suffice for.
constexpr unsigned valuesPerWord = 4;

/// A value split into its bf16 part and its correction, both in the type of the value.
struct Parts {
  Value upper, correction;
};

/// Builds arithmetic on the bits of f32 values. Constants are folded.
class BitBuilder {
public:
  BitBuilder(Location loc, OpBuilder &builder) : b(loc, builder) {}

  /// Returns the bits of `value` rounded to f32.
  Value bitsOf(Value value) { return make<arith::BitcastOp>(b.getI32Type(), single(value)); }
  /// Returns the f32 value of `bits`, converted to `type`.
  Value valueOf(Value bits, Type type) {
    Value value = make<arith::BitcastOp>(b.getF32Type(), bits);
    return type.isF64() ? make<arith::ExtFOp>(type, value) : value;
  }
  Value isNaN(Value value) { return make<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value); }
  Value constant(uint32_t bits) {
    return make<arith::ConstantOp>(b.getI32IntegerAttr(static_cast<int32_t>(bits)));
  }
  Value add(Value left, Value right) { return make<arith::AddIOp>(left, right); }
  /// Returns the upper half of `bits`. If `value` is NaN, returns that of `nan` as a quiet NaN
  /// instead: a carry could turn it into an infinity or a number.
  Value upperHalf(Value bits, Value value, Value nan) {
    Value quiet = make<arith::OrIOp>(nan, constant(0x400000));
    Value either = make<arith::SelectOp>(isNaN(value), quiet, bits);
    return make<arith::AndIOp>(either, constant(0xffff0000));
  }

  Value roundStochastically(Value value, Value randomWord, unsigned number);
  Parts split(Value value);
  Value combine(Parts parts);

private:
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return b.createOrFold<Op>(std::forward<Args>(args)...);
  }
  Value single(Value value) {
    return value.getType().isF64() ? make<arith::TruncFOp>(b.getF32Type(), value) : value;
  }

  ImplicitLocOpBuilder b;
};

// Adds 16 random bits below the bits that stay. The probability of rounding up is therefore
// proportional to the bits that are cut off.
Value BitBuilder::roundStochastically(Value value, Value randomWord, unsigned number) {
  Value bits = bitsOf(value);
  Value shift = make<arith::ConstantOp>(b.getI64IntegerAttr(16 * number));
  Value shifted = number == 0 ? randomWord : make<arith::ShRUIOp>(randomWord, shift);
  Value word = make<arith::TruncIOp>(b.getI32Type(), shifted);
  Value random = make<arith::AndIOp>(word, constant(0xffff));
  return valueOf(upperHalf(add(bits, random), value, bits), value.getType());
}

Parts BitBuilder::split(Value value) {
  Value bits = bitsOf(value);
  // Rounds to 24 bits, ties to even: adds half a unit less one, plus the last bit that stays.
  Value lastBit = make<arith::AndIOp>(make<arith::ShRUIOp>(bits, constant(8)), constant(1));
  Value rounded =
      make<arith::AndIOp>(add(bits, add(lastBit, constant(0x7f))), constant(0xffffff00));
  Value upper = upperHalf(add(rounded, constant(0x8000)), value, bits);
  Value rest = make<arith::ShRSIOp>(make<arith::SubIOp>(rounded, upper), constant(8));
  Value correction = make<arith::SelectOp>(isNaN(value), constant(0), rest);
  return {valueOf(upper, value.getType()), make<arith::SIToFPOp>(value.getType(), correction)};
}

Value BitBuilder::combine(Parts parts) {
  Value upper = bitsOf(parts.upper);
  Value correction = make<arith::FPToSIOp>(b.getI32Type(), parts.correction);
  Value bits = add(upper, make<arith::ShLIOp>(correction, constant(8)));
  // Ignores the correction if it would change the sign. This happens if other code wrote a zero and
  // left the correction of the previous value.
  Value changed = make<arith::XOrIOp>(bits, upper);
  Value crossed = make<arith::CmpIOp>(arith::CmpIPredicate::slt, changed, constant(0));
  return valueOf(make<arith::SelectOp>(crossed, upper, bits), parts.upper.getType());
}

/// Expands the storage types of one rule.
class StorageExpander {
public:
  explicit StorageExpander(RuleOp rule)
      : body(rule.getBody().front()), next(cast<NextOp>(body.getTerminator())) {}

  /// Returns the number of expanded streams.
  unsigned run();

private:
  /// The parameter or a state.
  struct Stream {
    Operation *op;
    Type storage;     ///< before the expansion
    Value value;      ///< as the rule uses it
    Value correction; ///< null if it has none
    unsigned number;  ///< index among the streams with stochastic rounding
  };

  void load(Stream &stream);
  Value roundStochastically(const Stream &stream, Value value);
  Value randomWord(unsigned index);

  Block &body;
  NextOp next;
  std::vector<Stream> streams;
  SmallVector<Value> randomWords;
  unsigned stochasticStreams = 0;
};

unsigned StorageExpander::run() {
  unsigned expanded = 0;
  for (Operation &operation : body)
    if (isa<ParamOp, StateOp>(operation)) {
      Type storage = operation.getAttrOfType<TypeAttr>("storage").getValue();
      streams.push_back({&operation, storage, operation.getResult(0), {}, stochasticStreams});
      stochasticStreams += isa<StochasticType>(storage);
      expanded += isa<StochasticType, CorrectedType>(storage);
    }
  if (expanded == 0)
    return 0;
  for (Stream &stream : streams)
    load(stream);

  OpBuilder builder(next);
  Value param;
  SmallVector<Value> states;
  auto values = next.getStates().begin();
  for (const Stream &stream : streams) {
    const bool isParam = isa<ParamOp>(stream.op);
    Value value = isParam ? next.getParam() : *values++;
    // A value that doesn't change is neither rounded nor stored.
    const bool isKept = value == stream.value;
    Parts parts{isKept ? stream.op->getResult(0) : value, stream.correction};
    if (!isKept && isa<StochasticType>(stream.storage))
      parts.upper = roundStochastically(stream, value);
    if (!isKept && stream.correction)
      parts = BitBuilder(stream.op->getLoc(), builder).split(value);
    if (isParam)
      param = parts.upper;
    else
      states.push_back(parts.upper);
    if (parts.correction)
      states.push_back(parts.correction);
  }
  NextOp::create(builder, next.getLoc(), param, states, next.getSkip());
  next.erase();
  return expanded;
}

// Stores bf16 in memory. The rule computes with the corrected value.
void StorageExpander::load(Stream &stream) {
  auto setStorage = [&](Type storage) { stream.op->setAttr("storage", TypeAttr::get(storage)); };
  if (auto stochastic = dyn_cast<StochasticType>(stream.storage))
    return setStorage(stochastic.getStorage());
  auto corrected = dyn_cast<CorrectedType>(stream.storage);
  if (!corrected)
    return;
  setStorage(corrected.getStorage());

  OpBuilder builder(stream.op);
  Location loc = stream.op->getLoc();
  std::string name = "param";
  Value initial;
  if (auto state = dyn_cast<StateOp>(stream.op)) {
    Parts parts = BitBuilder(loc, builder).split(state.getInitial());
    state.getInitialMutable().assign(parts.upper);
    initial = parts.correction;
    name = state.getName();
  } else {
    initial = arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0));
  }
  builder.setInsertionPointAfter(stream.op);
  Location correctionLoc = NameLoc::get(builder.getStringAttr(name + "_correction"), loc);
  stream.correction =
      StateOp::create(builder, correctionLoc, stream.value.getType(), name + "_correction",
                      Extent::element, builder.getI8Type(), initial);
  Value value = stream.value;
  llvm::SmallPtrSet<Operation *, 8> users(value.user_begin(), value.user_end());
  stream.value = BitBuilder(loc, builder).combine({value, stream.correction});
  value.replaceUsesWithIf(stream.value,
                          [&](OpOperand &use) { return users.contains(use.getOwner()); });
}

Value StorageExpander::roundStochastically(const Stream &stream, Value value) {
  Value word = randomWord(stream.number / valuesPerWord);
  OpBuilder builder(next);
  return BitBuilder(stream.op->getLoc(), builder)
      .roundStochastically(value, word, stream.number % valuesPerWord);
}

Value StorageExpander::randomWord(unsigned index) {
  OpBuilder builder(next);
  while (randomWords.size() <= index)
    randomWords.push_back(RandomOp::create(
        builder, unnamed(next->getParentOp()->getLoc()), builder.getI64Type(),
        builder.getI64IntegerAttr(firstRandomStream + int64_t(randomWords.size()))));
  return randomWords[index];
}

struct ExpandStoragePass : impl::ExpandStoragePassBase<ExpandStoragePass> {
  void runOnOperation() override {
    for (RuleOp rule : formsIn<RuleOp>(getOperation()))
      expandedStreams += StorageExpander(rule).run();
  }
};

} // namespace
} // namespace updraft
