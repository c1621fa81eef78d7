//===- OrderStages.cpp - An order of stages that needs fewer matrices at a time ---------------===//
// For a square parameter all matrices between stages have one size, so their number is the memory
// that a step needs.

#include "Updraft/IR/Products.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/ExclusiveConditions.h"
#include "Updraft/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <optional>

using namespace mlir;
using namespace updraft;

namespace {

/// The most stages of a section that is searched, because the search recurses.
constexpr size_t maxStages = 2'000;

/// The sides of a parameter in proportion, such as 1 and 4.
struct Sides {
  unsigned rows, columns;
};

/// The size of a matrix over an extent. A matrix of chosen rows or columns counts as their square.
unsigned sizeOf(Extent matrix, Sides sides) {
  if (matrix == Extent::element)
    return sides.rows * sides.columns;
  if (!isSquareExtent(matrix))
    return std::min(sides.rows, sides.columns) * std::min(sides.rows, sides.columns);
  const unsigned side = matrix == Extent::rows_by_rows ? sides.rows : sides.columns;
  return side * side;
}

bool isMatrix(Value value) {
  auto stream = dyn_cast<StreamType>(value.getType());
  return stream && isMatrixExtent(stream.getOver()) && !value.getDefiningOp<StreamOp>();
}

/// Stages between two prologues, by their numbers, and the matrices that they make and read.
class Section {
public:
  Section(ArrayRef<StageOpInterface> stages, Sides sides);

  using Order = SmallVector<unsigned>;

  /// The memory for the matrices that are needed at a time.
  unsigned memoryFor(ArrayRef<unsigned> order) const;
  struct Search {
    std::optional<Order> order; ///< std::nullopt if there is none
    bool isComplete = true;     ///< false if it has looked at the most sets
  };
  /// Searches for an order that needs less memory than `limit`, and as little as possible. Looks at
  /// most `maxSets` sets of finished stages.
  Search orderBelow(unsigned limit, size_t maxSets) const;

private:
  struct Matrix {
    Value value;
    unsigned size;
    SmallVector<unsigned> readers;
    bool isReadLater = false; // by a stage of a later section
  };
  struct Stage {
    llvm::BitVector before; // the stages that come before it
    SmallVector<unsigned> reads, makes;
    std::optional<Extent> sweptOver;
    bool isCall = false;
  };

  /// The progress of a step.
  struct Progress {
    llvm::BitVector done;   // stages
    llvm::BitVector needed; // matrices that are in memory
    // Calls that follow each other run at the same time, unless one reads the result of another.
    llvm::BitVector calls; // the stages that run with the next one, if it is such a call
    llvm::BitVector freed; // the matrices that they read last
  };

  using Visited = llvm::DenseSet<std::pair<llvm::BitVector, llvm::BitVector>>;

  unsigned numberOf(Value matrix);
  Progress start() const;
  bool isReady(const Progress &progress, unsigned stage) const;
  bool runsWithCalls(const Progress &progress, unsigned stage) const;
  bool isReadLast(const Progress &progress, unsigned matrix, unsigned reader) const;
  /// The memory that a stage needs while it runs.
  unsigned neededBy(const Progress &progress, unsigned stage) const;
  /// The memory for some matrices, of which not all may be needed in one step.
  unsigned memoryOf(const llvm::BitVector &some) const;
  void advance(Progress &progress, unsigned stage) const;
  SmallVector<unsigned> readyStages(const Progress &progress, const Order &order) const;
  bool search(Progress progress, unsigned most, Order &order, Visited &visited,
              size_t maxVisited) const;

  const Sides sides;
  SmallVector<Stage> stages;
  SmallVector<Matrix> matrices;
  llvm::DenseMap<Value, unsigned> numbers; // of matrices
  SmallVector<llvm::BitVector> together;   // of each matrix, those that are needed in one step
};

} // namespace

unsigned Section::numberOf(Value matrix) {
  const auto [place, isNew] = numbers.try_emplace(matrix, matrices.size());
  if (isNew)
    matrices.push_back({matrix, sizeOf(cast<StreamType>(matrix.getType()).getOver(), sides), {}});
  return place->second;
}

static bool reducesGroup(SweepOp sweep) {
  return llvm::any_of(sweep.getReductionRange(),
                      [](ReductionAttr reduction) { return reduction.getOver() == Extent::group; });
}

