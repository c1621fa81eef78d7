//===- EngineKernels.cpp - The kernels of runtime/kernels/EngineKernels.h
//-------------------------===//
// Freestanding, because it is also compiled to PTX.

#include "runtime/kernels/EngineKernels.h"

#include "runtime/base/ScalarStorage.h"
#include "runtime/kernels/KernelThread.h"
#include "runtime/kernels/ProductTile.h"
#include "runtime/kernels/RoundedTile.h"

using namespace updraft::gpu;
using updraft::runtime::loadScalar;
using updraft::runtime::storeScalar;

namespace {
bool isSkipped(const void *row, upd_dtype compute) { return loadScalar(compute, row) != 0; }

/// Same as on the CPU: a NaN is larger than any number, and 0 larger than -0.
double combined(double a, double b, bool isMax) {
  if (!isMax)
    return a + b;
  if (a != a || b != b)
    return __builtin_nan("");
  return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}

double identity(bool isMax) { return isMax ? -__builtin_inf() : 0.0; }

/// Called by all threads of a block: combines pairs (0, 1), (2, 3), …; an odd last value moves up.
void combineInBlock(double *values, int64_t count, int64_t stride, bool isMax) {
  for (int64_t distance = 1; distance < count; distance *= 2) {
    for (int64_t left = threadOfBlock() * 2 * distance; left + distance < count;
         left += int64_t(UPD_GPU_THREADS) * 2 * distance)
      values[left * stride] =
          combined(values[left * stride], values[(left + distance) * stride], isMax);
    barrier();
  }
}

template <typename Body> void forEachOfGrid(int64_t count, Body body) {
  for (int64_t i = threadOfGrid(); i < count; i += threadsOfGrid())
    body(i);
}

/// Runs the same iterations in all threads of a block.
template <typename Body> void forEachOfBlocks(int64_t count, Body body) {
  for (int64_t i = blockOfGrid(); i < count; i += blocksOfGrid())
    body(i);
}

/// Called by all threads of a block.
template <typename Element> void fillInBlock(const Fill &job) {
  auto *to = static_cast<Element *>(job.to);
  for (int64_t i = threadOfBlock(); i < job.count; i += UPD_GPU_THREADS)
    to[i] = static_cast<Element>(job.value);
}
} // namespace

UPD_GPU_KERNEL updraft_fill(const Fill *fills, int64_t count) {
  forEachOfBlocks(count, [=](int64_t i) {
    switch (fills[i].bytes) {
    case 1:
      return fillInBlock<uint8_t>(fills[i]);
    case 2:
      return fillInBlock<uint16_t>(fills[i]);
    case 4:
      return fillInBlock<uint32_t>(fills[i]);
    default:
      return fillInBlock<uint64_t>(fills[i]);
    }
  });
}

UPD_GPU_KERNEL updraft_begin(const BegunTensor *tensors, int64_t count, const float *foundInf) {
  forEachOfGrid(count, [=](int64_t i) {
    const BegunTensor &tensor = tensors[i];
    const double step = loadScalar(tensor.stepsType, tensor.steps) + 1;
    tensor.facts[UPD_TENSOR_STEP] = step;
    tensor.facts[UPD_TENSOR_FIRST] = *tensor.first;
    for (int64_t j = 0; j < tensor.siteCount; ++j)
      tensor.sites[j * tensor.siteStride].step = static_cast<uint64_t>(step);
    for (int64_t j = 0; j < tensor.stateCount; ++j)
      tensor.scalars[j] = tensor.nextScalars[j] =
          loadScalar(tensor.states[j].dtype, tensor.states[j].data);
    for (int64_t j = 0; j < tensor.probeCount; ++j)
      tensor.nextScalars[tensor.stateCount + j] = __builtin_nan("");
    storeScalar(tensor.compute, foundInf && *foundInf != 0 ? 1 : 0, tensor.row);
  });
}

UPD_GPU_KERNEL updraft_read_hypers(const HyperSource *sources, int64_t count) {
  forEachOfGrid(count,
                [=](int64_t i) { *sources[i].to = loadScalar(sources[i].dtype, sources[i].from); });
}

