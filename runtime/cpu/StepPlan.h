//===- StepPlan.h - A step as a flat list of tensors --------------------------------*- C++ -*-===//
// What a step runs over, laid out for the inner loop: for each parameter with a gradient the
// pointers of its streams, side by side, and the number of its prologue row. It stays as it is for
// as long as the same parameters have gradients; only pointers and rows are filled in anew.

#ifndef UPDRAFT_RUNTIME_CPU_STEPPLAN_H
#define UPDRAFT_RUNTIME_CPU_STEPPLAN_H

#include "runtime/base/Kernels.h"
#include "runtime/cpu/GroupHypers.h"
#include "runtime/cpu/StepPartition.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <vector>

namespace updraft::runtime {

class StepPlan {
public:
  static constexpr uint32_t absent = ~uint32_t(0);
  /// What a thread has to have at least, in a step that several run.
  static constexpr int64_t threadCost = 16 * 1024;
  /// A step of fewer elements than this (with StepPartition::tensorCost for each tensor) runs on
  /// the calling thread: waking another takes longer than it saves.
  static constexpr int64_t inlineCost = 32 * 1024;

  struct Tensor {
    uint32_t param;
    uint32_t row;
  };

  /// What a prologue row depends on.
  struct Row {
    uint32_t group;
    bool first;
    int64_t steps; // taken so far
    bool operator==(const Row &) const = default;
  };

  explicit StepPlan(std::shared_ptr<const Kernels> kernels);

  /// Starts over, for parameters numbered below `paramCount`.
  void clear(size_t paramCount);
  /// Appends a parameter; the pointers of its streams are null until set. In ascending order.
  void add(uint32_t param, int64_t elements, const Row &row);
  void finish();

  /// Whether the plan is that of the last step. What fails while a step is made ready leaves it
  /// discarded.
  bool usable() const { return accepted; }
  void accept() { accepted = true; }
  void discard() { accepted = false; }

  /// The position of a parameter in the plan, or `absent`.
  uint32_t positionOf(size_t param) const { return positions[param]; }
  const std::vector<Tensor> &tensors() const { return list; }
  const Row &rowOf(const Tensor &tensor) const { return rows[tensor.row]; }
  void setStream(size_t position, size_t stream, void *data) {
    streams[position * streamCount + stream] = data;
  }

  /// Evaluates every row once, and the initial values if some parameter has no state.
  void evaluate(const GroupHypers &hypers);
  bool hasFirst() const { return firstRows != 0; }
  bool hasSkipped() const { return skippedRows != 0; }
  bool isSkipped(const Tensor &tensor) const { return skipped[tensor.row] != 0; }

  /// Runs the kernels over all tensors. States that are new are initialised by the thread that then
  /// runs over them.
  void run(const upd_pool &pool);

  /// Makes the rows those of the next step. Not after a step in which something was skipped.
  void advance();

private:
  struct InitialValue {
    alignas(8) char element[8];
    bool isZero;
  };
  struct FreeMemory {
    void operator()(void *memory) const;
  };

  uint32_t findRow(const Row &row);
  const char *rowData(uint32_t row) const { return rowMemory.get() + row * rowBytes; }
  void runPart(size_t part) const;
  void runTensor(size_t position, int64_t begin, int64_t end) const;
  void runWhole(size_t begin, size_t end) const;
  void initialise(size_t position, int64_t begin, int64_t end) const;

  std::shared_ptr<const Kernels> kernels;
  size_t streamCount;
  size_t rowBytes;

  std::vector<Tensor> list;
  std::vector<upd_range> ranges; // all of each tensor
  std::vector<void *> streams;   // streamCount for each tensor
  std::vector<uint32_t> positions;
  std::vector<Row> rows;
  std::vector<uint32_t> rowTable; // open addressing, for findRow
  int64_t cost = 0;
  bool accepted = false;

  std::unique_ptr<char, FreeMemory> rowMemory; // rowBytes for each row
  size_t rowCapacity = 0;
  std::vector<char> skipped; // for each row
  size_t skippedRows = 0;
  size_t firstRows = 0;
  std::vector<double> initialScratch;
  std::vector<InitialValue> initialValues; // for each group and state
  bool zeroInitial = true;

  StepPartition partition;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_STEPPLAN_H