Section::Section(ArrayRef<StageOpInterface> operations, Sides sides) : sides(sides) {
  std::optional<unsigned> lastOfGroup; // the plans of a rule have these reductions in one order
  llvm::DenseMap<Value, llvm::BitVector> readers, writers; // stages, by stream
  llvm::DenseMap<Operation *, unsigned> places;
  const auto size = static_cast<unsigned>(operations.size());
  for (auto [index, each] : llvm::enumerate(operations)) {
    StageOpInterface operation = each;
    Stage &stage = stages.emplace_back();
    stage.isCall = isa<CallOp>(operation);
    stage.before.resize(size);
    if (auto sweep = dyn_cast<SweepOp>(*operation)) {
      stage.sweptOver = sweep.getOver();
      if (reducesGroup(sweep)) {
        if (lastOfGroup)
          stage.before.set(*lastOfGroup);
        lastOfGroup = static_cast<unsigned>(index);
      }
    }
    places[operation] = static_cast<unsigned>(index);
    const auto waitFor = [&](const llvm::DenseMap<Value, llvm::BitVector> &others, Value stream) {
      if (const auto found = others.find(stream); found != others.end())
        stage.before |= found->second;
    };
    const auto add = [&](llvm::DenseMap<Value, llvm::BitVector> &to, Value stream) {
      llvm::BitVector &set = to[stream];
      set.resize(size);
      set.set(static_cast<unsigned>(index));
    };
    for (Value read : operation->getOperands()) {
      if (const auto maker = places.find(read.getDefiningOp()); maker != places.end())
        stage.before.set(maker->second);
      waitFor(writers, read);
      if (!isMatrix(read))
        continue;
      const unsigned number = numberOf(read);
      if (llvm::is_contained(stage.reads, number))
        continue;
      stage.reads.push_back(number);
      matrices[number].readers.push_back(static_cast<unsigned>(index));
    }
    for (Value written : writtenBy(operation)) {
      waitFor(readers, written);
      waitFor(writers, written);
    }
    for (Value read : operation->getOperands())
      add(readers, read);
    for (Value written : writtenBy(operation))
      add(writers, written);
    for (Value made : operation->getResults())
      if (isMatrix(made))
        stage.makes.push_back(numberOf(made));
  }
  for (Matrix &matrix : matrices)
    matrix.isReadLater = llvm::any_of(matrix.value.getUsers(), [&](Operation *user) {
      return operations.back()->isBeforeInBlock(user);
    });
  const auto conditionOf = [](const Matrix &matrix) {
    return cast<StageOpInterface>(matrix.value.getDefiningOp()).getCondition();
  };
  together.resize(matrices.size(), llvm::BitVector(matrices.size(), true));
  for (unsigned one = 0; one < matrices.size(); ++one)
    for (unsigned other = 0; other < one; ++other)
      if (neverHoldTogether(conditionOf(matrices[one]), conditionOf(matrices[other]))) {
        together[one].reset(other);
        together[other].reset(one);
      }
}

Section::Progress Section::start() const {
  Progress progress{llvm::BitVector(stages.size()), llvm::BitVector(matrices.size()),
                    llvm::BitVector(stages.size()), llvm::BitVector(matrices.size())};
  progress.needed.set();
  for (const Stage &stage : stages)
    for (unsigned made : stage.makes)
      progress.needed.reset(made);
  return progress;
}

bool Section::isReady(const Progress &progress, unsigned stage) const {
  return !progress.done[stage] && !stages[stage].before.test(progress.done);
}

bool Section::runsWithCalls(const Progress &progress, unsigned stage) const {
  return stages[stage].isCall && progress.calls.any() &&
         !stages[stage].before.anyCommon(progress.calls);
}

bool Section::isReadLast(const Progress &progress, unsigned matrix, unsigned reader) const {
  return !matrices[matrix].isReadLater &&
         llvm::all_of(matrices[matrix].readers,
                      [&](unsigned other) { return other == reader || progress.done[other]; });
}

unsigned Section::memoryOf(const llvm::BitVector &some) const {
  unsigned most = 0;
  for (unsigned one : some.set_bits()) {
    llvm::BitVector inOneStep = some;
    inOneStep &= together[one];
    unsigned memory = 0;
    for (unsigned matrix : inOneStep.set_bits())
      memory += matrices[matrix].size;
    most = std::max(most, memory);
  }
  return most;
}

unsigned Section::neededBy(const Progress &progress, unsigned stage) const {
  const Stage &next = stages[stage];
  llvm::BitVector needed = progress.needed;
  if (runsWithCalls(progress, stage))
    needed |= progress.freed;
  for (unsigned made : next.makes) {
    // A sweep reads an element before it makes the one of the same place.
    const auto replaced = llvm::find_if(next.reads, [&](unsigned read) {
      return next.sweptOver && needed[read] && isReadLast(progress, read, stage) &&
             matrices[read].value.getType() == matrices[made].value.getType();
    });
    if (replaced != next.reads.end())
      needed.reset(*replaced);
    needed.set(made);
  }
  return memoryOf(needed);
}