UPD_GPU_KERNEL updraft_place_rows(const PlacedRows *gradient, int64_t count) {
  forEachOfGrid(count, [=](int64_t i) {
    const PlacedRows &job = *gradient;
    const int64_t number = i / job.leaves, leaf = i % job.leaves;
    const int64_t index = job.indices[number];
    const bool isTaken =
        index >= 0 && index < job.rows && (number == 0 || index > job.indices[number - 1]);
    const int64_t place = isTaken ? index : 0;
    int32_t aligned = 1;
    for (int64_t j = 0; j < job.streamCount; ++j) {
      const RowStream &stream = job.streams[j];
      char *data = stream.data + (stream.isIndexed ? place : number) * stream.bytes;
      aligned &= !stream.isVector || reinterpret_cast<uintptr_t>(data) % UPD_GPU_ALIGNMENT == 0;
      if (leaf == 0)
        job.tensorStreams[number * job.streamCount + j] = data;
    }
    const auto tensor = static_cast<int32_t>(job.tensor + number);
    const int64_t begin = leaf * UPD_LEAF_ELEMENTS, rest = job.elements - begin;
    job.leafChunks[i] = {begin, begin + (rest < UPD_LEAF_ELEMENTS ? rest : UPD_LEAF_ELEMENTS),
                         tensor, aligned};
    if (leaf != 0)
      return;
    job.rowChunks[number] = {0, 1, tensor, aligned};
    char *row = job.tensorRows + number * job.rowBytes;
    for (int64_t j = 0; j < job.rowBytes; ++j)
      row[j] = static_cast<const char *>(job.row)[j];
    if (!isTaken)
      storeScalar(job.compute, 1, row);
    if (!job.site)
      return;
    upd_site site = *job.site;
    site.rows = 1;
    site.columns = job.elements;
    job.tensorSites[number] = site;
  });
}

UPD_GPU_KERNEL updraft_combine(const Combination *combinations, int64_t count) {
  forEachOfBlocks(count, [=](int64_t i) {
    const Combination &job = combinations[i];
    combineInBlock(job.values, job.count, job.stride, job.isMax);
    if (job.result && threadOfBlock() == 0)
      *job.result = job.count == 0 ? identity(job.isMax) : job.values[0];
  });
}

UPD_GPU_KERNEL updraft_combine_columns(const ColumnCombination *combinations, int64_t count) {
  forEachOfBlocks(count, [=](int64_t i) {
    const ColumnCombination &job = combinations[i];
    const int64_t column = threadOfBlock();
    if (column >= job.columns)
      return;
    double *values = job.values + column;
    for (int64_t distance = 1; distance < job.blocks; distance *= 2)
      for (int64_t left = 0; left + distance < job.blocks; left += 2 * distance)
        values[left * job.stride] =
            combined(values[left * job.stride], values[(left + distance) * job.stride], job.isMax);
    job.result[column] = job.blocks == 0 ? identity(job.isMax) : values[0];
  });
}

UPD_GPU_SHARED int64_t taken[UPD_GPU_THREADS + 1];

UPD_GPU_KERNEL updraft_combine_groups(const GroupCombination *combinations, int64_t count) {
  forEachOfBlocks(count, [=](int64_t i) {
    const GroupCombination &job = combinations[i];
    const int64_t thread = threadOfBlock();
    const int64_t each = (job.count + UPD_GPU_THREADS - 1) / UPD_GPU_THREADS;
    const int64_t begin = thread * each < job.count ? thread * each : job.count;
    const int64_t end = begin + each < job.count ? begin + each : job.count;
    int64_t mine = 0;
    for (int64_t j = begin; j < end; ++j)
      mine += isSkipped(job.members[j].row, job.members[j].compute) ? 0 : 1;
    taken[thread + 1] = mine;
    barrier();
    if (thread == 0) {
      taken[0] = 0;
      for (int j = 0; j < UPD_GPU_THREADS; ++j)
        taken[j + 1] += taken[j];
    }
    barrier();
    int64_t place = taken[thread];
    for (int64_t j = begin; j < end; ++j)
      if (!isSkipped(job.members[j].row, job.members[j].compute))
        job.scratch[place++] = *job.members[j].part;
    const int64_t parts = taken[UPD_GPU_THREADS];
    barrier();
    combineInBlock(job.scratch, parts, 1, job.isMax);
    const double result = parts == 0 ? identity(job.isMax) : job.scratch[0];
    for (int64_t j = begin; j < end; ++j)
      *job.members[j].result = result;
    barrier();
  });
}

