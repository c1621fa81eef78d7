//===- DeviceRows.h - Steps of single rows on a device ------------------------------*- C++ -*-===//
// The indices are in the device's memory; the host only knows their number. So the device writes
// the tables with the location of each row, and sweeps treat rows as tensors.

#ifndef UPDRAFT_RUNTIME_GPU_DEVICEROWS_H
#define UPDRAFT_RUNTIME_GPU_DEVICEROWS_H

#include "runtime/gpu/DevicePlan.h"

#include <memory>
#include <vector>

namespace updraft::gpu {

/// A gradient of some rows.
struct SteppedRows {
  uint32_t position; ///< position of the parameter in its plan
  int64_t rows;      ///< number of rows of the parameter
  int64_t elements;  ///< number of elements of a row
  const int64_t *indices;
  int64_t count;
  void *values;
};

/// The rows for the parameters of one plan.
class DeviceRows {
public:
  DeviceRows(const std::shared_ptr<Device> &device, const DevicePlan &plan)
      : plan(plan), tables(device, DeviceArena::Use::Filled),
        scratch(device, DeviceArena::Use::Scratch) {}

  void clear() { list.clear(); }
  /// Replaces the rows. Allocates if there are more rows than ever before. UPD_UNSUPPORTED: there
  /// are more than kernels can number. The tables of the plan must be filled.
  runtime::Status set(const std::vector<SteppedRows> &rows, const DeviceArena &planTables,
                      const DeviceArena &planScratch, Stream stream);
  /// Call this after the prologues of the plan have run.
  runtime::Status run(const DevicePlan::Step &step) const;

private:
  static int64_t leavesOf(const SteppedRows &rows);
  void reserve();
  void fill(const DeviceArena &planTables, const DeviceArena &planScratch);

  const DevicePlan &plan;
  std::vector<SteppedRows> list; ///< gradients that have elements
  int64_t rowCount = 0, leafCount = 0;

  DeviceArena tables, scratch;
  Table<PlacedRows> placed;
  Table<RowStream> rowStreams;
  Table<upd_gpu_chunk> leafChunks, rowChunks;
  Table<void *> streams;
  Table<char> tensorRows;
  Table<upd_site> sites;
  Table<double> temporaries; ///< of all rows, one after another
};

} // namespace updraft::gpu

#endif // UPDRAFT_RUNTIME_GPU_DEVICEROWS_H
