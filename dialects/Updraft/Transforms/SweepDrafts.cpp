//===- SweepDrafts.cpp - The sweeps of a plan -------------------------------------------------===//
// In each stage, the sweeps over batches, rows and columns that the sweeps over matrices need
// run before them. If no later sweep needs the value before the step, an existing sweep writes a
// state over rows or columns; otherwise a separate sweep at the end writes it.

#include "Updraft/Transforms/SweepDrafts.h"

#include "llvm/ADT/IntEqClasses.h"

#include <optional>
#include <utility>

using namespace mlir;
using namespace updraft;

SmallVector<Value> SweepDraft::roots() const {
  SmallVector<Value> roots;
  for (ReduceOp reduce : reductions)
    roots.push_back(reduce.getInput());
  llvm::append_range(roots, made);
  for (auto [current, next] : writes)
    roots.push_back(next);
  return roots;
}

namespace {

/// A state over rows or columns, and the sweep that writes it.
struct MatrixWrite {
  mutable StateOp state; // a handle with non-const accessors
  Value next;
  size_t sweep;
};

class Drafter {
public:
  Drafter(RuleOp rule, const ExtentAnalysis &extents, const StageAnalysis &stages,
          ArrayRef<Store> stores)
      : rule(rule), extents(extents), stages(stages), stores(stores),
        next(cast<NextOp>(rule.getBody().front().getTerminator())) {}

  std::vector<SweepDraft> run();

private:
  SweepDraft draftMatrixSweep(Extent over, unsigned stage) const;
  void computeMatrixSlice(SweepDraft &sweep) const;
  std::vector<SweepDraft> separate(SweepDraft whole) const;
  SweepDraft draftSmallerSweep(Extent over, unsigned stage, ArrayRef<SweepDraft> matrices) const;
  std::vector<SweepDraft> separateBatches(SweepDraft whole, ArrayRef<SweepDraft> matrices) const;
  void addSmallerSweep(SweepDraft sweep);
  void add(SweepDraft sweep);
  void computeSlice(SweepDraft &sweep, const llvm::DenseSet<Value> &available) const;
  bool runsByBatches(const SweepDraft &sweep) const;
  std::vector<SweepDraft> withWrites(ArrayRef<MatrixWrite> writes) const;
  bool isTooEarly(const MatrixWrite &write, ArrayRef<SweepDraft> all) const;
  void addWrites();

  RuleOp rule;
  const ExtentAnalysis &extents;
  const StageAnalysis &stages;
  ArrayRef<Store> stores;
  NextOp next;
  std::vector<SweepDraft> sweeps;
  /// Values over batches, rows and columns that sweeps have computed.
  llvm::DenseSet<Value> available;
};

bool reducesToScalar(const SweepDraft &sweep) {
  return llvm::any_of(sweep.reductions,
                      [](ReduceOp reduce) { return isWithin(reduce.getOver(), Extent::tensor); });
}

} // namespace

std::vector<SweepDraft> Drafter::run() {
  std::vector<SweepDraft> matrices;
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    for (Extent over : matrixExtents)
      llvm::append_range(matrices, separate(draftMatrixSweep(over, stage)));
  for (unsigned stage = 0; stage <= stages.writing(); ++stage) {
    for (SweepDraft &sweep :
         separateBatches(draftSmallerSweep(Extent::batch, stage, matrices), matrices))
      addSmallerSweep(std::move(sweep));
    for (Extent over : {Extent::row, Extent::column})
      addSmallerSweep(draftSmallerSweep(over, stage, matrices));
    for (SweepDraft &sweep : matrices)
      if (sweep.stage == stage)
        add(std::move(sweep));
  }
  addWrites();
  return std::move(sweeps);
}

SweepDraft Drafter::draftMatrixSweep(Extent over, unsigned stage) const {
  SweepDraft sweep{over, stage, stages.reductionsOf(over, stage), stages.keptOf(over, stage)};
  for (const Store &store : stores)
    if (store.stage == stage && extents.of(store.current) == over)
      sweep.writes.push_back({store.current, store.next});
  // Products read a stored value where it is.
  llvm::erase_if(sweep.made, [&](Value value) { return isStoredAt(value, stage, stores); });
  computeMatrixSlice(sweep);
  return sweep;
}

void Drafter::computeMatrixSlice(SweepDraft &sweep) const {
  sweep.slice = Slice::compute(sweep.roots(), [&](Value value) {
    return stages.isSweepInput(value, sweep.over, sweep.stage, stores);
  });
}

