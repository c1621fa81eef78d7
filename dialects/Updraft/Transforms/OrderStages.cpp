//===- OrderStages.cpp - An order of stages that needs fewer matrices at a time ---------------===//
// The matrices between stages are counted, whatever their shapes. For a square parameter all have
// one size, so their number is the memory that a step needs.

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/ExclusiveConditions.h"
#include "Updraft/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

using namespace mlir;
using namespace updraft;

namespace {

/// The most sets of stages that a search looks at. It then gives up.
constexpr size_t maxVisited = 10'000;

bool isMatrix(Value value) {
  auto stream = dyn_cast<StreamType>(value.getType());
  return stream && isMatrixExtent(stream.getOver()) && !value.getDefiningOp<StreamOp>();
}

/// Stages between two prologues, by their numbers, and the matrices that they make and read.
class Section {
public:
  explicit Section(ArrayRef<StageOpInterface> stages);

  using Order = SmallVector<unsigned>;

  /// The most matrices that are needed at a time, in the order of the program.
  unsigned mostNeeded() const;
  /// An order in which fewer than `limit` matrices are needed at a time, and as few as possible;
  /// nothing if there is none, or if it takes long to find.
  std::optional<Order> orderBelow(unsigned limit) const;

private:
  struct Matrix {
    Value value;
    SmallVector<unsigned> readers;
    bool isReadLater = false; // by a stage of a later section
  };
  struct Stage {
    llvm::BitVector before; // the stages that come before it
    SmallVector<unsigned> reads, makes;
    bool isSweep = false, isCall = false;
  };

  /// The progress of a step.
  struct Progress {
    llvm::BitVector done;   // stages
    llvm::BitVector needed; // matrices that are in memory
    // Calls that follow each other run at the same time, unless one reads the result of another.
    llvm::BitVector calls; // the stages that run with the next one, if it is such a call
    llvm::BitVector freed; // the matrices that they read last
  };

  unsigned numberOf(Value matrix);
  Progress start() const;
  bool isReady(const Progress &progress, unsigned stage) const;
  bool runsWithCalls(const Progress &progress, unsigned stage) const;
  bool isReadLast(const Progress &progress, unsigned matrix, unsigned reader) const;
  /// The number of matrices that a stage needs in memory while it runs.
  unsigned neededBy(const Progress &progress, unsigned stage) const;
  unsigned count(const llvm::BitVector &matrices) const;
  void advance(Progress &progress, unsigned stage) const;
  bool search(Progress progress, unsigned most, Order &order,
              llvm::DenseSet<std::pair<llvm::BitVector, llvm::BitVector>> &visited) const;

  SmallVector<Stage> stages;
  SmallVector<Matrix> matrices;
  llvm::DenseMap<Value, unsigned> numbers; // of matrices
  SmallVector<llvm::BitVector> together;   // of each matrix, those that are needed in one step
};

} // namespace

unsigned Section::numberOf(Value matrix) {
  const auto [place, isNew] = numbers.try_emplace(matrix, matrices.size());
  if (isNew)
    matrices.push_back({matrix, {}});
  return place->second;
}

