//===- MatrixLayoutTests.cpp - Matrices that are needed at one time don't overlap -------------===//

#include "runtime/optimizer/MatrixLayout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace updraft::runtime;

namespace {

/// A plan with the parameter, its gradient and matrices of f32.
PlanInterface planWith(const std::vector<Extent> &matrices) {
  using Kind = StreamInterface::Kind;
  PlanInterface plan;
  plan.streams = {{Kind::Param, UPD_F32, Extent::Element}, {Kind::Grad, UPD_F32, Extent::Element}};
  plan.firstTemporary = 2;
  for (Extent over : matrices)
    plan.streams.push_back({Kind::Temporary, UPD_F32, over});
  return plan;
}

void addProduct(PlanInterface &plan, uint32_t lhs, uint32_t rhs, uint32_t result) {
  plan.sequence.push_back(StageInterface::product(static_cast<uint32_t>(plan.products.size())));
  plan.products.push_back({lhs, rhs, result});
}

void addCall(PlanInterface &plan, uint32_t operand, uint32_t result) {
  plan.sequence.push_back(StageInterface::call(static_cast<uint32_t>(plan.calls.size())));
  plan.calls.push_back({MatrixFunction::QR, {operand}, result});
}

void addSweep(PlanInterface &plan, Extent over, std::vector<uint32_t> reads,
              std::vector<uint32_t> makes) {
  plan.sequence.push_back(StageInterface::sweep(static_cast<uint32_t>(plan.sweeps.size())));
  plan.sweeps.push_back({std::move(reads), {}, std::move(makes)});
  plan.sweeps.back().over = over;
}

TensorShape shapeOf(int64_t rows, int64_t columns) { return {1, rows, columns}; }

size_t bytesOf(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

/// Two steps of a Newton-Schulz iteration, as they are compiled.
PlanInterface newtonSchulz() {
  constexpr uint32_t grad = 1, x = 2, bx = 3, gram = 4, polynomial = 5;
  PlanInterface plan =
      planWith({Extent::Element, Extent::Element, Extent::RowsByRows, Extent::RowsByRows});
  addSweep(plan, Extent::Element, {grad}, {x});
  for (int step = 0; step < 2; ++step) {
    addProduct(plan, x, x, gram);
    addProduct(plan, gram, gram, polynomial);
    addSweep(plan, Extent::RowsByRows, {gram, polynomial}, {polynomial});
    addProduct(plan, polynomial, x, bx);
    addSweep(plan, Extent::Element, {x, bx}, {x});
  }
  return plan;
}

} // namespace

TEST(MatrixLayout, MatricesThatAreNotNeededTogetherShareMemory) {
  const PlanInterface plan = newtonSchulz();
  const MatrixLayout layout(plan);
  EXPECT_EQ(layout.streams(), (std::vector<uint32_t>{2, 3, 4, 5}));
  // The Gram matrix is where the last product is made.
  EXPECT_EQ(layout.place(shapeOf(64, 64)).bytes, bytesOf(3 * 64 * 64));
  EXPECT_EQ(layout.place(shapeOf(64, 256)).bytes, bytesOf(2 * 64 * 256 + 64 * 64));
  // Two squares are larger than a tall matrix.
  EXPECT_EQ(layout.place(shapeOf(256, 64)).bytes, bytesOf(256 * 64 + 2 * 256 * 256));
  EXPECT_EQ(layout.place(shapeOf(0, 64)).bytes, 0u);
}

TEST(MatrixLayout, CallsThatFollowEachOtherRunAtOneTime) {
  PlanInterface plan = planWith({Extent::RowsByRows, Extent::RowsByRows, Extent::Element});
  addSweep(plan, Extent::RowsByRows, {0}, {2});
  addCall(plan, 2, 3);
  addCall(plan, 3, 4);
  // Without the second call's time, stream 4 could be where stream 2 was.
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 8)).bytes, bytesOf(3 * 8 * 8));
}

TEST(MatrixLayout, FindsMatricesOfAnotherSection) {
  const PlanInterface plan = newtonSchulz();
  const MatrixLayout layout(plan);
  const size_t stages = plan.sequence.size();
  auto endsAt = [&](size_t end) {
    return [=](size_t stage) { return stage < end ? end : stages; };
  };
  for (size_t end = 1; end < stages; ++end)
    EXPECT_TRUE(layout.outlivesSections(endsAt(end))) << end;
  EXPECT_FALSE(layout.outlivesSections(endsAt(stages)));

  PlanInterface parts = planWith({Extent::Element, Extent::Element});
  addSweep(parts, Extent::Element, {1}, {2});
  addProduct(parts, 2, 2, 3);
  addSweep(parts, Extent::Element, {1}, {2});
  addProduct(parts, 2, 2, 3);
  const MatrixLayout ofParts(parts);
  EXPECT_TRUE(ofParts.outlivesSections([](size_t stage) { return stage + 1; }));
  EXPECT_FALSE(ofParts.outlivesSections([](size_t stage) { return stage + 2; }));
}

