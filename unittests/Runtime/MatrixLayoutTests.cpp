//===- MatrixLayoutTests.cpp - Matrices that are needed at one time don't overlap -------------===//

#include "runtime/base/MatrixLayout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

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

/// Two steps of a Newton-Schulz iteration, as in packages of earlier versions: each iteration makes
/// the matrices of the same streams.
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

TEST(MatrixLayout, ASweepMakesAMatrixWhereItReadsOne) {
  PlanInterface plan = planWith({Extent::Element, Extent::Element, Extent::RowsByRows});
  addSweep(plan, Extent::Element, {1}, {2});
  addSweep(plan, Extent::Element, {2}, {3});
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 16)).bytes, bytesOf(8 * 16));
  // A later stage reads the first matrix, too.
  addProduct(plan, 3, 2, 4);
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 16)).bytes, bytesOf(2 * 8 * 16 + 8 * 8));
}

// X, B X + X and so on take turns with the square matrices, none of which is where it was before.
TEST(MatrixLayout, IterationsOfSumsInProductsNeedThreeMatrices) {
  PlanInterface plan = planWith({});
  uint32_t x = 1;
  auto add = [&](Extent over, uint32_t lhs, uint32_t rhs, uint32_t addend) {
    const auto result = static_cast<uint32_t>(plan.streams.size());
    plan.streams.push_back({StreamInterface::Kind::Temporary, UPD_F32, over});
    addProduct(plan, lhs, rhs, result);
    plan.products.back().addend = addend;
    return result;
  };
  auto addGram = [&] {
    const auto result = static_cast<uint32_t>(plan.streams.size());
    plan.streams.push_back({StreamInterface::Kind::Temporary, UPD_F32, Extent::RowsByRows});
    addProduct(plan, x, x, result);
    return result;
  };
  x = add(Extent::Element, x, x, x);
  for (int step = 0; step < 5; ++step) {
    const uint32_t gram = addGram();
    const uint32_t polynomial = add(Extent::RowsByRows, gram, gram, gram);
    x = add(Extent::Element, polynomial, x, x);
  }
  const MatrixLayout layout(plan);
  EXPECT_EQ(layout.place(shapeOf(64, 64)).bytes, bytesOf(3 * 64 * 64));
  EXPECT_EQ(layout.place(shapeOf(64, 256)).bytes, bytesOf(2 * 64 * 256 + 64 * 64));
}

// No later stage reads the addend, and the product multiplies others.
TEST(MatrixLayout, AnAddendIsNeededByItsProduct) {
  PlanInterface plan = planWith({Extent::Element, Extent::RowsByRows, Extent::Element});
  addSweep(plan, Extent::Element, {1}, {2});
  addProduct(plan, 1, 1, 3);
  addProduct(plan, 3, 1, 4);
  plan.products.back().addend = 2;
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 8)).bytes, bytesOf(3 * 8 * 8));
}

/// The bytes for a matrix and two calls, of which the first reads it.
static size_t bytesOfCalls(uint32_t operandOfSecond) {
  PlanInterface plan = planWith({Extent::RowsByRows, Extent::RowsByRows, Extent::Element});
  addSweep(plan, Extent::RowsByRows, {0}, {2});
  addCall(plan, 2, 3);
  addCall(plan, operandOfSecond, 4);
  return MatrixLayout(plan).place(shapeOf(8, 8)).bytes;
}

TEST(MatrixLayout, CallsThatDontDependOnEachOtherRunAtOneTime) {
  // Without the second call's time, stream 4 could be where stream 2 was.
  EXPECT_EQ(bytesOfCalls(0), bytesOf(3 * 8 * 8));
}

TEST(MatrixLayout, MatricesOfExclusiveConditionsShareMemory) {
  PlanInterface plan = planWith({Extent::Element, Extent::Element, Extent::Element});
  for (const uint32_t made : {2, 3, 4})
    addSweep(plan, Extent::Element, {1}, {made});
  plan.sequence[0].condition = 1;
  plan.sequence[1].condition = 2;
  addSweep(plan, Extent::Element, {2, 3, 4}, {});
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 8)).bytes, bytesOf(3 * 8 * 8));
  plan.exclusiveConditions = {{1, 2}};
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 8)).bytes, bytesOf(2 * 8 * 8));
  plan.exclusiveConditions = {{1, 3}};
  EXPECT_EQ(MatrixLayout(plan).place(shapeOf(8, 8)).bytes, bytesOf(3 * 8 * 8));
}

