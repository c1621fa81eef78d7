//===- DevicePlan.h - A plan of a rule for tensors on a device ----------------------*- C++ -*-===//
// All arguments of its kernels are in tables in the device's memory. A step only writes the changed
// entries, which are mostly pointers to gradients.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEPLAN_H
#define UPDRAFT_RUNTIME_GPU_DEVICEPLAN_H

#include "runtime/base/MatrixLayout.h"
#include "runtime/base/TensorShape.h"
#include "runtime/cpu/MatrixMemory.h"
#include "runtime/cpu/SweepDomain.h"
#include "runtime/gpu/DeviceArena.h"
#include "runtime/kernels/EngineKernels.h"
#include "runtime/optimizer/QuantBlocks.h"
#include "updraft-c/gpu_kernel.h"

#include <map>
#include <span>
#include <vector>

namespace updraft::gpu {

/// A parameter in a step.
struct SteppedTensor {
  uint32_t param; ///< determines the order of tensors in a group
  uint32_t group;
  runtime::TensorShape shape;
  uint64_t number; ///< identifies it in random numbers
  /// On the device, which updates both: the number of steps taken, and a flag that is 1 before the
  /// first step, then 0.
  void *steps;
  upd_dtype stepsType;
  double *first;
  bool byRows = false; ///< its gradient has only some rows, and sweeps run over these
};

/// A parameter's progress before a step, if the host knows it.
struct KnownProgress {
  bool isKnown = false;
  int64_t steps = 0;
  bool first = true;
};

/// The engine's kernels.
struct EngineKernels {
#define UPD_ENGINE_KERNEL(member, name) Kernel member = nullptr;
#include "runtime/kernels/EngineKernels.def"

  static runtime::Status load(Device &device, EngineKernels &kernels);
  std::shared_ptr<Module> module;
};

class DevicePlan {
public:
  /// The arguments that all plans of a step share.
  struct Step {
    Device &device;
    const EngineKernels &engine;
    DeviceArena &tables;
    DeviceArena &scratch;
    const upd_pool &pool;
    Stream stream;
  };

  /// Tables in which rows are tensors.
  struct RowTables {
    upd_gpu_chunk *leafChunks, *rowChunks; ///< one for each leaf of a row, one for each row
    int64_t leaves, rows;
    void **streams;
    char *tensorRows;
    upd_site *sites;
  };

  DevicePlan(std::shared_ptr<const runtime::Kernels> kernels, size_t plan);
  runtime::Status load(Module &module);

  void clear();
  /// Returns the tensor's position. Add tensors in ascending order of parameters.
  uint32_t add(const SteppedTensor &tensor);
  /// Sets the parameter, the gradient, or a state over elements, rows or columns.
  void setStream(size_t position, size_t stream, void *data);
  runtime::QuantBlocks blocksOf(size_t position) const {
    return {list[position].shape, plan.tensors};
  }
  /// Sets the address of the plan's scalar state number `scalar`. Call it before the tables are
  /// filled.
  void setScalar(size_t position, size_t scalar, void *data) {
    scalarData[position * plan.scalarStates.size() + scalar] = data;
  }

  const runtime::PlanInterface &interface() const { return plan; }
  upd_dtype compute() const { return kernels->interface.compute; }
  const std::vector<SteppedTensor> &tensors() const { return list; }
  const std::vector<runtime::StreamInterface> &streamInterfaces() const { return plan.streams; }
  void *stream(size_t position, size_t index) const {
    return streams[position * plan.streams.size() + index];
  }
  const std::vector<uint32_t> &scalarStates() const { return plan.scalarStates; }
  void *scalar(size_t position, size_t scalar) const {
    return scalarData[position * plan.scalarStates.size() + scalar];
  }

  /// Tensors share memory of matrices if they need more than `matrixBytes` together. Also reserves
  /// host memory for calls. UPD_OUT_OF_MEMORY: there isn't enough.
  runtime::Status reserve(DeviceArena &tables, DeviceArena &scratch, size_t matrixBytes,
                          const upd_pool &pool);
  /// `hypers` has the hyperparameters of all groups on the device.
  void fill(DeviceArena &tables, const DeviceArena &scratch, const double *hypers,
            const std::vector<int64_t> &groupSizes, uint64_t seed);

