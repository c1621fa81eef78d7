//===- TensorRun.h - Executes one tensor's part of a step ---------------------------*- C++ -*-===//
// Runs the actions of a rule in order, each for every place of its extent in one tensor. Pauses at
// reductions over the group, because their values depend on other tensors.

#ifndef UPDRAFT_LIB_REFERENCE_TENSORRUN_H
#define UPDRAFT_LIB_REFERENCE_TENSORRUN_H

#include "Program.h"

#include "updraft/Reference/BlockedFormat.h"

#include <set>
#include <string>

namespace updraft::reference {

class TensorRun {
public:
  /// The buffers of `tensor` must outlive the run. `groupSize` is the number of elements of all
  /// tensors.
  TensorRun(const GroupFacts &facts, const TensorStep &tensor, int64_t groupSize);

  /// A reduction over the group at which the run has paused.
  struct GroupReduction {
    ReductionKind kind;
    double part; // this tensor's
  };

  /// Runs up to the next reduction over the group; returns nothing at the end.
  std::optional<GroupReduction> advance();

  /// Continues with the value, over all tensors, of the reduction at which `advance` stopped.
  void resume(double value);

  /// Whether the step is skipped; valid at the end of the run.
  bool isSkipped() const;

  /// Returns the values of the probes; valid at the end of the run.
  std::vector<double> probes() const;

  /// Stores the next values. States over the group are stored only if they are not yet in
  /// `storedOfGroup`.
  void store(std::set<std::string> &storedOfGroup);

private:
  /// The values of a register by place, over all places.
  using Spread = std::vector<Register>;

  /// A batch; a row, a column and an element, counted over all batches.
  struct Place {
    int64_t batch;
    int64_t row;
    int64_t column;
    int64_t element;
  };

  void loadStates();
  double loadValue(size_t stream, int64_t place) const;
  void storeValue(size_t stream, int64_t place, double value);
  void runAction(const Action &action);
  void runReduction(const Action &action);
  void runProduct(const Action &action);
  void runTranspose(const Action &action);
  void runFunction(const Action &action);
  void makeIdentity(const Action &action);
  /// Returns the values of the operands of a product, transpose or other function.
  std::vector<Spread> matrices(const Action &action);
  Place placeOf(Extent extent, int64_t index) const;
  double reduceAll(const Action &action);
  double operandAt(const Action &action, int64_t place);
  Place runElement(llvm::ArrayRef<uint32_t> slice, int64_t element);
  const Register &at(uint32_t index, Place place) const;

  const GroupFacts &facts;
  const Program &program;
  const TensorStep tensor; // with the number of chosen rows or columns
  const Blocks blocks;     // of streams with blocks
  /// Scalars, and values computed for the current place.
  std::vector<Register> registers;
  /// By register; empty for scalars and elements.
  std::vector<Spread> spreads;
  size_t position = 0; // in the program's actions
};

} // namespace updraft::reference

#endif // UPDRAFT_LIB_REFERENCE_TENSORRUN_H
