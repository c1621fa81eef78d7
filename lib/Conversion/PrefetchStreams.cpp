//===- PrefetchStreams.cpp - Prefetches streams of loops over vectors -------------------------===//
// The hardware prefetches few streams, and not across pages. The operations between two loads of a
// stream limit how early a CPU can begin the second. A step has up to eight streams.

#include "IterationAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "updraft/Conversion/Passes.h"

#include <limits>

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_PREFETCHSTREAMSPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// A loop over elements, and the place from which its streams are prefetched.
class Prefetcher {
public:
  Prefetcher(scf::ForOp loop, int64_t distance) : loop(loop), distance(distance) {}

  /// Prefetches each stream once, at its first load. Returns the number of streams.
  unsigned run();

private:
  bool accessesStreams();
  scf::ForOp loopOverStream();
  Value makeConstant(OpBuilder &builder, int64_t value) {
    return arith::ConstantOp::create(builder, loop.getLoc(), builder.getI64IntegerAttr(value));
  }
  Value ahead(OpBuilder &builder);
  Value aheadInStream(OpBuilder &builder);
  void prefetch(OpBuilder &builder, const IterationAccess &access);

  scf::ForOp loop;
  int64_t distance;
  Value numberAhead, inStream; ///< created on demand
};

// Returns the loop over the whole stream; this loop may process one of its blocks.
scf::ForOp Prefetcher::loopOverStream() {
  scf::ForOp outermost = loop;
  for (auto outer = loop->getParentOfType<scf::ForOp>();
       outer && outermost.getLowerBound() == outer.getInductionVar();
       outer = outer->getParentOfType<scf::ForOp>())
    outermost = outer;
  return outermost;
}

Value Prefetcher::ahead(OpBuilder &builder) {
  if (!numberAhead)
    numberAhead = arith::AddIOp::create(builder, loop.getLoc(), loop.getInductionVar(),
                                        makeConstant(builder, distance));
  return numberAhead;
}

// The next tensor usually follows the end of a stream. But a stream that is shorter than the
// distance would then never be prefetched, and a row that this step skips may follow it. The place
// is therefore at most its last vector.
Value Prefetcher::aheadInStream(OpBuilder &builder) {
  if (inStream)
    return inStream;
  scf::ForOp whole = loopOverStream();
  OpBuilder before(loop);
  Location loc = loop.getLoc();
  Value end = whole.getUpperBound();
  Value length = arith::SubIOp::create(before, loc, end, whole.getLowerBound());
  Value isShort = arith::CmpIOp::create(before, loc, arith::CmpIPredicate::slt, length,
                                        makeConstant(before, distance));
  Value last = arith::SelectOp::create(before, loc, isShort,
                                       arith::SubIOp::create(before, loc, end, loop.getStep()),
                                       makeConstant(before, std::numeric_limits<int64_t>::max()));
  inStream = arith::MinSIOp::create(builder, loc, ahead(builder), last);
  return inStream;
}

void Prefetcher::prefetch(OpBuilder &builder, const IterationAccess &access) {
  // With an origin, the stream continues after the loop, in the next row.
  SmallVector<Value> indices;
  if (access.origin)
    indices = {access.origin, ahead(builder)};
  else
    indices = {aheadInStream(builder)};
  PrefetchOp::create(builder, loop.getLoc(), access.elements, indices);
}

bool Prefetcher::accessesStreams() {
  return llvm::any_of(*loop.getBody(), [](Operation &op) {
    auto read = dyn_cast<ReadOp>(op);
    auto write = dyn_cast<WriteOp>(op);
    return (read && !isScratch(read.getElements())) || (write && !isScratch(write.getElements()));
  });
}

// In a loop that accesses streams, scratch memory counts as one, although the element ahead may be
// in another block. With states in blocks, this was measured to save 4 % of a step on an Emerald
// Rapids Xeon.
unsigned Prefetcher::run() {
  if (!accessesStreams())
    return 0;
  llvm::SmallDenseSet<Value> streams;
  for (auto read : llvm::to_vector(loop.getBody()->getOps<ReadOp>())) {
    std::optional<IterationAccess> access = IterationAccess::match(read, loop);
    if (!access || !isa<VectorType>(read.getType()) || !streams.insert(access->elements).second)
      continue;
    OpBuilder builder(read);
    prefetch(builder, *access);
  }
  return streams.size();
}

struct PrefetchStreamsPass : impl::PrefetchStreamsPassBase<PrefetchStreamsPass> {
  using PrefetchStreamsPassBase::PrefetchStreamsPassBase;

  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp loop) {
      if (loop.getInductionVar().getType().isInteger(64))
        prefetchedStreams += Prefetcher(loop, distance).run();
    });
  }
};

} // namespace
} // namespace updraft