void Section::advance(Progress &progress, unsigned stage) const {
  const Stage &next = stages[stage];
  if (!runsWithCalls(progress, stage)) {
    progress.calls.reset();
    progress.freed.reset();
  }
  progress.done.set(stage);
  const auto free = [&](unsigned matrix) {
    progress.needed.reset(matrix);
    if (next.isCall)
      progress.freed.set(matrix);
  };
  if (next.isCall)
    progress.calls.set(stage);
  for (unsigned read : next.reads)
    if (isReadLast(progress, read, stage))
      free(read);
  for (unsigned made : next.makes) {
    progress.needed.set(made);
    if (isReadLast(progress, made, stage)) // nothing reads it
      free(made);
  }
}

unsigned Section::memoryFor(ArrayRef<unsigned> order) const {
  Progress progress = start();
  unsigned most = 0;
  for (unsigned stage : order) {
    most = std::max(most, neededBy(progress, stage));
    advance(progress, stage);
  }
  return most;
}

/// Returns the stages that may come next. First those that can run together with a sweep before
/// them.
SmallVector<unsigned> Section::readyStages(const Progress &progress, const Order &order) const {
  SmallVector<unsigned> ready, others;
  const std::optional<Extent> last = order.empty() ? std::nullopt : stages[order.back()].sweptOver;
  for (unsigned stage = 0; stage < stages.size(); ++stage)
    if (isReady(progress, stage))
      (last && stages[stage].sweptOver == last ? ready : others).push_back(stage);
  llvm::append_range(ready, others);
  return ready;
}

bool Section::search(Progress progress, unsigned most, Order &order, Visited &visited,
                     size_t maxVisited) const {
  const size_t length = order.size();
  SmallVector<unsigned> choices;
  // Runs a stage at once if no more memory is needed after it than before. This rarely excludes a
  // better order.
  for (bool advanced = true; advanced;) {
    advanced = false;
    choices.clear();
    for (unsigned stage : readyStages(progress, order)) {
      if (neededBy(progress, stage) > most)
        continue;
      Progress then = progress;
      advance(then, stage);
      advanced = memoryOf(then.needed) <= memoryOf(progress.needed);
      if (advanced) {
        progress = std::move(then);
        order.push_back(stage);
        break;
      }
      choices.push_back(stage);
    }
  }
  if (order.size() == stages.size())
    return true;
  if (visited.size() < maxVisited && visited.insert({progress.done, progress.freed}).second)
    for (unsigned stage : choices) {
      Progress then = progress;
      advance(then, stage);
      order.push_back(stage);
      if (search(std::move(then), most, order, visited, maxVisited))
        return true;
      order.pop_back();
    }
  order.truncate(length);
  return false;
}

Section::Search Section::orderBelow(unsigned limit, size_t maxSets) const {
  size_t sets = 0;
  for (unsigned most = 1; most < limit; ++most) {
    Order order;
    Visited visited;
    if (search(start(), most, order, visited, maxSets - sets))
      return {std::move(order)};
    sets += visited.size();
    if (sets == maxSets)
      return {std::nullopt, false};
  }
  return {};
}

namespace updraft {

#define GEN_PASS_DEF_ORDERSTAGESPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

struct OrderStagesPass : impl::OrderStagesPassBase<OrderStagesPass> {
  using OrderStagesPassBase::OrderStagesPassBase;

  void order(ArrayRef<StageOpInterface> stages) {
    const auto given = llvm::to_vector(llvm::seq<unsigned>(stages.size()));
    const Section section(stages, {1, 1});
    const auto [better, isComplete] = section.orderBelow(section.memoryFor(given), maxSets);
    unfinishedSections += !isComplete;
    if (!better)
      return;
    for (const Sides sides : {Sides{1, 4}, Sides{4, 1}})
      if (const Section oblong(stages, sides); oblong.memoryFor(*better) > oblong.memoryFor(given))
        return;
    Block *block = stages.front()->getBlock();
    const Block::iterator end = std::next(stages.back()->getIterator());
    for (unsigned stage : *better)
      stages[stage]->moveBefore(block, end);
    ++orderedSections;
  }

  void runOnOperation() override {
    for (PlanOp plan : formsIn<PlanOp>(getOperation())) {
      SmallVector<SmallVector<StageOpInterface>> sections(1);
      for (Operation &operation : plan.getBody().front())
        if (auto stage = dyn_cast<StageOpInterface>(operation))
          sections.back().push_back(stage);
        else if (!sections.back().empty())
          sections.emplace_back();
      for (ArrayRef<StageOpInterface> section : sections)
        if (section.size() > 1 && section.size() <= maxStages)
          order(section);
    }
  }
};

} // namespace
} // namespace updraft