  /// A tensor's value for a reduction over its group, and the next value of a state.
  GroupMember groupMember(const DeviceArena &scratch, size_t position, size_t reduction) const;
  /// For a plan of probed steps.
  ProbedTensor probedTensor(const DeviceArena &tables, const DeviceArena &scratch,
                            size_t position) const;
  GroupCandidate groupCandidate(const DeviceArena &scratch, size_t position, size_t scalar) const;

  /// A tensor's values from the prologues, and their size in bytes.
  const char *row(const DeviceArena &scratch, size_t position) const {
    return scratch.at(rows, position * rowBytes());
  }
  size_t rowBytes() const;
  bool usesSites() const { return siteCount != 0; }
  /// Null if the plan doesn't use sites.
  const upd_site *site(const DeviceArena &tables, size_t position) const {
    return siteCount != 0 ? tables.at(sites, position) : nullptr;
  }

  /// Writes the changes since the tables were filled.
  runtime::Status update(const Step &step);

  runtime::Status begin(const Step &step, const float *foundInf) const;
  runtime::Status commit(const Step &step) const;

  void restart();
  /// Evaluates the first prologue on the host, so that the step doesn't have to wait to learn which
  /// calls it needs. Call it after `restart`. `hypers` has those of all groups; `progress` is by
  /// parameter.
  void evaluateConditions(DeviceArena &tables, const double *hypers,
                          const std::vector<KnownProgress> &progress);
  /// Launches stages, until the end or until a prologue needs reductions over groups that aren't
  /// combined yet.
  runtime::Status run(const Step &step);
  /// Launches the sweeps over rows as tensors, after everything else.
  runtime::Status runRows(const Step &step, const RowTables &tables) const;
  bool isAtEnd() const { return nextStage == plan.sequence.size(); }
  size_t groupReductionsDone() const { return groupReductionsRun; }
  void setCombined(size_t count) { groupReductionsCombined = count; }

private:
  using Domain = runtime::SweepDomain::Key;

  /// A sweep and its launch arguments.
  struct Launch {
    Kernel kernel = nullptr;
    Domain domain;
    bool byWarps = false;    ///< a warp processes a chunk, else a block
    bool ownStreams = false; ///< columns are reduced into values of blocks
    size_t slots = 0;        ///< values of a chunk in `partials`
    Table<void *> streams;
    Table<double> partials;
    Table<Combination> parts, wholes; ///< first parts of large tensors, then all
    Table<ColumnCombination> columns;
    std::vector<size_t> partsBefore, columnsBefore; ///< in the tensors before each; then the total
  };
  /// Tensors that go through a section together. Others then use the same memory of matrices.
  struct Window {
    size_t begin, end;
  };
  /// A tensor with more leaves is combined by several blocks: first parts of this many leaves, then
  /// the parts.
  static constexpr int64_t leavesOfPart = 512;

  /// A call that the host computes for a tensor.
  struct HostCall {
    const runtime::CallInterface *call;
    size_t position;
  };