TEST(MatrixLayout, ACallThatReadsTheResultOfAnotherRunsLater) {
  EXPECT_EQ(bytesOfCalls(3), bytesOf(2 * 8 * 8));
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

/// A value of a stream, by its number. 0 is the one before the first stage.
struct StreamValue {
  uint32_t stream;
  int64_t value;
};

/// The values that a stage reads, and the one that it makes.
struct Job {
  std::vector<StreamValue> reads;
  StreamValue made;
};

/// The memory of a tensor, with the number of the value that is in each unit.
class Memory {
public:
  Memory(const PlanInterface &plan, const MatrixLayout &layout, const TensorShape &shape)
      : plan(plan), shape(shape), places(layout.place(shape)), units(places.bytes / unitBytes) {}

  size_t unitsOf(uint32_t stream) const {
    if (stream < plan.firstTemporary)
      return 0;
    return (bytesOf(shape.count(plan.streams[stream].over)) + unitBytes - 1) / unitBytes;
  }
  bool hasAt(const StreamValue &value, size_t unit) {
    return unit >= unitsOf(value.stream) || at(value.stream, unit) == value.value;
  }
  void setAt(const StreamValue &value, size_t unit) {
    if (unit < unitsOf(value.stream))
      at(value.stream, unit) = value.value;
  }

private:
  static constexpr size_t unitBytes = 64;

  int64_t &at(uint32_t stream, size_t unit) {
    return units.at(places.offsets[stream - plan.firstTemporary] / unitBytes + unit);
  }

  const PlanInterface &plan;
  TensorShape shape;
  MatrixLayout::Places places;
  std::vector<int64_t> units;
};

/// Runs the stages of a plan as the runtime does: sweeps over the same matrices take a unit of
/// memory after another through all of them, and calls that don't depend on one another run in any
/// order. Leaves out the stages with a condition that is not in `holding`.
class Machine {
public:
  Machine(const PlanInterface &plan, const MatrixLayout &layout, const TensorShape &shape,
          const std::set<uint32_t> &holding = {})
      : plan(plan), memory(plan, layout, shape), holding(holding), values(plan.streams.size()) {}

  /// Whether each stage finds what it reads.
  bool run() {
    for (size_t stage = 0; stage < plan.sequence.size();) {
      const size_t end = endOf(stage);
      std::vector<Job> jobs;
      for (size_t next = stage; next < end; ++next)
        if (const uint32_t condition = plan.sequence[next].condition;
            condition == 0 || holding.contains(condition))
          jobs.push_back(jobOf(plan.sequence[next]));
      if (!jobs.empty() && (plan.sequence[stage].isSweep() ? !runSweeps(jobs) : !runWhole(jobs)))
        return false;
      stage = end;
    }
    return true;
  }

private:
  size_t endOf(size_t stage) const {
    const StageInterface &first = plan.sequence[stage];
    if (first.kind == StageInterface::Kind::Call)
      return plan.callsEndFrom(stage);
    size_t end = stage + 1;
    while (first.isSweep() && end < plan.sequence.size() && plan.sequence[end].isSweep() &&
           plan.sweeps[plan.sequence[end].index].over == plan.sweeps[first.index].over)
      ++end;
    return end;
  }

  Job jobOf(const StageInterface &stage) {
    std::vector<uint32_t> reads;
    uint32_t made = 0;
    if (stage.kind == StageInterface::Kind::Product) {
      const ProductInterface &product = plan.products[stage.index];
      reads = {product.lhs, product.rhs};
      if (product.addend)
        reads.push_back(*product.addend);
      made = product.result;
    } else if (stage.kind == StageInterface::Kind::Call) {
      reads = plan.calls[stage.index].operands;
      made = plan.calls[stage.index].result;
    } else {
      reads = plan.sweeps[stage.index].reads;
      made = plan.sweeps[stage.index].makes.front();
    }
    Job job{{}, {made, ++last}};
    for (const uint32_t stream : reads)
      if (values[stream] != 0) // else its stage was left out, and any value will do
        job.reads.push_back({stream, values[stream]});
    values[made] = last;
    return job;
  }

  bool hasAll(const Job &job, size_t unit) {
    return std::all_of(job.reads.begin(), job.reads.end(),
                       [&](const StreamValue &value) { return memory.hasAt(value, unit); });
  }

  bool runSweeps(const std::vector<Job> &jobs) {
    for (size_t unit = 0; unit < memory.unitsOf(jobs.front().made.stream); ++unit)
      for (const Job &job : jobs) {
        if (!hasAll(job, unit))
          return false;
        memory.setAt(job.made, unit);
      }
    return true;
  }

  /// Products and calls read all of their operands while they write.
  bool runWhole(const std::vector<Job> &jobs) {
    size_t units = 0;
    for (uint32_t stream = 0; stream < plan.streams.size(); ++stream)
      units = std::max(units, memory.unitsOf(stream));
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)
      for (size_t unit = 0; unit < units; ++unit)
        memory.setAt(job->made, unit);
    for (const Job &job : jobs)
      for (size_t unit = 0; unit < units; ++unit)
        if (!hasAll(job, unit))
          return false;
    return true;
  }

  const PlanInterface &plan;
  Memory memory;
  std::set<uint32_t> holding;
  std::vector<int64_t> values; // the newest of each stream
  int64_t last = 0;
};

