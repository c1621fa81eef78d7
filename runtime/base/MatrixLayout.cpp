//===- MatrixLayout.cpp - Places of the matrices that a plan makes ----------------------------===//
// A plan of the compiler has a stream for each matrix. Which ones fit into the memory of others
// depends on the tensor. Plans in packages of earlier versions make several matrices in a stream.

#include "runtime/base/MatrixLayout.h"

#include "runtime/base/Alignment.h"
#include "runtime/base/DType.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace updraft::runtime;

/// Returns for each stage of a plan the number of the stages that run at the same time: calls, and
/// sweeps over the same unit, that follow each other.
static std::vector<size_t> timesOf(const PlanInterface &plan) {
  std::vector<size_t> times(plan.sequence.size());
  auto isTogether = [&](const StageInterface &first, const StageInterface &second) {
    return first.isSweep() && second.isSweep() &&
           plan.sweeps[first.index].over == plan.sweeps[second.index].over;
  };
  size_t callsEnd = 0;
  for (size_t stage = 0; stage < times.size(); ++stage) {
    if (stage != 0)
      times[stage] = times[stage - 1] + (stage >= callsEnd && !isTogether(plan.sequence[stage - 1],
                                                                          plan.sequence[stage]));
    if (stage >= callsEnd && plan.sequence[stage].kind == StageInterface::Kind::Call)
      callsEnd = plan.callsEndFrom(stage);
  }
  return times;
}

MatrixLayout::MatrixLayout(const PlanInterface &planOfAll) : plan(planOfAll) {
  for (uint32_t stream = plan.firstTemporary; stream < plan.streams.size(); ++stream)
    if (isMatrix(plan.streams[stream].over))
      matrices.push_back(stream);
  if (matrices.empty())
    return;
  lifetimes.resize(matrices.size());
  for (size_t stage = 0; stage < plan.sequence.size(); ++stage) {
    const auto [kind, index, byTensor, condition] = plan.sequence[stage];
    if (kind == StageInterface::Kind::Product) {
      const ProductInterface &product = plan.products[index];
      addRead(product.lhs, stage);
      addRead(product.rhs, stage);
      if (product.addend)
        addRead(*product.addend, stage);
      addMade(product.result, stage);
    } else if (kind == StageInterface::Kind::Call) {
      for (const uint32_t operand : plan.calls[index].operands)
        addRead(operand, stage);
      addMade(plan.calls[index].result, stage);
    } else if (kind == StageInterface::Kind::Sweep) {
      for (const uint32_t stream : plan.sweeps[index].reads)
        addRead(stream, stage);
      for (const uint32_t stream : plan.sweeps[index].makes)
        addMade(stream, stage);
    }
  }
  const std::vector<size_t> times = timesOf(plan);
  relations.assign(matrices.size(), std::vector<Relation>(matrices.size()));
  for (size_t first = 0; first < matrices.size(); ++first)
    for (size_t second = 0; second <= first; ++second)
      relations[first][second] = relations[second][first] = relate(first, second, times);
}

// `times` has a number for each stage.
MatrixLayout::Relation MatrixLayout::relate(size_t first, size_t second,
                                            const std::vector<size_t> &times) const {
  const StreamInterface &ofFirst = plan.streams[matrices[first]];
  const StreamInterface &ofSecond = plan.streams[matrices[second]];
  const bool sameType = ofFirst.dtype == ofSecond.dtype && ofFirst.over == ofSecond.over;
  // A sweep reads an element before it makes the one of the same place.
  auto replaces = [&](const Lifetime &next, const Lifetime &before) {
    return sameType && plan.sequence[next.made].isSweep() && before.made < next.made &&
           before.read <= next.made;
  };
  Relation relation = Relation::Free;
  for (const Lifetime &a : lifetimes[first])
    for (const Lifetime &b : lifetimes[second]) {
      if (times[a.made] > times[b.read] || times[b.made] > times[a.read] ||
          plan.areExclusive(plan.sequence[a.made], plan.sequence[b.made]))
        continue;
      if (!replaces(a, b) && !replaces(b, a))
        return Relation::Apart;
      relation = Relation::Replaced;
    }
  return relation;
}

std::vector<MatrixLayout::Lifetime> *MatrixLayout::lifetimesOf(uint32_t stream) {
  const auto found = std::lower_bound(matrices.begin(), matrices.end(), stream);
  const bool isMatrix = found != matrices.end() && *found == stream;
  return isMatrix ? &lifetimes[static_cast<size_t>(found - matrices.begin())] : nullptr;
}

void MatrixLayout::addMade(uint32_t stream, size_t stage) {
  if (std::vector<Lifetime> *ofMatrix = lifetimesOf(stream))
    ofMatrix->push_back({stage, stage});
}

void MatrixLayout::addRead(uint32_t stream, size_t stage) {
  std::vector<Lifetime> *ofMatrix = lifetimesOf(stream);
  if (!ofMatrix)
    return;
  if (ofMatrix->empty()) // a rule that isn't from the compiler: as if the first stage had made it
    ofMatrix->push_back({0, 0});
  ofMatrix->back().read = stage;
}

bool MatrixLayout::isNeededAcross(size_t stage) const {
  return std::any_of(lifetimes.begin(), lifetimes.end(), [&](const auto &ofMatrix) {
    return std::any_of(ofMatrix.begin(), ofMatrix.end(), [&](const Lifetime &lifetime) {
      return lifetime.made < stage && stage <= lifetime.read;
    });
  });
}

bool MatrixLayout::outlivesSections(const std::function<size_t(size_t)> &sectionEnd) const {
  for (size_t stage = 0; stage < plan.sequence.size();) {
    if (isNeededAcross(stage))
      return true;
    stage = std::max(sectionEnd(stage), stage + 1);
  }
  return false;
}

size_t MatrixLayout::bytesOf(size_t matrix, const TensorShape &shape) const {
  const StreamInterface &stream = plan.streams[matrices[matrix]];
  return alignedSize(static_cast<size_t>(shape.count(stream.over)) * sizeOf(stream.dtype));
}

// The largest come first, each at the lowest offset where it is in no other one's way.
MatrixLayout::Places MatrixLayout::place(const TensorShape &shape) const {
  std::vector<size_t> order(matrices.size()), bytes(matrices.size());
  std::iota(order.begin(), order.end(), size_t(0));
  for (const size_t matrix : order)
    bytes[matrix] = bytesOf(matrix, shape);
  std::sort(order.begin(), order.end(), [&](size_t first, size_t second) {
    return bytes[first] != bytes[second] ? bytes[first] > bytes[second] : first < second;
  });
  Places places{0, std::vector<size_t>(matrices.size())};
  for (auto next = order.begin(); next != order.end(); ++next) {
    const size_t matrix = *next;
    auto fits = [&](size_t offset) {
      return std::none_of(order.begin(), next, [&](size_t other) {
        const size_t place = places.offsets[other];
        const Relation relation = relations[matrix][other];
        return relation != Relation::Free && offset < place + bytes[other] &&
               place < offset + bytes[matrix] && (relation == Relation::Apart || offset != place);
      });
    };
    size_t chosen = fits(0) ? 0 : std::numeric_limits<size_t>::max();
    for (auto other = order.begin(); other != next; ++other)
      for (const size_t offset : {places.offsets[*other], places.offsets[*other] + bytes[*other]})
        if (offset < chosen && fits(offset))
          chosen = offset;
    places.offsets[matrix] = chosen;
    places.bytes = std::max(places.bytes, chosen + bytes[matrix]);
  }
  return places;
}