  /// The values of a tensor that the prologues write: its scalar states, then the probes.
  size_t nextScalars() const {
    return plan.scalarStates.size() + (plan.isProbed ? kernels->interface.probes.size() : 0);
  }
  /// Finds the tensors whose streams are all aligned for the widest access. Returns whether that
  /// has changed.
  bool findAligned();
  upd_site *sitesOf(const DeviceArena &tables, const Domain &domain) const;
  size_t sectionEndFrom(size_t stage, bool waits) const;
  size_t packedBytesOf(size_t index, size_t position) const;
  size_t largestPackedBytesOf(size_t position) const;
  void reserveMatrices(DeviceArena &scratch, size_t matrixBytes);
  void reservePackings(DeviceArena &scratch);
  void reserveProducts(DeviceArena &tables);
  void reserveTranspositions(DeviceArena &tables);
  runtime::Status reserveHostCalls(size_t matrixBytes, const upd_pool &pool);
  void fillStreams(DeviceArena &tables, const DeviceArena &scratch);
  void fillChunks(DeviceArena &tables);
  void fillTensors(DeviceArena &tables, const DeviceArena &scratch, const double *hypers,
                   const std::vector<int64_t> &groupSizes, uint64_t seed);
  void fillCombinations(DeviceArena &tables, const DeviceArena &scratch);
  void fillProducts(DeviceArena &tables, const DeviceArena &scratch);
  int64_t fillPackings(DeviceArena &tables, const DeviceArena &scratch, Product &product,
                       size_t index, size_t position, int64_t firstUnit);
  void fillTranspositions(DeviceArena &tables, const DeviceArena &scratch);
  Product productOf(size_t index, size_t position) const;
  Packing packingOf(const Product &product, size_t position, bool isLhs) const;
  runtime::Status launchStage(const Step &step, const runtime::StageInterface &stage,
                              Window window);
  runtime::Status launchSweep(const Step &step, const Launch &launch, Window window);
  runtime::Status launchProduct(const Step &step, size_t index, Window window);
  runtime::Status launchTransposition(const Step &step, size_t index, Window window);
  size_t bytesOf(size_t position, uint32_t stream) const;
  size_t hostBytesOf(const runtime::CallInterface &call, size_t position) const;
  bool isNeeded(size_t position, uint32_t condition) const;
  runtime::Status runCalls(const Step &step, size_t stage, size_t end, Window window);
  runtime::Status runHostCalls(const Step &step, std::span<const HostCall> calls);
  static runtime::Status launchChunks(const Step &step, const Launch &launch, upd_gpu_chunk *chunks,
                                      int64_t count, void **streams, char *rows, double *partials,
                                      upd_site *sites);

  std::shared_ptr<const runtime::Kernels> kernels;
  size_t number; ///< of the plan
  const runtime::PlanInterface &plan;
  std::vector<char> isScales;  ///< for each stream
  size_t siteCount = 0;        ///< of a tensor: for its own matrices, or also for two square ones
  std::vector<char> hasBlocks; ///< by temporary: columns are reduced into it
  std::vector<runtime::Extent> reduced; ///< by temporary: the matrices whose columns they are
  size_t reducedCount = 0;
  std::vector<uint32_t> groupReductions;                         ///< their numbers among all
  std::vector<std::vector<runtime::ScalarReduction>> reductions; ///< by sweep
  std::vector<Kernel> prologues;
  std::vector<Launch> sweeps;

  std::vector<SteppedTensor> list;
  std::vector<void *> streams;
  std::vector<void *> scalarData;
  std::map<Domain, runtime::SweepDomain> domains; ///< domains that sweeps run over
  bool streamsChanged = false;
  std::vector<char> aligned; ///< by tensor

  Table<BegunTensor> begunTensors;
  Table<upd_gpu_tensor> prologueTensors;
  Table<double> facts;
  Table<upd_site> sites; ///< of all tensors, for each kind of matrices
  Table<ScalarState> scalarTable;
  Table<void *> streamTable;
  std::map<Domain, Table<upd_gpu_chunk>> chunks; ///< by domain, as in `domains`
  Table<char> rows;
  Table<double> scalarValues, nextScalarValues, reducedValues, groupParts;
  std::vector<Table<char>> temporaries; ///< of all tensors, one after another
  runtime::MatrixLayout matrices;
  bool hasOwnMatrices = false; ///< of each tensor, because sections share them
  std::vector<Window> windows;
  std::vector<Table<double>> columnBlocks;
  std::vector<Table<Product>> products;           ///< by product of the plan
  std::vector<std::vector<int64_t>> productTiles; ///< of each tensor, by product of the plan
  std::vector<Table<Packing>> packings;           ///< by product of the plan
  std::vector<std::vector<int64_t>> packedUnits;  ///< of each tensor, by product of the plan
  std::vector<std::vector<Table<char>>> packed;   ///< of each packing, by product of the plan

  std::vector<Table<Transposition>> transpositions; ///< by call of the plan
  const runtime::Lapack *lapack = nullptr;
  runtime::StateArena hostMatrices;   ///< operands and results of calls of the host
  runtime::StateArena hostWorkspaces; ///< for each of `hostThreads`
  size_t hostThreads = 0, workspaceBytes = 0;
  std::vector<char> hostRows;   ///< by tensor: its values from the prologues, for their conditions
  std::vector<char> isRowKnown; ///< by tensor: the host has its row of this step

  size_t nextStage = 0;
  size_t groupReductionsRun = 0;
  size_t groupReductionsCombined = 0;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEPLAN_H
