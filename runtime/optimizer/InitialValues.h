//===- InitialValues.h - What states start from -------------------------------------*- C++ -*-===//

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

  /// Every state of every group starts with all bits zero, as fresh memory does.
  bool allZero() const { return zero; }
  bool isZero(uint32_t group, size_t state) const { return at(group, state).isZero; }
  /// After rounding to the storage type.
  double value(uint32_t group, size_t state) const { return at(group, state).rounded; }
  /// Fills the elements [begin, end) of `data` with the state's initial value; of a state of
  /// blocks, their codes.
  void fill(uint32_t group, size_t state, void *data, int64_t begin, int64_t end) const;
  /// Likewise the scales of blocks.
  void fillScales(uint32_t group, size_t state, void *data, int64_t begin, int64_t end) const;

private:
  struct Value {
    alignas(8) char element[8];
    double rounded;
    float scale; // of blocks
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
