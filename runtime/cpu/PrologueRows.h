//===- PrologueRows.h - The scalars of a step ---------------------------------------*- C++ -*-===//
// The inputs and results of a plan's prologues. Tensors with equal inputs share a row. If each
// tensor needs its own row, equal results are copied from the row before.

#ifndef UPDRAFT_RUNTIME_CPU_PROLOGUEROWS_H
#define UPDRAFT_RUNTIME_CPU_PROLOGUEROWS_H

#include "runtime/base/Kernels.h"
#include "runtime/base/TensorShape.h"
#include "runtime/optimizer/InitialValues.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <span>
#include <vector>

namespace updraft::runtime {

class PrologueRows {
public:
  /// The inputs that tensors can share. A tensor's own row also depends on its shape.
  struct Key {
    uint32_t group;
    bool first;
    int64_t steps; // taken so far
    bool operator==(const Key &) const = default;
  };

  PrologueRows(std::shared_ptr<const Kernels> kernels, size_t plan);

  /// Whether each tensor has its own row: tensor i of the plan has row i.
  bool isPerTensor() const { return perTensor; }

  void clear();
  /// Returns the row of a tensor that is appended to the plan. `param` is its parameter.
  uint32_t add(uint32_t param, const Key &key, const TensorShape &shape);
  /// `groupSizes` has the number of elements of each group.
  void finish(const std::vector<int64_t> &groupSizes);

  size_t size() const { return keys.size(); }
  const Key &operator[](size_t row) const { return keys[row]; }
  bool hasFirst() const { return firstRows != 0; }
  bool hasSkipped() const;
  bool isSkipped(uint32_t row) const { return skipped[row] != 0; }
  /// After some prologues: rows are equal, rows with equal keys are equal, or all rows may differ.
  enum class Difference : uint8_t { None, Keys, All };
  /// The difference at the beginning of a stage of the plan's sequence.
  Difference differenceAt(size_t stage) const { return differences[stage]; }
  bool areEqual(uint32_t a, uint32_t b, Difference difference) const {
    return a == b || difference == Difference::None ||
           (difference == Difference::Keys && keys[a] == keys[b]);
  }
  const char *data(uint32_t row) const { return memory.get() + row * rowBytes; }
  /// Whether the flag at a position of a row is set.
  bool isSet(uint32_t row, uint32_t position) const {
    const char *values = data(row);
    return isSingle ? reinterpret_cast<const float *>(values)[position] != 0
                    : reinterpret_cast<const double *>(values)[position] != 0;
  }

  /// Sets the memory of a row's scalar state, whose number in the plan is `scalar`. Null if it
  /// doesn't exist yet.
  void setScalar(uint32_t row, size_t scalar, void *data) {
    scalarMemory[row * scalarCount + scalar] = data;
  }
  void *scalar(uint32_t row, size_t scalar) const {
    return scalarMemory[row * scalarCount + scalar];
  }
  bool lacksScalars() const;
  /// The rule's probes of a row, in order. NaN: not computed, because the row is skipped. Empty for
  /// a plan that isn't for probed steps.
  std::span<const double> probes(uint32_t row) const {
    return {nextScalars.data() + row * nextCount + scalarCount, nextCount - scalarCount};
  }

  /// Reads the scalar states, or initial values for missing ones. Clears all skip flags.
  void start(const InitialValues &initial);
  void setReduced(uint32_t row, size_t reduction, double value) {
    reduced[row * reducedCount + reduction] = value;
  }
  /// Evaluates the prologue of a stage for every row in [begin, end) that isn't skipped.
  void evaluate(size_t stage, size_t begin, size_t end, const GroupHypers &hypers,
                const upd_pool &pool);

  /// Stores the scalar states over tensors, except for rows that are skipped.
  void commitScalars() const;
  /// A row and its first parameter.
  struct GroupRow {
    uint32_t param = ~uint32_t(0);
    uint32_t row = 0;
    uint32_t plan = 0;
  };
  /// Replaces the entry of each group in `lowest` if a row of this plan has a lower parameter.
  /// Ignores rows that are skipped.
  void findLowest(uint32_t plan, std::vector<GroupRow> &lowest) const;
  /// Stores one scalar state of a row.
  void commitScalar(uint32_t row, size_t scalar) const;

  /// Advances the rows by some steps, of which none skipped a row. Returns false if rows that
  /// differed may be equal now.
  bool advance(int64_t count);

private:
  struct FreeMemory {
    void operator()(void *memory) const;
  };

  uint32_t find(const Key &key);
  uint32_t append(uint32_t param, const Key &key);
  void evaluate(upd_prologue_function prologue, const GroupHypers &hypers, size_t row);
  void copy(size_t from, size_t to);

  std::shared_ptr<const Kernels> kernels;
  const PlanInterface &plan;
  const PlanFunctions &functions;
  size_t scalarCount;
  size_t nextCount; // scalarCount and, if the plan is for probed steps, one for each probe
  size_t reducedCount;
  size_t rowBytes;
  bool isSingle; // values of a row are f32, else f64
  bool perTensor;
  std::vector<Difference> differences; // at the beginning of each stage

  std::vector<Key> keys;
  uint32_t last = 0;                        // the row of the tensor that was appended last
  std::vector<uint32_t> params;             // the first parameter of each row
  std::vector<double> facts;                // UPD_TENSOR_FACTS for each row
  std::vector<uint32_t> table;              // open addressing, for find
  std::unique_ptr<char, FreeMemory> memory; // rowBytes for each row
  size_t capacity = 0;
  std::vector<char> skipped;
  size_t firstRows = 0;

  std::vector<void *> scalarMemory; // scalarCount for each row, like the next
  std::vector<double> scalars;
  std::vector<double> nextScalars; // nextCount for each row
  std::vector<double> reduced;     // reducedCount for each row
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_PROLOGUEROWS_H
