//===- Emulator.cpp - Runs GPU kernels on the host --------------------------------------------===//

#include "runtime/emulator/Emulator.h"

#include "runtime/emulator/Block.h"
#include "runtime/emulator/Launch.h"
#include "runtime/kernels/EngineKernels.h"

#include <algorithm>
#include <cstring>

using namespace updraft::emulator;

#define UPD_ENGINE_KERNEL(member, name) extern "C" void name##_kernel(void **arguments);
#include "runtime/kernels/EngineKernels.def"

/// Few, so that blocks and warps have several chunks.
static constexpr int64_t mostBlocks = 3;

int64_t updraft_emulator_thread() { return Block::current().thread(); }
int64_t updraft_emulator_block() { return Launch::current().block(); }
int64_t updraft_emulator_blocks() { return Launch::current().blocks(); }
int32_t updraft_emulator_exchange(int32_t value, int32_t distance) {
  return Block::current().exchange(value, distance);
}
void updraft_emulator_barrier() { Block::current().barrier(); }
void updraft_emulator_check(const void *address, int64_t bytes) {
  Launch::current().check(address, bytes);
}

void updraft_emulator_prologue(updraft::runtime::EmulatedKernel kernel, int64_t flagBytes,
                               const double *hyper, const double *perTensor, const double *reduced,
                               const double *scalars, void *row, double *nextScalars) {
  std::memset(row, 0, static_cast<size_t>(flagBytes));
  upd_gpu_tensor tensor{hyper, perTensor, reduced, scalars, row, nextScalars};
  // Only the callers know the lengths of these, so reads from them aren't checked.
  constexpr int64_t any = int64_t(1) << 20;
  Launch launch;
  launch.allow(&tensor, sizeof(tensor));
  for (const void *data : {static_cast<const void *>(hyper), static_cast<const void *>(perTensor),
                           static_cast<const void *>(reduced), static_cast<const void *>(scalars),
                           static_cast<const void *>(row), static_cast<const void *>(nextScalars)})
    launch.allow(data, any);
  void *tensors = &tensor;
  int64_t count = 1;
  void *arguments[] = {&tensors, &count};
  launch.run(kernel, arguments, 1);
}

static int64_t blocksIn(int64_t elements) {
  return (elements + UPD_QUANT_BLOCK - 1) / UPD_QUANT_BLOCK;
}

/// The values of a stream for a range of a tensor.
static upd_range valuesIn(upd_range range, int64_t loop, int64_t extent, const upd_site &site) {
  if (loop == UPD_GPU_FLAT) {
    if (extent == UPD_GPU_SCALES)
      return {blocksIn(range.begin), blocksIn(range.end)};
    return range;
  }
  const int64_t rows = site.rows, columns = site.columns;
  upd_range batches = range, ofRows = {range.begin * rows, range.end * rows}, sums = range;
  if (loop == UPD_GPU_MATRIX) {
    // A tensor without rows has no blocks, and an empty range.
    const int64_t perBatch = std::max<int64_t>((rows + UPD_BLOCK_ROWS - 1) / UPD_BLOCK_ROWS, 1);
    const auto firstRow = [&](int64_t block) {
      return block / perBatch * rows + std::min(block % perBatch * UPD_BLOCK_ROWS, rows);
    };
    const auto lastRow = [&](int64_t block) {
      return block / perBatch * rows + std::min((block % perBatch + 1) * UPD_BLOCK_ROWS, rows);
    };
    batches = {range.begin / perBatch, (range.end - 1) / perBatch + 1};
    ofRows = {firstRow(range.begin), lastRow(range.end - 1)};
    // Sums of columns are one sequence per batch, or one per block.
    sums = {std::min(batches.begin, range.begin), std::max(batches.end, range.end)};
  }
  switch (extent) {
  case UPD_GPU_SCALES:
    return {ofRows.begin * blocksIn(columns), ofRows.end * blocksIn(columns)};
  case UPD_GPU_ROWS:
    return ofRows;
  case UPD_GPU_COLUMNS:
    return {sums.begin * columns, sums.end * columns};
  case UPD_GPU_BATCHES:
    return batches;
  default:
    return {ofRows.begin * columns, ofRows.end * columns};
  }
}