// A sweep that makes several matrices from different inputs becomes several sweeps. They don't have
// to follow each other, so that fewer matrices are in memory at a time. One of them does what makes
// no matrix.
std::vector<SweepDraft> Drafter::separate(SweepDraft whole) const {
  if (whole.made.size() < 2)
    return {std::move(whole)};
  std::vector<SweepDraft> parts; // each with one result
  for (ReduceOp reduce : whole.reductions)
    parts.push_back({whole.over, whole.stage, {reduce}});
  for (Value made : whole.made)
    parts.push_back({whole.over, whole.stage, {}, {made}});
  for (auto write : whole.writes)
    parts.push_back({whole.over, whole.stage, {}, {}, {write}});
  llvm::IntEqClasses classes(parts.size());
  std::optional<unsigned> lastOfGroup;     // these reductions keep their order
  llvm::DenseMap<Value, unsigned> readers; // of matrices
  const auto addReader = [&](Value matrix, unsigned part) {
    if (const auto [reader, isNew] = readers.try_emplace(matrix, part); !isNew)
      classes.join(reader->second, part);
  };
  for (auto [index, part] : llvm::enumerate(parts)) {
    computeMatrixSlice(part);
    for (Value input : part.slice.inputs)
      if (isMatrixExtent(extents.of(input)))
        addReader(input, index);
    for (auto [current, next] : part.writes) {
      addReader(current, index);
      for (const Store &store : stores)
        if (store.current == current && store.stage < whole.stage)
          addReader(store.next, index); // is still in `current`
    }
    for (ReduceOp reduce : part.reductions)
      if (reduce.getOver() == Extent::group)
        classes.join(std::exchange(lastOfGroup, index).value_or(index), index);
  }
  llvm::SmallDenseSet<unsigned> making; // leaders
  for (auto [index, part] : llvm::enumerate(parts))
    if (!part.made.empty())
      making.insert(classes.findLeader(index));
  std::optional<unsigned> withoutMatrix;
  for (unsigned index = 0; index < parts.size(); ++index)
    if (!making.contains(classes.findLeader(index)))
      classes.join(std::exchange(withoutMatrix, index).value_or(index), index);
  classes.compress();
  std::vector<SweepDraft> separated(classes.getNumClasses(), {whole.over, whole.stage});
  for (auto [index, part] : llvm::enumerate(parts)) {
    SweepDraft &own = separated[classes[index]];
    llvm::append_range(own.reductions, part.reductions);
    llvm::append_range(own.made, part.made);
    llvm::append_range(own.writes, part.writes);
  }
  if (llvm::count_if(separated, [](const SweepDraft &each) { return !each.made.empty(); }) < 2)
    return {std::move(whole)};
  for (SweepDraft &each : separated)
    computeMatrixSlice(each);
  return separated;
}

// Keeps the values that functions of matrices read. If there is a sweep, it also computes the
// values that later stages need, as far as they are known; otherwise each of those stages would
// need another sweep.
SweepDraft Drafter::draftSmallerSweep(Extent over, unsigned stage,
                                      ArrayRef<SweepDraft> matrices) const {
  SweepDraft sweep{over, stage, stages.reductionsOf(over, stage), stages.keptOf(over, stage)};
  for (const SweepDraft &later : matrices) {
    if (later.stage < stage)
      continue;
    if (later.stage > stage && sweep.isEmpty())
      break;
    for (Value input : later.slice.inputs)
      if (extents.of(input) == over && !isRuleInput(input) && !available.contains(input) &&
          stages.of(input) <= stage && !llvm::is_contained(sweep.made, input))
        sweep.made.push_back(input);
  }
  computeSlice(sweep, available);
  return sweep;
}

// Numbers of different matrices come from different sweeps, unless one sweep reads both. So one
// matrix doesn't wait for the other.
std::vector<SweepDraft> Drafter::separateBatches(SweepDraft whole,
                                                 ArrayRef<SweepDraft> matrices) const {
  if (!whole.reductions.empty() || whole.made.size() < 2)
    return {std::move(whole)};
  llvm::IntEqClasses classes(whole.made.size());
  llvm::DenseMap<Value, unsigned> readers; // of values in memory
  for (auto [index, made] : llvm::enumerate(whole.made)) {
    SweepDraft part{whole.over, whole.stage, {}, {made}};
    computeSlice(part, available);
    for (Value input : part.slice.inputs)
      if (!extents.isScalar(input))
        if (const auto [reader, isNew] = readers.try_emplace(input, index); !isNew)
          classes.join(reader->second, index);
  }
  for (const SweepDraft &sweep : matrices) {
    std::optional<unsigned> first;
    for (auto [index, made] : llvm::enumerate(whole.made))
      if (llvm::is_contained(sweep.slice.inputs, made))
        classes.join(std::exchange(first, index).value_or(index), index);
  }
  classes.compress();
  std::vector<SweepDraft> separated(classes.getNumClasses(), {whole.over, whole.stage});
  for (auto [index, made] : llvm::enumerate(whole.made))
    separated[classes[index]].made.push_back(made);
  for (SweepDraft &each : separated)
    computeSlice(each, available);
  return separated;
}

void Drafter::computeSlice(SweepDraft &sweep, const llvm::DenseSet<Value> &known) const {
  sweep.slice = Slice::compute(sweep.roots(), [&](Value value) {
    return known.contains(value) || stages.isSweepInput(value, sweep.over, sweep.stage, {});
  });
}