namespace {
/// The last job that begins at a unit or before it.
template <typename Job>
const Job &jobOf(const Job *jobs, int64_t count, int64_t Job::*begin, int64_t unit) {
  int64_t first = 0;
  for (int64_t end = count; end - first > 1;) {
    const int64_t middle = first + (end - first) / 2;
    (jobs[middle].*begin <= unit ? first : end) = middle;
  }
  return jobs[first];
}

/// Whether the step needs a product, or what it is made of.
template <typename Element, typename Job> bool isNeeded(const Job &job) {
  const auto *row = static_cast<const Element *>(job.row);
  return row[0] == 0 && (job.condition == 0 || row[job.condition] != 0);
}

/// A tile of a result, counted in tiles.
struct TilePlace {
  int64_t batch, row, column;
};

TilePlace placeOf(const Product &product, int64_t tile, uint64_t bytes) {
  const int64_t perBatch = productTilesOf(product, bytes);
  TilePlace place{tile / perBatch, 0, tile % perBatch};
  if (product.isSymmetric) {
    while (place.column > place.row)
      place.column -= ++place.row;
  } else {
    const int64_t perRow = productTilesAlong(product.columns, bytes);
    place.row = place.column / perRow;
    place.column %= perRow;
  }
  return place;
}

template <typename Element>
OperandLines<Element> linesOf(const Product &product, const ProductOperand &operand, int64_t batch,
                              int64_t count) {
  const auto *data = static_cast<const Element *>(product.streams[operand.stream]);
  return {data + batch * operand.batchStride, operand.lineStride, operand.depthStride, count};
}

template <typename Element>
void compute(ProductTile<Element> &tile, const Product &product, const TilePlace &place) {
  tile.compute(linesOf<Element>(product, product.lhs, place.batch, product.rows),
               linesOf<Element>(product, product.rhs, place.batch, product.columns), product.depth,
               place.row * ProductTile<Element>::side, place.column * ProductTile<Element>::side);
}

template <upd_dtype format>
void compute(RoundedTile<format> &tile, const Product &product, const TilePlace &place) {
  const int64_t strips = roundedStrips(product.depth);
  auto stripsOf = [&](const void *packed, int64_t lines, int64_t line) {
    const int64_t perBatch = productTilesAlong(lines, sizeof(float));
    return static_cast<const PackedStrip *>(packed) + (place.batch * perBatch + line) * strips;
  };
  tile.compute(stripsOf(product.packedLhs, product.rows, place.row),
               stripsOf(product.packedRhs, product.columns, place.column), strips);
}

/// Computes the tiles of all products with packed operands, or of all others. Called by all threads
/// of a block.
template <typename Tile, typename Shared>
void multiply(const Product *products, int64_t count, int64_t tiles,
              UPD_GPU_SHARED_TYPE Shared &shared) {
  using Element = typename Tile::Element;
  forEachOfBlocks(tiles, [&](int64_t number) {
    const Product &product = jobOf(products, count, &Product::firstTile, number);
    if ((product.packedLhs != nullptr) != Tile::isPacked || !isNeeded<Element>(product))
      return;
    const TilePlace place = placeOf(product, number - product.firstTile, sizeof(Element));
    Tile tile(shared);
    compute(tile, product, place);
    auto *result =
        static_cast<Element *>(product.streams[product.result]) + place.batch * product.batchStride;
    tile.forEach(place.row * Tile::side, place.column * Tile::side,
                 [&](int64_t row, int64_t column, Element value) {
                   if (row >= product.rows || column >= product.columns ||
                       (product.isSymmetric && column > row))
                     return;
                   result[row * product.rowStride + column] = value;
                   if (product.isSymmetric)
                     result[column * product.rowStride + row] = value;
                 });
  });
}
} // namespace

