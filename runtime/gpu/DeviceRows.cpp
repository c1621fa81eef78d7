//===- DeviceRows.cpp - Steps of single rows on a device --------------------------------------===//

#include "runtime/gpu/DeviceRows.h"

#include "runtime/base/DType.h"

#include <bit>
#include <fmt/format.h>
#include <limits>

using namespace updraft::gpu;
using updraft::runtime::Extent;
using updraft::runtime::sizeOf;
using updraft::runtime::Status;
using updraft::runtime::StreamIndex;
using updraft::runtime::StreamInterface;

int64_t DeviceRows::leavesOf(const SteppedRows &rows) {
  return (rows.elements + UPD_LEAF_ELEMENTS - 1) / UPD_LEAF_ELEMENTS;
}

Status DeviceRows::set(const std::vector<SteppedRows> &rows, const DeviceArena &planTables,
                       const DeviceArena &planScratch, Stream stream) {
  list.clear();
  rowCount = leafCount = 0;
  std::vector<SteppedRows> taken;
  for (const SteppedRows &each : rows)
    if (each.count != 0 && each.elements != 0 && !plan.interface().sweeps.empty()) {
      taken.push_back(each);
      rowCount += each.count;
      leafCount += each.count * leavesOf(each);
    }
  if (taken.empty())
    return {};
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (rowCount > most)
    return {UPD_UNSUPPORTED, fmt::format("there are gradients of {} rows; a step on a GPU takes up "
                                         "to {}",
                                         rowCount, most)};
  list = std::move(taken);
  reserve();
  for (DeviceArena *arena : {&tables, &scratch})
    if (Status status = arena->allocate(); !status.ok()) {
      list.clear();
      return status;
    }
  fill(planTables, planScratch);
  Status status = tables.upload(stream);
  if (!status.ok())
    list.clear();
  return status;
}

void DeviceRows::reserve() {
  const size_t streamCount = plan.streamInterfaces().size();
  tables.clear();
  placed = tables.reserve<PlacedRows>(list.size());
  rowStreams = tables.reserve<RowStream>(list.size() * streamCount);

  // Rounded up, so that slightly different numbers of rows need the same memory.
  const size_t rows = std::bit_ceil(static_cast<size_t>(rowCount));
  scratch.clear();
  leafChunks = scratch.reserve<upd_gpu_chunk>(std::bit_ceil(static_cast<size_t>(leafCount)));
  rowChunks = scratch.reserve<upd_gpu_chunk>(rows);
  streams = scratch.reserve<void *>(rows * streamCount);
  tensorRows = scratch.reserve<char>(rows * plan.rowBytes());
  sites = scratch.reserve<upd_site>(plan.usesSites() ? rows : 0);
  temporaries = scratch.reserve<double>(rows * plan.interface().temporaries().size());
}

void DeviceRows::fill(const DeviceArena &planTables, const DeviceArena &planScratch) {
  const std::vector<StreamInterface> &interfaces = plan.streamInterfaces();
  const size_t firstTemporary = plan.interface().firstTemporary;
  size_t row = 0, leaf = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const SteppedRows &own = list[i];
    RowStream *ofTensor = tables.host(rowStreams) + i * interfaces.size();
    for (size_t j = 0; j < interfaces.size(); ++j) {
      if (j >= firstTemporary) {
        const size_t before = (j - firstTemporary) * static_cast<size_t>(rowCount);
        ofTensor[j] = {reinterpret_cast<char *>(scratch.at(temporaries, before + row)),
                       sizeof(double), 0, 0};
        continue;
      }
      const int64_t values = interfaces[j].over == Extent::Element ? own.elements : 1;
      const bool isGrad = j == StreamIndex::Grad;
      void *data = isGrad ? own.values : plan.stream(own.position, j);
      ofTensor[j] = {static_cast<char *>(data),
                     values * static_cast<int64_t>(sizeOf(interfaces[j].dtype)), isGrad ? 0 : 1,
                     values > 1};
    }
    tables.host(placed)[i] = {own.indices,
                              own.rows,
                              own.elements,
                              leavesOf(own),
                              tables.at(rowStreams, i * interfaces.size()),
                              static_cast<int64_t>(interfaces.size()),
                              plan.row(planScratch, own.position),
                              plan.site(planTables, own.position),
                              static_cast<int64_t>(plan.rowBytes()),
                              plan.compute(),
                              static_cast<int32_t>(row),
                              scratch.at(leafChunks, leaf),
                              scratch.at(rowChunks, row),
                              scratch.at(streams, row * interfaces.size()),
                              scratch.at(tensorRows, row * plan.rowBytes()),
                              scratch.at(sites, row)};
    row += static_cast<size_t>(own.count);
    leaf += static_cast<size_t>(own.count * leavesOf(own));
  }
}

Status DeviceRows::run(const DevicePlan::Step &step) const {
  if (list.empty())
    return {};
  for (size_t i = 0; i < list.size(); ++i)
    if (Status status = launchOver(step.device, step.engine.placeRows, tables.at(placed, i),
                                   static_cast<size_t>(list[i].count * leavesOf(list[i])),
                                   UPD_GPU_THREADS, step.stream);
        !status.ok())
      return status;
  return plan.runRows(step, {scratch.at(leafChunks), scratch.at(rowChunks), leafCount, rowCount,
                             scratch.at(streams), scratch.at(tensorRows), scratch.at(sites)});
}
