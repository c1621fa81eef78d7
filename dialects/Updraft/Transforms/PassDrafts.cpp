//===- PassDrafts.cpp - The passes of a plan --------------------------------------------------===//
// In each stage, the passes over batches, rows and columns that the pass over elements needs
// run before it. If no later pass needs the value before the step, an existing pass writes a state
// over rows or columns; otherwise a separate pass at the end writes it.

#include "Updraft/Transforms/PassDrafts.h"

using namespace mlir;
using namespace updraft;

SmallVector<Value> PassDraft::roots() const {
  SmallVector<Value> roots;
  for (ReduceOp reduce : reductions)
    roots.push_back(reduce.getInput());
  llvm::append_range(roots, made);
  for (auto [current, next] : writes)
    roots.push_back(next);
  return roots;
}

namespace {

/// A state over rows or columns, and the pass that writes it.
struct MatrixWrite {
  mutable StateOp state; // a handle with non-const accessors
  Value next;
  size_t pass;
};

class Drafter {
public:
  Drafter(RuleOp rule, const ExtentAnalysis &extents, const StageAnalysis &stages,
          ArrayRef<EarlyStore> stores)
      : rule(rule), extents(extents), stages(stages), stores(stores),
        next(cast<NextOp>(rule.getBody().front().getTerminator())) {}

  std::vector<PassDraft> run();

private:
  PassDraft draftElementPass(unsigned stage) const;
  PassDraft draftSmallerPass(Extent over, unsigned stage, ArrayRef<PassDraft> elements) const;
  void addSmallerPass(PassDraft pass);
  void add(PassDraft pass);
  void computeSlice(PassDraft &pass, const llvm::DenseSet<Value> &available) const;
  bool runsByBatches(const PassDraft &pass) const;
  std::vector<PassDraft> withWrites(ArrayRef<MatrixWrite> writes) const;
  bool isTooEarly(const MatrixWrite &write, ArrayRef<PassDraft> all) const;
  void addWrites();

  RuleOp rule;
  const ExtentAnalysis &extents;
  const StageAnalysis &stages;
  ArrayRef<EarlyStore> stores;
  NextOp next;
  std::vector<PassDraft> passes;
  /// Values over batches, rows and columns that passes have computed.
  llvm::DenseSet<Value> available;
};

bool reducesToScalar(const PassDraft &pass) {
  return llvm::any_of(pass.reductions,
                      [](ReduceOp reduce) { return isWithin(reduce.getOver(), Extent::tensor); });
}

} // namespace

std::vector<PassDraft> Drafter::run() {
  std::vector<PassDraft> elements;
  for (unsigned stage = 0; stage <= stages.writing(); ++stage)
    elements.push_back(draftElementPass(stage));
  for (unsigned stage = 0; stage <= stages.writing(); ++stage) {
    for (Extent over : {Extent::batch, Extent::row, Extent::column})
      addSmallerPass(draftSmallerPass(over, stage, elements));
    add(std::move(elements[stage]));
  }
  addWrites();
  return std::move(passes);
}

PassDraft Drafter::draftElementPass(unsigned stage) const {
  PassDraft pass{Extent::element, stage, stages.reductionsOf(Extent::element, stage)};
  for (const EarlyStore &store : stores)
    if (store.stage == stage)
      pass.writes.push_back({store.current, store.next});
  pass.slice = Slice::compute(pass.roots(), [&](Value value) {
    return isPassInput(value, Extent::element, stage, extents, stores);
  });
  return pass;
}

// If there is a pass, it also computes the values that later stages need, as far as they are known;
// otherwise each of those stages would need another pass.
PassDraft Drafter::draftSmallerPass(Extent over, unsigned stage,
                                    ArrayRef<PassDraft> elements) const {
  PassDraft pass{over, stage, stages.reductionsOf(over, stage)};
  for (unsigned later = stage; later < elements.size(); ++later) {
    if (later > stage && pass.isEmpty())
      break;
    for (Value input : elements[later].slice.inputs)
      if (extents.of(input) == over && !isRuleInput(input) && !available.contains(input) &&
          stages.of(input) <= stage && !llvm::is_contained(pass.made, input))
        pass.made.push_back(input);
  }
  computeSlice(pass, available);
  return pass;
}

void Drafter::computeSlice(PassDraft &pass, const llvm::DenseSet<Value> &known) const {
  pass.slice = Slice::compute(pass.roots(), [&](Value value) {
    return known.contains(value) || isPassInput(value, pass.over, pass.stage, extents, {});
  });
}

