//===- DeviceRows.h - The rows of gradients of some rows, on a device ---------------*- C++ -*-===//
// The indices are in the device's memory, and only their number is known here: so the device itself
// writes the tables that say where each row is, and passes take rows for tensors.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEROWS_H
#define UPDRAFT_RUNTIME_GPU_DEVICEROWS_H

#include "runtime/gpu/DevicePlan.h"

#include <memory>
#include <vector>

namespace updraft::gpu {

/// A gradient of some rows.
struct SteppedRows {
  uint32_t position; ///< of the parameter in its plan
  int64_t rows;      ///< of the parameter
  int64_t elements;  ///< of a row
  const int64_t *indices;
  int64_t count;
  void *values;
};

/// Those of the parameters of one plan.
class DeviceRows {
public:
  DeviceRows(const std::shared_ptr<Device> &device, const DevicePlan &plan)
      : plan(plan), tables(device, DeviceArena::Use::Filled),
        scratch(device, DeviceArena::Use::Scratch) {}

  void clear() { list.clear(); }
  /// Replaces what was there. Allocates where there are more rows than ever before; UPD_UNSUPPORTED
  /// if they are more than kernels can number. The tables of the plan are filled.
  runtime::Status set(const std::vector<SteppedRows> &rows, const DeviceArena &planTables,
                      const DeviceArena &planScratch, Stream stream);
  /// When the prologues of the plan have run.
  runtime::Status run(const DevicePlan::Step &step) const;

private:
  static int64_t leavesOf(const SteppedRows &rows);
  void reserve();
  void fill(const DeviceArena &planTables, const DeviceArena &planScratch);

  const DevicePlan &plan;
  std::vector<SteppedRows> list; ///< those with elements
  int64_t rowCount = 0, leafCount = 0;

  DeviceArena tables, scratch;
  Table<PlacedRows> placed;
  Table<RowStream> rowStreams;
  Table<upd_gpu_chunk> leafChunks, rowChunks;
  Table<void *> streams;
  Table<char> tensorRows;
  Table<upd_site> sites;
  Table<double> temporaries; ///< of all rows, one after the other
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEROWS_H
