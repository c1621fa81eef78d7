//===- PlanRun.h - One plan of a rule, applied to its tensors -----------------------*- C++ -*-===//
// Laid out for the inner loop: each tensor has its stream pointers side by side, and the number of
// its prologue row.

#ifndef UPDRAFT_RUNTIME_CPU_PLANRUN_H
#define UPDRAFT_RUNTIME_CPU_PLANRUN_H

#include "runtime/base/Kernels.h"
#include "runtime/base/MatrixLayout.h"
#include "runtime/cpu/MatrixMemory.h"
#include "runtime/cpu/PlanTemporaries.h"
#include "runtime/cpu/PrologueRows.h"
#include "runtime/cpu/SweepDomain.h"
#include "runtime/cpu/TensorWindows.h"
#include "runtime/matrix/Lapack.h"
#include "runtime/optimizer/InitialValues.h"
#include "runtime/optimizer/QuantBlocks.h"
#include "runtime/timeline/Span.h"

#include <array>
#include <memory>
#include <vector>

namespace updraft::runtime {

class PlanRun {
public:
  struct Tensor {
    uint32_t param;
    uint32_t row;
  };
  /// The new states that are filled before a sweep reads them.
  enum class Fill : uint8_t { Nothing, NotZero, Everything };
  /// The arguments that all plans of a step share.
  struct Step {
    const GroupHypers &hypers;
    const InitialValues &initial;
    const upd_pool &pool;
    Fill fill = Fill::Nothing;
    const upd_step_observer *observer = nullptr;
  };

  PlanRun(std::shared_ptr<const Kernels> kernels, size_t plan);

  void clear();
  /// Appends a tensor, and returns its position. Its stream pointers are null until set.
  uint32_t add(uint32_t param, const TensorShape &shape, const PrologueRows::Key &key);
  /// Allocates the other memory of the sweeps. Called after the last `add`.
  void finish(const std::vector<int64_t> &groupSizes, uint64_t seed,
              const std::vector<uint64_t> &numbers);

  const std::vector<Tensor> &tensors() const { return list; }
  PrologueRows &rows() { return prologueRows; }
  const PrologueRows &rows() const { return prologueRows; }
  bool isFirst(size_t position) const { return prologueRows[list[position].row].first; }
  bool isSkipped(size_t position) const { return prologueRows.isSkipped(list[position].row); }
  void *stream(size_t position, size_t index) const {
    return streams[position * streamCount + index];
  }
  void setStream(size_t position, size_t index, void *data) {
    streams[position * streamCount + index] = data;
    if (const uint32_t scales = plan.streams[index].scales; scales != StreamInterface::none)
      streams[position * streamCount + scales] = blocksOf(position).scalesOf(data);
  }
  const TensorShape &shape(size_t position) const { return shapes[position]; }
  QuantBlocks blocksOf(size_t position) const { return {shapes[position], plan.tensors}; }

  /// All streams of the plan, and the numbers of its states over tensors or groups, in order.
  const std::vector<StreamInterface> &streamInterfaces() const { return plan.streams; }
  const std::vector<uint32_t> &scalarStates() const { return plan.scalarStates; }

  /// Evaluates the prologues before the first sweep.
  void start(const Step &step);
  /// Fills new states over rows, columns and square matrices, and those that products or calls
  /// access. Other new states over elements are filled by the thread that runs over the elements.
  void fillStatesFirst(const Step &step) const;
  /// Runs stages to the end, or to a prologue before which a reduction over groups must be
  /// combined. Reports a tensor to the observer after its last sweep.
  void run(const Step &step);
  bool isAtEnd() const { return nextStage == plan.sequence.size(); }
  /// Called after the last stage. Fills states if no sweep over elements has done so, and reports
  /// all tensors to the observer if the last stage isn't a sweep.
  void complete(const Step &step);

  /// The number of reductions over groups that have run.
  size_t groupReductionsRun() const { return groupReductionsDone; }
  /// A tensor's contribution to a reduction over its group.
  double groupPart(size_t position, size_t reduction) const {
    return groupParts[position * groupReductions.size() + reduction];
  }
  /// Sets the results of a reduction over groups.
  void setGroupReduction(size_t reduction, const std::vector<double> &valueOfGroup);
  /// Sets the number of reductions over groups that have results.
  void setCombined(size_t count) { groupReductionsCombined = count; }

private:
  /// Tensors that go through stages together.
  struct Walk {
    const Step &step; // with the pool that runs over these tensors
    TensorWindows::Window tensors;
    bool isOwn;   // only this thread runs over them; others run over other tensors
    size_t stage; // the next one
    bool elementsFilled;
    const MatrixMemory *memory; // null without products and calls
  };