namespace {

/// The memory of a tensor, with the number of the value that is in each unit.
class Memory {
public:
  Memory(const PlanInterface &plan, const MatrixLayout &layout, const TensorShape &shape)
      : plan(plan), layout(layout), shape(shape), places(layout.place(shape)),
        units(places.bytes / unit), values(plan.streams.size()) {}

  bool isMatrixStream(uint32_t stream) const { return stream >= plan.firstTemporary; }
  void make(uint32_t stream) {
    values[stream] = ++last;
    forUnits(stream, [&](int64_t &value) { value = last; });
  }
  bool hasValue(uint32_t stream) {
    bool has = true;
    forUnits(stream, [&](int64_t value) { has &= value == values[stream]; });
    return has;
  }

private:
  static constexpr size_t unit = 64;

  template <typename Body> void forUnits(uint32_t stream, Body body) {
    const size_t begin = places.offsets[stream - plan.firstTemporary] / unit;
    const size_t bytes = bytesOf(shape.count(plan.streams[stream].over));
    for (size_t i = 0; i < (bytes + unit - 1) / unit; ++i)
      body(units.at(begin + i));
  }

  const PlanInterface &plan;
  const MatrixLayout &layout;
  TensorShape shape;
  MatrixLayout::Places places;
  std::vector<int64_t> units, values;
  int64_t last = 0;
};

struct Access {
  std::vector<uint32_t> reads, makes;
};

Access accessOf(const PlanInterface &plan, const StageInterface &stage) {
  switch (stage.kind) {
  case StageInterface::Kind::Product: {
    const ProductInterface &product = plan.products[stage.index];
    return {{product.lhs, product.rhs}, {product.result}};
  }
  case StageInterface::Kind::Call:
    return {plan.calls[stage.index].operands, {plan.calls[stage.index].result}};
  default:
    return {plan.sweeps[stage.index].reads, plan.sweeps[stage.index].makes};
  }
}

/// Stages of random kinds, whose operands have been made.
PlanInterface randomPlan(std::mt19937 &random) {
  const Extent extents[] = {Extent::Element, Extent::RowsByRows, Extent::ColumnsByColumns};
  std::vector<Extent> matrices(2 + random() % 7);
  for (Extent &over : matrices)
    over = extents[random() % 3];
  PlanInterface plan = planWith(matrices);
  std::vector<uint32_t> made;
  auto anyMade = [&] { return made.empty() ? 1u : made[random() % made.size()]; };
  for (size_t stage = 0; stage < 4 + random() % 20; ++stage) {
    const auto result = static_cast<uint32_t>(2 + random() % matrices.size());
    const uint32_t first = anyMade(), second = anyMade();
    const bool isInPlace = first == result || second == result;
    if (isInPlace || random() % 3 == 0)
      addSweep(plan, plan.streams[result].over, {first, second}, {result});
    else if (random() % 2 == 0)
      addProduct(plan, first, second, result);
    else
      addCall(plan, first, result);
    if (std::find(made.begin(), made.end(), result) == made.end())
      made.push_back(result);
  }
  return plan;
}

} // namespace

TEST(MatrixLayout, NoStageOverwritesWhatIsStillRead) {
  std::mt19937 random(5);
  size_t shared = 0;
  for (int round = 0; round < 2000; ++round) {
    const PlanInterface plan = randomPlan(random);
    const MatrixLayout layout(plan);
    const TensorShape shape = shapeOf(4 + random() % 40, 4 + random() % 40);
    Memory memory(plan, layout, shape);
    size_t separate = 0;
    for (const uint32_t stream : layout.streams())
      separate += (bytesOf(shape.count(plan.streams[stream].over)) + 63) / 64 * 64;
    ASSERT_LE(layout.place(shape).bytes, separate);
    shared += layout.place(shape).bytes < separate;
    for (const StageInterface &stage : plan.sequence) {
      const auto [reads, makes] = accessOf(plan, stage);
      const bool isSweep = stage.isSweep();
      for (const uint32_t stream : reads)
        ASSERT_TRUE(!memory.isMatrixStream(stream) || memory.hasValue(stream)) << round;
      for (const uint32_t stream : makes)
        memory.make(stream);
      // A sweep may write where it reads; others read while they write.
      for (const uint32_t stream : reads)
        if (memory.isMatrixStream(stream) && !(isSweep && stream == makes[0]))
          ASSERT_TRUE(memory.hasValue(stream)) << round;
    }
  }
  EXPECT_GT(shared, 300u);
}
