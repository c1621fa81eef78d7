//===- ElementCode.cpp - The code for the elements of a sequence ------------------------------===//
// The same on every target, except for the hooks of SweepAccess.

#include "KernelMemory.h"
#include "SweepAccess.h"
#include "VectorBody.h"

using namespace mlir;

namespace updraft {

// Whether the stream has a value for each element of a sequence. Others have one for all of them.
bool SweepAccess::isOfSequence(const StreamAccess &stream) {
  return stream.over() == sweep.getOver() || stream.over() == Extent::column;
}

// Returns where the sequence starts in such a stream.
Value SweepAccess::originOf(const StreamAccess &stream) {
  if (stream.over() == sweep.getOver())
    return origin.element;
  return stream.stream.getDefiningOp() == sweep ? origin.sum : origin.column;
}

// Returns a known alignment in bytes, or 0.
unsigned SweepAccess::alignmentOf(Type type, const ElementRange &range) const {
  if (!range.isAligned)
    return 0;
  auto vector = dyn_cast<VectorType>(type);
  unsigned bytes = elementBytes(type) * (vector ? vector.getNumElements() : 1);
  return std::min(bytes, accessBytes);
}

Value SweepAccess::read(Location loc, const ElementPlace &place, Type element,
                        const ElementRange &range) {
  Type type = laneType(element, range.lanes);
  return ReadOp::create(builder, loc, type, place.elements, place.indices, range.mask,
                        alignmentOf(type, range));
}

void SweepAccess::write(Location at, Value values, const ElementPlace &place,
                        const ElementRange &range) {
  WriteOp::create(builder, at, values, place.elements, place.indices, range.mask,
                  alignmentOf(values.getType(), range));
}

// Reads the values of `stream`, as `type`.
Value SweepAccess::readOperand(const StreamAccess &stream, Type type, const ElementRange &range) {
  if (!isOfSequence(stream)) {
    const Uniform &value = uniforms.find(stream.stream)->second;
    return range.lanes == 1 ? value.scalar : value.vector;
  }
  Location name = stream.stream.getLoc();
  Value stored = read(name, placeOf(stream, range.number), stream.memoryType(), range);
  if (stream.blocks)
    return stream.blocks->widen(builder, name, stored, decodingOf(stream, range.lanes), type);
  return stream.storage->widen(builder, name, stored, type);
}

void SweepAccess::computeElements(const ElementRange &range) {
  SmallVector<Value> arguments = uniformArguments(range.lanes);
  auto blockArguments = sweep.getBody().getArguments().drop_front(arguments.size());
  for (auto [stream, argument] : llvm::zip_equal(reads, blockArguments))
    arguments.push_back(readOperand(stream, argument.getType(), range));
  SmallVector<Value> results = bodyOf(arguments, range);

  // The operands of `updraft.store` are in the order: writes, reductions, temporaries.
  ArrayRef<Value> values(results);
  const size_t written = sweep.getWrites().size();
  for (auto [index, access] : llvm::enumerate(reductions)) {
    Value value = values[written + index];
    if (access.hasLanes())
      addToLanes(index, value, range);
    else
      accumulate(builder, reductionLocation(index), access.reduction.getKind(), value,
                 placeOf(*access.stream, range.number), range.mask);
  }
  SmallVector<Value> stored(values.take_front(written));
  llvm::append_range(stored, values.drop_front(written + reductions.size()));
  for (auto [stream, value] : llvm::zip_equal(writes, stored)) {
    if (stream.blocks)
      keepForBlock(stream, value, range);
    else
      write(writeLocation(stream), narrow(stream, value), placeOf(stream, range.number), range);
  }
}

} // namespace updraft
