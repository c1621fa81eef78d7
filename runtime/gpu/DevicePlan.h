//===- DevicePlan.h - One plan of a rule, applied to its tensors on a device --------*- C++ -*-===//
// Everything that its kernels are called with is in tables of the device's memory. In a step only
// what changes is written: pointers of gradients, mostly.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEPLAN_H
#define UPDRAFT_RUNTIME_GPU_DEVICEPLAN_H

#include "runtime/cpu/PassDomain.h"
#include "runtime/gpu/DeviceArena.h"
#include "runtime/kernels/EngineKernels.h"
#include "runtime/optimizer/QuantBlocks.h"
#include "runtime/optimizer/TensorShape.h"
#include "updraft-c/gpu_kernel.h"

#include <map>
#include <vector>

namespace updraft::gpu {

/// A parameter that takes part in a step.
struct SteppedTensor {
  uint32_t param; ///< by which tensors of a group are ordered
  uint32_t group;
  runtime::TensorShape shape;
  uint64_t number; ///< stands for it in random numbers
  /// On the device, which writes both: how many steps it has taken, and 1 before the first, then 0.
  void *steps;
  upd_dtype stepsType;
  double *first;
  bool byRows = false; ///< its gradient is of some rows, and passes run over these
};

/// The kernels of the engine.
struct EngineKernels {
#define UPD_ENGINE_KERNEL(member, name) Kernel member = nullptr;
#include "runtime/kernels/EngineKernels.def"

  static runtime::Status load(Device &device, EngineKernels &kernels);
  std::shared_ptr<Module> module;
};

class DevicePlan {
public:
  /// What all plans of a step share.
  struct Step {
    Device &device;
    const EngineKernels &engine;
    DeviceArena &tables;
    DeviceArena &scratch;
    Stream stream;
  };

  /// Rows as tensors.
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
  /// Returns the tensor's position. In ascending order of parameters.
  uint32_t add(const SteppedTensor &tensor);
  /// The parameter, the gradient, or a state over elements, rows or columns.
  void setStream(size_t position, size_t stream, void *data);
  runtime::QuantBlocks blocksOf(size_t position) const {
    return {list[position].shape, plan.tensors};
  }
  /// Where the plan's scalar state number `scalar` lies. Before the tables are filled.
  void setScalar(size_t position, size_t scalar, void *data) {
    scalarData[position * scalars.size() + scalar] = data;
  }

  const runtime::PlanInterface &interface() const { return plan; }
  upd_dtype compute() const { return kernels->interface.compute; }
  const std::vector<SteppedTensor> &tensors() const { return list; }
  const std::vector<runtime::StreamInterface> &streamInterfaces() const { return interfaces; }
  void *stream(size_t position, size_t index) const {
    return streams[position * interfaces.size() + index];
  }
  const std::vector<uint32_t> &scalarStates() const { return scalars; }
  void *scalar(size_t position, size_t scalar) const {
    return scalarData[position * scalars.size() + scalar];
  }

  void reserve(DeviceArena &tables, DeviceArena &scratch);
  /// `hypers` has those of all groups on the device.
  void fill(DeviceArena &tables, const DeviceArena &scratch, const double *hypers,
            const std::vector<int64_t> &groupSizes, uint64_t seed);

  /// What a tensor gives for a reduction over its group, and the next value of a state.
  GroupMember groupMember(const DeviceArena &scratch, size_t position, size_t reduction) const;
  GroupCandidate groupCandidate(const DeviceArena &scratch, size_t position, size_t scalar) const;

  /// What the prologues give a tensor, and how many bytes.
  const char *row(const DeviceArena &scratch, size_t position) const {
    return scratch.at(rows, position * rowBytes());
  }
  size_t rowBytes() const;
  bool usesSites() const { return hasSites; }
  /// Null if the plan has none.
  const upd_site *site(const DeviceArena &tables, size_t position) const {
    return hasSites ? tables.at(sites, position) : nullptr;
  }