  /// Sweeps that run together over each range, before the next range.
  struct Traversal {
    const Step &step;
    TensorWindows::Window tensors;
    bool isOwn;
    SweepDomain &domain;
    uint32_t firstSweep;
    uint32_t sweeps;
    bool fillsStates;
    bool isLast;                                // the last traversal over these tensors
    PrologueRows::Difference rowsDifferBy = {}; // tensors with equal rows can share a call
  };

  /// Fewer fused multiply-adds than these are not worth another thread.
  static constexpr int64_t threadOperations = 1 << 20;

  SweepDomain &domainOf(SweepDomain::Key key);
  const upd_site *sitesOf(Extent matrices, size_t position) const;
  size_t sectionEndFrom(size_t stage) const;
  bool readsAgain(size_t end) const;
  void finishSection(size_t end);
  void runWindows(const Step &step, size_t end);
  void runStages(Walk walk, size_t end);
  Traversal nextTraversal(Walk &walk);
  void runTraversal(const Traversal &traversal) const;
  void runPart(const Traversal &traversal, StepBoundary begin, StepBoundary end) const;
  void describe(timeline::Event &event, const Traversal &traversal, StepBoundary begin,
                StepBoundary end) const;
  void runRanges(const Traversal &traversal, size_t position, const upd_range *ranges,
                 size_t count) const;
  size_t equalFrom(const Traversal &traversal, size_t position, size_t end) const;
  double *slotsFor(const Traversal &traversal, uint32_t sweep, size_t position,
                   int64_t begin) const;
  void observe(const Step &step, size_t begin, size_t end) const;
  bool isFilled(const Step &step, uint32_t group, size_t state) const {
    return step.fill == Fill::Everything || !step.initial.isZero(group, state);
  }
  bool isNeededFirst(uint32_t stream) const;
  void fillElements(const Traversal &traversal, size_t position, int64_t begin, int64_t end) const;
  int64_t operationsOf(const ProductInterface &product, size_t position) const;
  int64_t operationsOf(const CallInterface &call, size_t position) const;
  void reserveMatrices(const upd_pool &pool);
  void placeMatrices(const Walk &walk);
  void placeMatrices(size_t position, char *memory);
  void allocateOwnMatrices();
  const MatrixMemory *memoryOf(size_t index) const {
    return memories.empty() ? nullptr : &memories[index];
  }
  /// Whether the step needs a stage for a tensor.
  bool isNeeded(size_t position, uint32_t condition) const {
    return !isSkipped(position) &&
           (condition == 0 || prologueRows.isSet(list[position].row, condition));
  }
  const void *scaleOf(size_t position, uint32_t scale) const;
  void multiply(const Walk &walk, const StageInterface &stage) const;
  void multiplyPart(const ProductInterface &product, size_t position, size_t part, size_t parts,
                    void *workspace) const;
  void runCalls(const Walk &walk, size_t end) const;
  void runCall(const CallInterface &call, size_t position, int64_t batch, void *workspace) const;
  void setColumnStreams(const Walk &walk, const SweepInterface &sweep, bool toBlocks);
  void combine(const Walk &walk, uint32_t sweep);

  std::shared_ptr<const Kernels> kernels;
  const PlanInterface &plan;
  const PlanFunctions &functions;
  size_t streamCount;
  bool hasSites = false;                                      // sweeps take sites
  std::vector<std::vector<ScalarReduction>> scalarReductions; // of each sweep
  std::vector<uint32_t> groupReductions; // numbers of those over groups, among all
  std::vector<uint32_t> sweepConditions; // as StageInterface::condition
  std::vector<bool> isFilledFirst;       // by stream: fillStatesFirst fills it
  std::vector<size_t> callsEnds;         // by stage: a call runs at once with those before this one
  const Lapack *lapack = nullptr;        // null if no call needs it

  std::vector<Tensor> list;
  std::vector<TensorShape> shapes;
  std::vector<void *> streams; // streamCount for each tensor
  std::array<std::vector<upd_site>, std::size(SweepDomain::siteMatrices)> sites;
  std::vector<SweepDomain> domains; // that of elements, then others that sweeps use
  int64_t elementBytes = 0;         // of the parameter, the gradient and the states over elements
  TensorWindows windows;
  PrologueRows prologueRows;
  PlanTemporaries temporaries;
  MatrixLayout matrices;
  std::vector<MatrixLayout::Places> matrixPlaces; // of each tensor
  bool hasOwnMatrices = false;                    // each tensor has memory for them
  StateArena ownMatrices;
  std::vector<MatrixMemory> memories; // for shared windows, then for the windows of each thread
  size_t sharedThreads = 1;           // that the memory of shared windows is for
  std::vector<std::vector<double>> partials; // of each sweep
  std::vector<double> groupParts;

  size_t nextStage = 0;
  bool elementsFilled = false;
  size_t groupReductionsDone = 0;
  size_t groupReductionsCombined = 0;
};

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_CPU_PLANRUN_H