UPD_GPU_SHARED ProductTile<float>::Strips floatStrips;
UPD_GPU_SHARED ProductTile<double>::Strips doubleStrips;
UPD_GPU_SHARED PackedStages packedStages;

UPD_GPU_KERNEL updraft_multiply_f32(const Product *products, int64_t count, int64_t tiles) {
  multiply<ProductTile<float>>(products, count, tiles, floatStrips);
}

UPD_GPU_KERNEL updraft_multiply_f64(const Product *products, int64_t count, int64_t tiles) {
  multiply<ProductTile<double>>(products, count, tiles, doubleStrips);
}

namespace {
/// Inlined, which saves registers.
template <upd_dtype format>
[[gnu::always_inline]] inline void pack(const Packing *packings, int64_t count, int64_t units) {
  const int64_t warps = threadsOfGrid() / 32;
  for (int64_t number = threadOfGrid() / 32; number < units; number += warps) {
    const Packing &packing = jobOf(packings, count, &Packing::firstUnit, number);
    if (!isNeeded<float>(packing))
      continue;
    const int64_t unit = number - packing.firstUnit, perBatch = packing.unitsOfBatch();
    const auto *from = static_cast<const float *>(packing.streams[packing.operand.stream]);
    packBlocks<format>(packing, from, unit / perBatch, unit % perBatch,
                       static_cast<int>(threadOfBlock()) % 32);
  }
}
} // namespace

UPD_GPU_KERNEL updraft_pack_bf16(const Packing *packings, int64_t count, int64_t units) {
  pack<UPD_BF16>(packings, count, units);
}

UPD_GPU_KERNEL updraft_pack_f16(const Packing *packings, int64_t count, int64_t units) {
  pack<UPD_F16>(packings, count, units);
}

UPD_GPU_KERNEL updraft_multiply_bf16(const Product *products, int64_t count, int64_t tiles) {
  multiply<RoundedTile<UPD_BF16>>(products, count, tiles, packedStages);
}

UPD_GPU_KERNEL updraft_multiply_f16(const Product *products, int64_t count, int64_t tiles) {
  multiply<RoundedTile<UPD_F16>>(products, count, tiles, packedStages);
}

namespace {
/// A tile between its load and its store. A row has one element more, so that the elements of a
/// column are in different banks.
template <typename Element> struct TransposedTile {
  Element elements[Transposition::side][Transposition::side + 1];
};

/// Transposes a tile. Called by all threads of a block.
template <typename Element>
[[gnu::always_inline]] inline void
transposeTile(const Transposition &job, int64_t tile,
              UPD_GPU_SHARED_TYPE TransposedTile<Element> &shared) {
  constexpr int64_t side = Transposition::side, rowsAtOnce = UPD_GPU_THREADS / side;
  const int64_t perRow = job.tilesAlong(job.columns), perColumn = job.tilesAlong(job.rows);
  const int64_t batch = tile / (perRow * perColumn) * job.rows * job.columns;
  const int64_t row = tile / perRow % perColumn * side, column = tile % perRow * side;
  const int64_t down = threadOfBlock() / side, along = threadOfBlock() % side;
  const auto *from = static_cast<const Element *>(job.streams[job.from]) + batch;
  auto *to = static_cast<Element *>(job.streams[job.to]) + batch;
  for (int64_t i = down; i < side; i += rowsAtOnce)
    if (row + i < job.rows && column + along < job.columns)
      shared.elements[i][along] = from[(row + i) * job.columns + column + along];
  barrier();
  for (int64_t i = down; i < side; i += rowsAtOnce)
    if (column + i < job.columns && row + along < job.rows)
      to[(column + i) * job.rows + row + along] = shared.elements[along][i];
  // The next tile overwrites this one.
  barrier();
}
} // namespace