Section::Section(ArrayRef<StageOpInterface> operations) {
  llvm::DenseMap<Value, llvm::BitVector> readers, writers; // stages, by stream
  llvm::DenseMap<Operation *, unsigned> places;
  const auto size = static_cast<unsigned>(operations.size());
  for (auto [index, each] : llvm::enumerate(operations)) {
    StageOpInterface operation = each;
    Stage &stage = stages.emplace_back();
    stage.isSweep = isa<SweepOp>(operation);
    stage.isCall = isa<CallOp>(operation);
    stage.before.resize(size);
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
    for (Value written : operation.getWritten()) {
      waitFor(readers, written);
      waitFor(writers, written);
    }
    for (Value read : operation->getOperands())
      add(readers, read);
    for (Value written : operation.getWritten())
      add(writers, written);
    for (Value made : operation->getResults())
      if (isMatrix(made))
        stage.makes.push_back(numberOf(made));
  }
  for (Matrix &matrix : matrices)
    matrix.isReadLater = llvm::any_of(matrix.value.getUsers(),
                                      [&](Operation *user) { return !places.contains(user); });
  const auto conditionOf = [](const Matrix &matrix) {
    return cast<StageOpInterface>(matrix.value.getDefiningOp()).getCondition();
  };
  for (const Matrix &one : matrices) {
    llvm::BitVector &with = together.emplace_back(matrices.size());
    for (auto [index, other] : llvm::enumerate(matrices))
      with[index] = !neverHoldTogether(conditionOf(one), conditionOf(other));
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

unsigned Section::count(const llvm::BitVector &some) const {
  unsigned most = 0;
  for (unsigned matrix : some.set_bits()) {
    llvm::BitVector inOneStep = some;
    inOneStep &= together[matrix];
    most = std::max(most, inOneStep.count());
  }
  return most;
}

unsigned Section::neededBy(const Progress &progress, unsigned stage) const {
  const Stage &next = stages[stage];
  llvm::BitVector needed = progress.needed;
  if (runsWithCalls(progress, stage))
    needed |= progress.freed;
  for (unsigned made : next.makes)
    needed.set(made);
  unsigned result = count(needed);
  if (!next.isSweep)
    return result;
  // A sweep reads an element before it makes the one of the same place.
  SmallVector<unsigned> replaced;
  for (unsigned made : next.makes)
    for (unsigned read : next.reads)
      if (!llvm::is_contained(replaced, read) && isReadLast(progress, read, stage) &&
          matrices[read].value.getType() == matrices[made].value.getType()) {
        replaced.push_back(read);
        break;
      }
  return result - static_cast<unsigned>(replaced.size());
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

unsigned Section::mostNeeded() const {
  Progress progress = start();
  unsigned most = 0;
  for (unsigned stage = 0; stage < stages.size(); ++stage) {
    most = std::max(most, neededBy(progress, stage));
    advance(progress, stage);
  }
  return most;
}

bool Section::search(Progress progress, unsigned most, Order &order,
                     llvm::DenseSet<std::pair<llvm::BitVector, llvm::BitVector>> &visited) const {
  const size_t length = order.size();
  SmallVector<unsigned> choices;
  // A stage after which no more matrices are needed than before is in nobody's way.
  for (bool advanced = true; advanced;) {
    advanced = false;
    choices.clear();
    for (unsigned stage = 0; stage < stages.size() && !advanced; ++stage) {
      if (!isReady(progress, stage) || neededBy(progress, stage) > most)
        continue;
      Progress then = progress;
      advance(then, stage);
      advanced = then.needed.count() <= progress.needed.count();
      if (advanced) {
        progress = std::move(then);
        order.push_back(stage);
      } else {
        choices.push_back(stage);
      }
    }
  }
  if (order.size() == stages.size())
    return true;
  if (visited.size() < maxVisited && visited.insert({progress.done, progress.freed}).second)
    for (unsigned stage : choices) {
      Progress then = progress;
      advance(then, stage);
      order.push_back(stage);
      if (search(std::move(then), most, order, visited))
        return true;
      order.pop_back();
    }
  order.truncate(length);
  return false;
}

std::optional<Section::Order> Section::orderBelow(unsigned limit) const {
  unsigned least = 0; // for any one of the stages
  for (unsigned stage = 0; stage < stages.size(); ++stage)
    least = std::max<unsigned>(least, stages[stage].reads.size());
  for (unsigned most = least; most < limit; ++most) {
    Order order;
    llvm::DenseSet<std::pair<llvm::BitVector, llvm::BitVector>> visited;
    if (search(start(), most, order, visited))
      return order;
  }
  return std::nullopt;
}

namespace updraft {

#define GEN_PASS_DEF_ORDERSTAGESPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

struct OrderStagesPass : impl::OrderStagesPassBase<OrderStagesPass> {
  void order(ArrayRef<StageOpInterface> stages) {
    const Section section(stages);
    const std::optional<SmallVector<unsigned>> better = section.orderBelow(section.mostNeeded());
    if (!better)
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
        if (section.size() > 1)
          order(section);
    }
  }
};

} // namespace
} // namespace updraft