bool Drafter::runsByBatches(const SweepDraft &sweep) const {
  if (sweep.over != Extent::row && sweep.over != Extent::column)
    return false;
  return llvm::any_of(sweep.reductions,
                      [](ReduceOp reduce) { return reduce.getOver() == Extent::batch; }) ||
         llvm::any_of(sweep.slice.inputs,
                      [&](Value input) { return extents.of(input) == Extent::batch; });
}

// The order of a sum over the tensor ignores batches. A sweep that runs by batches therefore only
// computes the values, and another sweep adds them up.
void Drafter::addSmallerSweep(SweepDraft sweep) {
  if (!reducesToScalar(sweep) || !runsByBatches(sweep))
    return add(std::move(sweep));
  SweepDraft flat{sweep.over, sweep.stage};
  SmallVector<ReduceOp> ofBatches;
  for (ReduceOp reduce : sweep.reductions) {
    if (reduce.getOver() == Extent::batch) {
      ofBatches.push_back(reduce);
      continue;
    }
    flat.reductions.push_back(reduce);
    if (Value input = reduce.getInput();
        !isRuleInput(input) && !available.contains(input) && !llvm::is_contained(sweep.made, input))
      sweep.made.push_back(input);
  }
  sweep.reductions = std::move(ofBatches);
  computeSlice(sweep, available);
  add(std::move(sweep));
  computeSlice(flat, available);
  add(std::move(flat));
}

void Drafter::add(SweepDraft sweep) {
  if (sweep.isEmpty())
    return;
  available.insert(sweep.made.begin(), sweep.made.end());
  sweeps.push_back(std::move(sweep));
}

// Returns the sweeps plus two at the end, one over rows and one over columns.
std::vector<SweepDraft> Drafter::withWrites(ArrayRef<MatrixWrite> writes) const {
  std::vector<SweepDraft> all = sweeps;
  for (Extent over : {Extent::row, Extent::column})
    all.push_back({over, stages.writing()});
  llvm::DenseSet<Value> known;
  for (auto [index, sweep] : llvm::enumerate(all)) {
    bool changed = false;
    for (MatrixWrite write : writes)
      if (write.sweep == index) {
        sweep.writes.push_back({write.state, write.next});
        changed = true;
      }
    if (changed)
      computeSlice(sweep, known);
    known.insert(sweep.made.begin(), sweep.made.end());
  }
  return all;
}

bool Drafter::isTooEarly(const MatrixWrite &write, ArrayRef<SweepDraft> all) const {
  if (write.sweep >= sweeps.size())
    return false;
  const SweepDraft &own = all[write.sweep];
  // The functions of a stage run before its sweeps.
  for (unsigned stage = own.stage + 1; stage <= stages.writing(); ++stage)
    for (Operation *operation : stages.wholeMatricesOf(stage))
      if (llvm::is_contained(operation->getOperands(), write.state.getResult()))
        return true;
  return (reducesToScalar(own) && runsByBatches(own)) ||
         llvm::any_of(all.drop_front(write.sweep + 1), [&](const SweepDraft &later) {
           return llvm::is_contained(later.slice.inputs, write.state.getResult());
         });
}

void Drafter::addWrites() {
  unsigned firstStage = stages.skipping();
  SmallVector<MatrixWrite> writes;
  for (auto [state, value] : llvm::zip(rule.getBody().getOps<StateOp>(), next.getStates())) {
    if (!isOfMatrix(state.getOver()) || state.getResult() == value)
      continue;
    size_t atEnd = sweeps.size() + (state.getOver() == Extent::column);
    auto last = llvm::find_if(llvm::reverse(sweeps), [&](const SweepDraft &sweep) {
      return llvm::is_contained(sweep.slice.inputs, state.getResult());
    });
    auto from = sweeps.begin();
    if (last != sweeps.rend())
      from = std::prev(last.base());
    auto found = std::find_if(from, sweeps.end(), [&](const SweepDraft &sweep) {
      return sweep.over == state.getOver() && sweep.stage >= std::max(firstStage, stages.of(value));
    });
    writes.push_back(
        {state, value, found == sweeps.end() ? atEnd : size_t(found - sweeps.begin())});
  }

  // Another write may need the value before the step.
  std::vector<SweepDraft> all = withWrites(writes);
  for (bool changed = true; changed;) {
    changed = false;
    for (MatrixWrite &write : writes)
      if (isTooEarly(write, all)) {
        write.sweep = sweeps.size() + (write.state.getOver() == Extent::column);
        all = withWrites(writes);
        changed = true;
      }
  }
  llvm::erase_if(all, [](const SweepDraft &sweep) { return sweep.isEmpty(); });
  sweeps = std::move(all);
}

std::vector<SweepDraft> updraft::draftSweeps(RuleOp rule, const ExtentAnalysis &extents,
                                             const StageAnalysis &stages, ArrayRef<Store> stores) {
  return Drafter(rule, extents, stages, stores).run();
}