UPD_GPU_SHARED TransposedTile<uint32_t> narrowTile;
UPD_GPU_SHARED TransposedTile<uint64_t> wideTile;

UPD_GPU_KERNEL updraft_transpose(const Transposition *jobs, int64_t count, int64_t tiles) {
  forEachOfBlocks(tiles, [=](int64_t number) {
    const Transposition &job = jobOf(jobs, count, &Transposition::firstTile, number);
    const int64_t tile = number - job.firstTile;
    if (job.compute == UPD_F32 ? isNeeded<float>(job) : isNeeded<double>(job)) {
      if (job.compute == UPD_F32)
        transposeTile<uint32_t>(job, tile, narrowTile);
      else
        transposeTile<uint64_t>(job, tile, wideTile);
    }
  });
}

UPD_GPU_KERNEL updraft_commit(const BegunTensor *tensors, int64_t count) {
  forEachOfGrid(count, [=](int64_t i) {
    const BegunTensor &tensor = tensors[i];
    if (isSkipped(tensor.row, tensor.compute))
      return;
    storeScalar(tensor.stepsType, tensor.facts[UPD_TENSOR_STEP], tensor.steps);
    *tensor.first = 0;
    for (int64_t j = 0; j < tensor.stateCount; ++j)
      if (tensor.states[j].isOfTensor)
        storeScalar(tensor.states[j].dtype, tensor.nextScalars[j], tensor.states[j].data);
  });
}

/// Adds a row for each of `count` tensors. Readers see them after updraft_publish_probes.
UPD_GPU_KERNEL updraft_record_probes(const ProbeRecord *records, int64_t count,
                                     const float *foundInf) {
  const ProbeRecord &record = *records;
  if (foundInf && *foundInf != 0)
    return;
  forEachOfGrid(count, [=](int64_t i) {
    const ProbedTensor &tensor = record.tensors[i];
    const uint64_t number = *record.added + static_cast<uint64_t>(i);
    const uint64_t place = number & static_cast<uint64_t>(record.capacity - 1);
    uint64_t *row = record.ring + 1 + place * static_cast<uint64_t>(3 + record.probes);
    storeForHost(row, 0);
    fenceForHost();
    storeForHost(row + 1, static_cast<uint64_t>(tensor.facts[UPD_TENSOR_STEP]));
    storeForHost(row + 2, static_cast<uint64_t>(tensor.param));
    for (int64_t j = 0; j < record.probes; ++j)
      storeForHost(row + 3 + j, __builtin_bit_cast(uint64_t, tensor.probes[j]));
    fenceForHost();
    storeForHost(row, number + 1);
  });
}

UPD_GPU_KERNEL updraft_publish_probes(const ProbeRecord *records, int64_t count,
                                      const float *foundInf) {
  if (threadOfGrid() != 0 || (foundInf && *foundInf != 0))
    return;
  *records->added += static_cast<uint64_t>(count);
  fenceForHost();
  storeForHost(records->ring, *records->added);
}

UPD_GPU_SHARED int64_t firstOfThreads[UPD_GPU_THREADS];

UPD_GPU_KERNEL updraft_commit_groups(const GroupCommit *commits, int64_t count) {
  forEachOfBlocks(count, [=](int64_t i) {
    const GroupCommit &job = commits[i];
    const int64_t thread = threadOfBlock();
    int64_t first = job.count;
    for (int64_t j = thread; j < job.count && first == job.count; j += UPD_GPU_THREADS)
      if (!isSkipped(job.candidates[j].row, job.candidates[j].compute))
        first = j;
    firstOfThreads[thread] = first;
    barrier();
    if (thread == 0) {
      for (int j = 0; j < UPD_GPU_THREADS; ++j)
        first = firstOfThreads[j] < first ? firstOfThreads[j] : first;
      if (first < job.count)
        storeScalar(job.dtype, *job.candidates[first].next, job.to);
    }
    barrier();
  });
}

#define UPD_ENGINE_KERNEL(member, name) UPD_EMULATED_KERNEL(name)
#include "runtime/kernels/EngineKernels.def"
