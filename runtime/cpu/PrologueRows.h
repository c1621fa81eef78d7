//===- PrologueRows.h - The scalars of a step ---------------------------------------*- C++ -*-===//
// What the prologues of a plan compute, and what they compute it from. Tensors share a row where
// that is the same for them; where each has its own, neighbours share what is the same so far.

#ifndef UPDRAFT_RUNTIME_CPU_PROLOGUEROWS_H
#define UPDRAFT_RUNTIME_CPU_PROLOGUEROWS_H

#include "runtime/base/Kernels.h"
#include "runtime/optimizer/InitialValues.h"
#include "runtime/optimizer/TensorShape.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <vector>

namespace updraft::runtime {

class PrologueRows {
public:
  /// What a row depends on; beside it, if each tensor has its own, the tensor's shape.
  struct Key {
    uint32_t group;
    bool first;
    int64_t steps; // taken so far
    bool operator==(const Key &) const = default;
  };

  PrologueRows(std::shared_ptr<const Kernels> kernels, size_t plan);

  /// Each tensor has its own: tensor i of the plan has row i.
  bool isPerTensor() const { return perTensor; }

  void clear();
  /// The row of the tensor that is appended to the plan: parameter `param` of so many.
  uint32_t add(uint32_t param, const Key &key, const TensorShape &shape);
  /// `groupSizes` has the elements of each group.
  void finish(const std::vector<int64_t> &groupSizes);

  size_t size() const { return keys.size(); }
  const Key &operator[](size_t row) const { return keys[row]; }
  bool hasFirst() const { return firstRows != 0; }
  bool hasSkipped() const;
  bool isSkipped(uint32_t row) const { return skipped[row] != 0; }
  /// What rows differ by after some of the prologues: nothing, their keys, or each from all others.
  enum class Difference : uint8_t { None, Keys, All };
  /// When a stage of the plan's sequence begins.
  Difference differenceAt(size_t stage) const { return differences[stage]; }
  bool areEqual(uint32_t a, uint32_t b, Difference difference) const {
    return a == b || difference == Difference::None ||
           (difference == Difference::Keys && keys[a] == keys[b]);
  }
  const char *data(uint32_t row) const { return memory.get() + row * rowBytes; }

  /// Where the plan's scalar state number `scalar` of a row lies; null if it is not there yet.
  void setScalar(uint32_t row, size_t scalar, void *data) {
    scalarMemory[row * scalarCount + scalar] = data;
  }
  void *scalar(uint32_t row, size_t scalar) const {
    return scalarMemory[row * scalarCount + scalar];
  }
  bool lacksScalars() const;

  /// Reads the scalar states; no row is skipped any more. What is not there is initial.
  void start(const InitialValues &initial);
  void setReduced(uint32_t row, size_t reduction, double value) {
    reduced[row * reducedCount + reduction] = value;
  }
  /// Evaluates the prologue that is a stage of the sequence, for every row in [begin, end) that is
  /// not skipped.
  void evaluate(size_t stage, size_t begin, size_t end, const GroupHypers &hypers,
                const upd_pool &pool);

  /// Stores the scalar states over tensors, of the rows that are not skipped.
  void commitScalars() const;
  /// For each group the row, of those that are not skipped, whose first parameter is the lowest, if
  /// that is lower than what `lowest` has.
  struct GroupRow {
    uint32_t param = ~uint32_t(0);
    uint32_t row = 0;
    uint32_t plan = 0;
  };
  void findLowest(uint32_t plan, std::vector<GroupRow> &lowest) const;
  /// Stores one scalar state of a row.
  void commitScalar(uint32_t row, size_t scalar) const;

  /// Makes the rows those of the next step. Not after a step in which something was skipped. False
  /// if rows that differed are the same from now on.
  bool advance();

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
  size_t reducedCount;
  size_t rowBytes;
  bool perTensor;
  std::vector<Difference> differences; // at each stage

  std::vector<Key> keys;
  uint32_t last = 0;                        // the row of the tensor that was appended last
  std::vector<uint32_t> params;             // the first of each row
  std::vector<double> facts;                // UPD_TENSOR_FACTS for each row
  std::vector<uint32_t> table;              // open addressing, for find
  std::unique_ptr<char, FreeMemory> memory; // rowBytes for each row
  size_t capacity = 0;
  std::vector<char> skipped;
  size_t firstRows = 0;

  std::vector<void *> scalarMemory; // scalarCount for each row, as the next two
  std::vector<double> scalars;
  std::vector<double> nextScalars;
  std::vector<double> reduced; // reducedCount for each row
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_PROLOGUEROWS_H
