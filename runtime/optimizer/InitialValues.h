//===- InitialValues.h - The initial values of states -------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_OPTIMIZER_INITIALVALUES_H
#define UPDRAFT_RUNTIME_OPTIMIZER_INITIALVALUES_H

#include "runtime/base/Kernels.h"
#include "runtime/optimizer/GroupHypers.h"

#include <vector>

namespace updraft::runtime {

/// The initial values of a rule's states, in their storage types, for each group.
class InitialValues {
public:
  void evaluate(const Kernels &kernels, const GroupHypers &hypers);

  /// Whether every state of every group starts with zero bits, as fresh memory does.
  bool allZero() const { return zero; }
  bool isZero(uint32_t group, size_t state) const { return at(group, state).isZero; }
  /// The value, rounded to the storage type.
  double value(uint32_t group, size_t state) const { return at(group, state).rounded; }
  /// Fills elements [begin, end) of `data` with the state's initial value; for a state in blocks,
  /// with its code.
  void fill(uint32_t group, size_t state, void *data, int64_t begin, int64_t end) const;
  /// Fills the scales of blocks [begin, end).
  void fillScales(uint32_t group, size_t state, void *data, int64_t begin, int64_t end) const;

private:
  struct Value {
    alignas(8) char element[8];
    double rounded;
    float scale; // for a state in blocks
    uint8_t bytes;
    bool isZero;
  };
  static void setBlocked(Value &value, double initial);
  const Value &at(uint32_t group, size_t state) const { return values[group * states + state]; }

  std::vector<Value> values;
  std::vector<double> scratch;
  size_t states = 0;
  bool zero = true;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_OPTIMIZER_INITIALVALUES_H