  /// Writes what has changed since the tables were filled.
  runtime::Status update(const Step &step);

  runtime::Status begin(const Step &step, const float *foundInf) const;
  runtime::Status commit(const Step &step) const;

  void restart() { nextStage = groupReductionsRun = groupReductionsCombined = 0; }
  /// Launches stages, to the end or until a prologue needs reductions over groups that were not
  /// combined yet.
  runtime::Status run(const Step &step);
  /// Launches the passes over rows as tensors, when everything else has run.
  runtime::Status runRows(const Step &step, const RowTables &tables) const;
  bool isAtEnd() const { return nextStage == plan.sequence.size(); }
  size_t groupReductionsDone() const { return groupReductionsRun; }
  void setCombined(size_t count) { groupReductionsCombined = count; }

private:
  using Domain = runtime::PassDomain::Kind;

  /// A pass, and what it is launched with.
  struct Launch {
    Kernel kernel = nullptr;
    Domain domain;
    bool byWarps = false;    ///< a warp goes through a chunk, else a block
    bool ownStreams = false; ///< columns are reduced into values of blocks
    size_t slots = 0;        ///< values of a chunk in `partials`
    Table<void *> streams;
    Table<double> partials;
    Table<Combination> parts, wholes; ///< first parts of large tensors, then all
    Table<ColumnCombination> columns;
  };
  /// A tensor with more leaves is combined by more than one block: parts of so many, then those.
  static constexpr int64_t leavesOfPart = 512;

  /// Finds which tensors have all streams where the widest access may start, and whether that has
  /// changed.
  bool findAligned();
  void fillStreams(DeviceArena &tables, const DeviceArena &scratch);
  void fillChunks(DeviceArena &tables);
  void fillTensors(DeviceArena &tables, const DeviceArena &scratch, const double *hypers,
                   const std::vector<int64_t> &groupSizes, uint64_t seed);
  void fillCombinations(DeviceArena &tables, const DeviceArena &scratch);
  runtime::Status launchPass(const Step &step, const Launch &launch);
  static runtime::Status launchChunks(const Step &step, const Launch &launch, upd_gpu_chunk *chunks,
                                      int64_t count, void **streams, char *rows, double *partials,
                                      upd_site *sites);

  std::shared_ptr<const runtime::Kernels> kernels;
  const runtime::PlanInterface &plan;
  std::vector<runtime::StreamInterface> interfaces;
  std::vector<char> isScales; ///< for each stream
  std::vector<uint32_t> scalars;
  bool hasSites = false;
  std::vector<char> hasBlocks; ///< for each temporary: columns are reduced into it
  size_t reducedCount = 0;
  std::vector<uint32_t> groupReductions;                         ///< their numbers among all
  std::vector<std::vector<runtime::ScalarReduction>> reductions; ///< of each pass
  std::vector<Kernel> prologues;
  std::vector<Launch> passes;

  std::vector<SteppedTensor> list;
  std::vector<void *> streams;
  std::vector<void *> scalarData;
  std::map<Domain, runtime::PassDomain> domains; ///< that passes run over
  bool streamsChanged = false;
  std::vector<char> aligned; ///< for each tensor

  Table<BegunTensor> begunTensors;
  Table<upd_gpu_tensor> prologueTensors;
  Table<double> facts;
  Table<upd_site> sites;
  Table<ScalarState> scalarTable;
  Table<void *> streamTable;
  std::map<Domain, Table<upd_gpu_chunk>> chunks; ///< of each of `domains`
  Table<char> rows;
  Table<double> scalarValues, nextScalarValues, reduced, groupParts;
  std::vector<Table<char>> temporaries; ///< of each tensor, one after the other
  std::vector<Table<double>> columnBlocks;

  size_t nextStage = 0;
  size_t groupReductionsRun = 0;
  size_t groupReductionsCombined = 0;
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEPLAN_H