/// Stages of random kinds, whose operands have been made. Sweeps read matrices of their own shape,
/// and often follow each other. Each result is a stream of its own, and about half of the stages
/// have a condition from 1 to 3, of which 1 and 2 exclude each other. Or, as in packages of earlier
/// versions, each result is one of a few streams.
PlanInterface randomPlan(std::mt19937 &random, bool reusesStreams) {
  const Extent extents[] = {Extent::Element, Extent::RowsByRows, Extent::ColumnsByColumns};
  std::vector<Extent> matrices(2 + random() % 7);
  for (Extent &over : matrices)
    over = extents[random() % 3];
  PlanInterface plan = planWith(matrices);
  std::vector<uint32_t> made;
  auto anyMade = [&](auto isWanted) {
    std::vector<uint32_t> wanted;
    std::copy_if(made.begin(), made.end(), std::back_inserter(wanted), isWanted);
    return wanted.empty() ? uint32_t(StreamIndex::Grad) : wanted[random() % wanted.size()];
  };
  const size_t stages = 4 + random() % 20;
  for (size_t stage = 0; stage < stages; ++stage) {
    auto result = static_cast<uint32_t>(2 + random() % matrices.size());
    if (!reusesStreams) {
      result = static_cast<uint32_t>(plan.streams.size());
      plan.streams.push_back({StreamInterface::Kind::Temporary, UPD_F32, extents[random() % 3]});
    }
    const Extent over = plan.streams[result].over;
    auto isOther = [&](uint32_t stream) { return stream != result; };
    auto isAlike = [&](uint32_t stream) { return plan.streams[stream].over == over; };
    if (random() % 2 == 0)
      addSweep(plan, over, {anyMade(isAlike), anyMade(isAlike)}, {result});
    else if (random() % 2 == 0) {
      addProduct(plan, anyMade(isOther), anyMade(isOther), result);
      if (random() % 2 == 0)
        plan.products.back().addend =
            anyMade([&](uint32_t stream) { return isOther(stream) && isAlike(stream); });
    } else
      addCall(plan, anyMade(isOther), result);
    if (!reusesStreams && random() % 2 == 0)
      plan.sequence.back().condition = static_cast<uint32_t>(1 + random() % 3);
    if (std::find(made.begin(), made.end(), result) == made.end())
      made.push_back(result);
  }
  if (!reusesStreams)
    plan.exclusiveConditions = {{1, 2}};
  return plan;
}

} // namespace

// A sweep writes the first elements of `z` while another one still has to read the last ones of
// `x`.
TEST(MatrixLayout, SweepsThatFollowEachOtherRunAtOneTime) {
  constexpr uint32_t grad = 1, v = 2, x = 3, y = 4, z = 5, square = 6;
  PlanInterface plan = planWith({Extent::Element, Extent::Element, Extent::Element, Extent::Element,
                                 Extent::ColumnsByColumns});
  addSweep(plan, Extent::Element, {grad}, {v});
  addProduct(plan, v, v, x);
  addSweep(plan, Extent::Element, {x}, {y});
  addSweep(plan, Extent::Element, {y}, {z});
  addProduct(plan, z, z, square);
  addSweep(plan, Extent::ColumnsByColumns, {square}, {square});
  const MatrixLayout layout(plan);
  const TensorShape shape = shapeOf(32, 48);
  EXPECT_TRUE(Machine(plan, layout, shape).run());
  const std::vector<size_t> offsets = layout.place(shape).offsets;
  const size_t first = offsets[x - 2], second = offsets[z - 2], bytes = bytesOf(32 * 48);
  EXPECT_TRUE(first + bytes <= second || second + bytes <= first) << first << " " << second;
}

TEST(MatrixLayout, NoStageOverwritesWhatIsStillRead) {
  std::mt19937 random(5);
  size_t shared = 0;
  for (int round = 0; round < 4000; ++round) {
    const PlanInterface plan = randomPlan(random, round % 2 == 0);
    const MatrixLayout layout(plan);
    const TensorShape shape = shapeOf(4 + random() % 40, 4 + random() % 40);
    for (const std::set<uint32_t> &holding :
         std::initializer_list<std::set<uint32_t>>{{}, {1}, {2}, {3}, {1, 3}, {2, 3}})
      ASSERT_TRUE(Machine(plan, layout, shape, holding).run()) << round;
    size_t separate = 0;
    for (const uint32_t stream : layout.streams())
      separate += (bytesOf(shape.count(plan.streams[stream].over)) + 63) / 64 * 64;
    ASSERT_LE(layout.place(shape).bytes, separate);
    shared += layout.place(shape).bytes < separate;
  }
  EXPECT_GT(shared, 600u);
}