void updraft_emulator_sweep(updraft::runtime::EmulatedKernel kernel, const int64_t *streamBytes,
                            const int64_t *streamExtents, int64_t streamCount, int64_t loop,
                            int64_t rowBytes, int64_t partialCount, const void *row,
                            void *const *streams, const upd_range *ranges, int64_t count,
                            double *partials, const upd_site *sites) {
  Launch launch;
  std::vector<upd_gpu_chunk> chunks;
  std::vector<char> rows(static_cast<size_t>(count * rowBytes));
  const int64_t perChunk = loop == UPD_GPU_FLAT ? UPD_LEAF_ELEMENTS : 1;
  for (int64_t tensor = 0; tensor < count; ++tensor) {
    std::memcpy(rows.data() + tensor * rowBytes, row, static_cast<size_t>(rowBytes));
    const upd_range range = ranges[tensor];
    if (range.begin == range.end)
      continue;
    bool aligned = true;
    for (int64_t i = 0; i < streamCount; ++i) {
      const char *data = static_cast<const char *>(streams[tensor * streamCount + i]);
      aligned = aligned && (streamExtents[i] == UPD_GPU_SCALES ||
                            reinterpret_cast<uintptr_t>(data) % UPD_GPU_ALIGNMENT == 0);
      if (!data)
        continue;
      const upd_range values =
          valuesIn(range, loop, streamExtents[i], sites ? sites[tensor] : upd_site{});
      launch.allow(data + values.begin * streamBytes[i],
                   (values.end - values.begin) * streamBytes[i]);
    }
    for (int64_t begin = range.begin; begin < range.end; begin += perChunk)
      chunks.push_back({begin, std::min(begin + perChunk, range.end), static_cast<int32_t>(tensor),
                        aligned ? 1 : 0});
  }
  auto chunkCount = static_cast<int64_t>(chunks.size());
  launch.allow(chunks.data(), chunkCount * static_cast<int64_t>(sizeof(upd_gpu_chunk)));
  launch.allow(streams, count * streamCount * static_cast<int64_t>(sizeof(void *)));
  launch.allow(rows.data(), count * rowBytes);
  launch.allow(partials, chunkCount * partialCount * static_cast<int64_t>(sizeof(double)));
  launch.allow(sites, count * static_cast<int64_t>(sizeof(upd_site)));
  void *chunkData = chunks.data(), *rowData = rows.data();
  auto *streamData = const_cast<void **>(streams);
  auto *siteData = const_cast<upd_site *>(sites);
  void *arguments[] = {&chunkData, &chunkCount, &streamData, &rowData, &partials, &siteData};
  launch.run(kernel, arguments, std::clamp<int64_t>(chunkCount / 2, 1, mostBlocks));
}

/// Computes all elements, also those that may be left out.
template <typename Element>
static void multiply(const upd_product &call, updraft::runtime::EmulatedKernel kernel,
                     upd_dtype compute) {
  // The kernel doesn't write the operands.
  void *streams[] = {const_cast<void *>(call.lhs), const_cast<void *>(call.rhs), call.result};
  const Element notSkipped = 0;
  updraft::gpu::Product product{streams,
                                &notSkipped,
                                0,
                                compute,
                                {0, call.lhs_row, call.lhs_column, 0},
                                {1, call.rhs_column, call.rhs_row, 0},
                                2,
                                call.result_row,
                                0,
                                call.rows,
                                call.columns,
                                call.depth,
                                0,
                                0};
  updraft::gpu::Product *products = &product;
  int64_t count = 1, tiles = productTilesOf(product, sizeof(Element));
  void *arguments[] = {&products, &count, &tiles};
  Launch().run(kernel, arguments, std::min(tiles, mostBlocks));
}

void updraft_emulator_multiply_f32(const upd_product *product) {
  multiply<float>(*product, updraft_multiply_f32_kernel, UPD_F32);
}
void updraft_emulator_multiply_f64(const upd_product *product) {
  multiply<double>(*product, updraft_multiply_f64_kernel, UPD_F64);
}

template <typename Element>
static void mirror(void *matrix, int64_t rowDistance, int64_t begin, int64_t end) {
  auto *elements = static_cast<Element *>(matrix);
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < i; ++j)
      elements[j * rowDistance + i] = elements[i * rowDistance + j];
}

void updraft_emulator_mirror_f32(void *matrix, int64_t row_distance, int64_t begin, int64_t end) {
  mirror<float>(matrix, row_distance, begin, end);
}
void updraft_emulator_mirror_f64(void *matrix, int64_t row_distance, int64_t begin, int64_t end) {
  mirror<double>(matrix, row_distance, begin, end);
}