bool Drafter::runsByBatches(const PassDraft &pass) const {
  if (pass.over != Extent::row && pass.over != Extent::column)
    return false;
  return llvm::any_of(pass.reductions,
                      [](ReduceOp reduce) { return reduce.getOver() == Extent::batch; }) ||
         llvm::any_of(pass.slice.inputs,
                      [&](Value input) { return extents.of(input) == Extent::batch; });
}

// The order of a sum over the tensor ignores batches. A pass that runs by batches therefore only
// computes the values, and another pass adds them up.
void Drafter::addSmallerPass(PassDraft pass) {
  if (!reducesToScalar(pass) || !runsByBatches(pass))
    return add(std::move(pass));
  PassDraft flat{pass.over, pass.stage};
  SmallVector<ReduceOp> ofBatches;
  for (ReduceOp reduce : pass.reductions) {
    if (reduce.getOver() == Extent::batch) {
      ofBatches.push_back(reduce);
      continue;
    }
    flat.reductions.push_back(reduce);
    if (Value input = reduce.getInput();
        !isRuleInput(input) && !available.contains(input) && !llvm::is_contained(pass.made, input))
      pass.made.push_back(input);
  }
  pass.reductions = std::move(ofBatches);
  computeSlice(pass, available);
  add(std::move(pass));
  computeSlice(flat, available);
  add(std::move(flat));
}

void Drafter::add(PassDraft pass) {
  if (pass.isEmpty())
    return;
  available.insert(pass.made.begin(), pass.made.end());
  passes.push_back(std::move(pass));
}

// Returns the passes plus two at the end, one over rows and one over columns.
std::vector<PassDraft> Drafter::withWrites(ArrayRef<MatrixWrite> writes) const {
  std::vector<PassDraft> all = passes;
  for (Extent over : {Extent::row, Extent::column})
    all.push_back({over, stages.writing()});
  llvm::DenseSet<Value> known;
  for (auto [index, pass] : llvm::enumerate(all)) {
    bool changed = false;
    for (MatrixWrite write : writes)
      if (write.pass == index) {
        pass.writes.push_back({write.state, write.next});
        changed = true;
      }
    if (changed)
      computeSlice(pass, known);
    known.insert(pass.made.begin(), pass.made.end());
  }
  return all;
}

bool Drafter::isTooEarly(const MatrixWrite &write, ArrayRef<PassDraft> all) const {
  if (write.pass >= passes.size())
    return false;
  const PassDraft &own = all[write.pass];
  return (reducesToScalar(own) && runsByBatches(own)) ||
         llvm::any_of(all.drop_front(write.pass + 1), [&](const PassDraft &later) {
           return llvm::is_contained(later.slice.inputs, write.state.getResult());
         });
}

void Drafter::addWrites() {
  unsigned firstStage = next.getSkip() ? stages.of(next.getSkip()) : 0;
  SmallVector<MatrixWrite> writes;
  for (auto [state, value] : llvm::zip(rule.getBody().getOps<StateOp>(), next.getStates())) {
    if (!isOfMatrix(state.getOver()) || state.getResult() == value)
      continue;
    size_t atEnd = passes.size() + (state.getOver() == Extent::column);
    auto last = llvm::find_if(llvm::reverse(passes), [&](const PassDraft &pass) {
      return llvm::is_contained(pass.slice.inputs, state.getResult());
    });
    auto from = passes.begin();
    if (last != passes.rend())
      from = std::prev(last.base());
    auto found = std::find_if(from, passes.end(), [&](const PassDraft &pass) {
      return pass.over == state.getOver() && pass.stage >= std::max(firstStage, stages.of(value));
    });
    writes.push_back(
        {state, value, found == passes.end() ? atEnd : size_t(found - passes.begin())});
  }

  // Another write may need the value before the step.
  std::vector<PassDraft> all = withWrites(writes);
  for (bool changed = true; changed;) {
    changed = false;
    for (MatrixWrite &write : writes)
      if (isTooEarly(write, all)) {
        write.pass = passes.size() + (write.state.getOver() == Extent::column);
        all = withWrites(writes);
        changed = true;
      }
  }
  llvm::erase_if(all, [](const PassDraft &pass) { return pass.isEmpty(); });
  passes = std::move(all);
}

std::vector<PassDraft> updraft::draftPasses(RuleOp rule, const ExtentAnalysis &extents,
                                            const StageAnalysis &stages,
                                            ArrayRef<EarlyStore> stores) {
  return Drafter(rule, extents, stages, stores).run();
}
