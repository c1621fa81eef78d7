//===- RowsRun.cpp - One plan of a rule, applied to some rows of a parameter ------------------===//

#include "runtime/cpu/RowsRun.h"

#include "runtime/base/DType.h"
#include "runtime/base/PoolParts.h"

#include <algorithm>
#include <new>

using namespace updraft::runtime;

/// The maximum number of rows in a chunk. Rows are gathered into chunks, and a chunk goes through
/// all sweeps. A chunk of consecutive rows is one block, which limits its rows.
static constexpr int64_t maxChunkRows = UPD_BLOCK_ROWS;
/// The data of a chunk should fit into the L1 cache.
static constexpr size_t chunkBytes = size_t(32) << 10;

RowsRun::RowsRun(std::shared_ptr<const Kernels> kernelsToUse, size_t planIndex, uint32_t param,
                 const PrologueRows::Key &key, const TensorShape &shape,
                 const std::vector<int64_t> &groupSizes, int64_t rows, const int64_t *indicesToUse,
                 int64_t indexCount, void *gradient)
    : kernels(std::move(kernelsToUse)), plan(kernels->interface.plans[planIndex]),
      functions(kernels->plans[planIndex]), parameter(param), indices(indicesToUse),
      count(indexCount), rowElements(rows == 0 ? 0 : shape.elements() / rows),
      prologueRows(kernels, planIndex) {
  size_t touched = 1;
  for (const StreamInterface &stream : plan.streams) {
    const int64_t values = stream.over == Extent::Element ? rowElements : 1;
    streams.push_back({nullptr, static_cast<size_t>(values) * sizeOf(stream.dtype)});
    touched += streams.back().rowBytes;
  }
  setStream(StreamIndex::Grad, gradient);
  chunkRows = std::clamp<int64_t>(static_cast<int64_t>(chunkBytes / touched), 1, maxChunkRows);
  for (const SweepInterface &sweep : plan.sweeps)
    isFlat &= SweepDomain::keyOf(sweep).kind == SweepDomain::Kind::Elements;
  prologueRows.clear();
  prologueRows.add(param, key, shape);
  prologueRows.finish(groupSizes);
}

void RowsRun::start(const InitialValues &initial, const GroupHypers &hypers, const upd_pool &pool) {
  prologueRows.start(initial);
  for (size_t stage = 0; stage < plan.sequence.size() && !isSkipped(); ++stage)
    if (plan.sequence[stage].isPrologue())
      prologueRows.evaluate(stage, 0, prologueRows.size(), hypers, pool);

  const int64_t cost = count * (rowElements + StepPartition::tensorCost);
  size_t parts = 1;
  if (cost >= SweepDomain::inlineCost)
    parts = static_cast<size_t>(
        std::clamp<int64_t>(pool.thread_count(pool.pool), 1, cost / SweepDomain::threadCost));
  scratches.resize(parts);
  for (Scratch &scratch : scratches) {
    const auto rows = static_cast<size_t>(chunkRows);
    scratch.streams.resize(rows * streams.size());
    scratch.elements.resize(rows);
    scratch.rows.resize(rows);
    scratch.blocks.resize(rows, {0, 1});
    if (!isFlat)
      scratch.sites.resize(
          rows, {0, static_cast<uint64_t>(prologueRows[0].steps) + 1, parameter, 0, rowElements});
    if (plan.temporaries().empty())
      continue;
    scratch.temporaries =
        StateArena::allocate(plan.temporaries().size() * maxChunkRows * sizeof(double));
    if (!scratch.temporaries.data())
      throw std::bad_alloc();
  }
}

/// Returns the start of a part, counted in elements of the listed rows. Cuts rows only at leaves,
/// and only if `isFlat`.
int64_t RowsRun::boundary(size_t part, size_t parts) const {
  if (part == parts)
    return count * rowElements;
  const auto index = static_cast<int64_t>(part), all = static_cast<int64_t>(parts);
  const int64_t row = count / all * index + count % all * index / all;
  if (!isFlat || rowElements <= UPD_LEAF_ELEMENTS)
    return row * rowElements;
  const int64_t rest = count % all * index % all; // place in the row, in units of 1 / all
  return row * rowElements + rowElements / all * rest / UPD_LEAF_ELEMENTS * UPD_LEAF_ELEMENTS;
}

void RowsRun::run(const upd_pool &pool) {
  if (count == 0 || rowElements == 0 || plan.sweeps.empty())
    return;
  if (scratches.size() == 1)
    return runPart(scratches[0], 0, count * rowElements);
  const size_t parts = scratches.size();
  runParts(pool, parts, [&](size_t part) {
    runPart(scratches[part], boundary(part, parts), boundary(part + 1, parts));
  });
}

/// Runs over elements [begin, end) of the listed rows.
void RowsRun::runPart(Scratch &scratch, int64_t begin, int64_t end) const {
  const timeline::Span span("sweep", [&](timeline::Event &event) {
    event.name(plan.prefix, " rows");
    event.number("elements", end - begin);
    event.number("parameter", parameter);
  });
  while (begin < end) {
    const int64_t row = begin / rowElements, first = begin % rowElements;
    scratch.tensors = 0;
    if (isFlat && rowElements > UPD_LEAF_ELEMENTS) {
      append(scratch, row, 1, 0);
      const int64_t leaf = plan.sweeps.size() == 1 ? rowElements : UPD_LEAF_ELEMENTS;
      const int64_t stop = std::min({first + leaf, rowElements, end - row * rowElements});
      scratch.elements[0] = {first, stop};
      begin = row * rowElements + stop;
    } else {
      begin = gather(scratch, row, end / rowElements) * rowElements;
    }
    call(scratch);
  }
}

/// Fills a chunk with rows from `row` on, and returns the end of these rows.
int64_t RowsRun::gather(Scratch &scratch, int64_t row, int64_t end) const {
  const int64_t first = row, stop = std::min(row + chunkRows, end);
  while (row < stop) {
    int64_t rows = 1;
    while (row + rows < stop && indices[row + rows] == indices[row] + rows)
      ++rows;
    append(scratch, row, rows, static_cast<size_t>(row - first));
    row += rows;
  }
  return row;
}

/// Appends rows with consecutive indices as one tensor.
void RowsRun::append(Scratch &scratch, int64_t row, int64_t rows, size_t inChunk) const {
  const size_t tensor = scratch.tensors++, states = plan.firstTemporary;
  void **pointers = scratch.streams.data() + tensor * streams.size();
  for (size_t i = 0; i < states; ++i) {
    const int64_t place = i == StreamIndex::Grad ? row : indices[row];
    pointers[i] = streams[i].data + static_cast<size_t>(place) * streams[i].rowBytes;
  }
  for (size_t i = states; i < streams.size(); ++i)
    pointers[i] =
        scratch.temporaries.data() + ((i - states) * maxChunkRows + inChunk) * sizeof(double);
  scratch.elements[tensor] = {0, rows * rowElements};
  scratch.rows[tensor] = {0, rows};
  if (!isFlat)
    scratch.sites[tensor].rows = rows;
}

void RowsRun::call(Scratch &scratch) const {
  for (size_t i = 0; i < plan.sweeps.size(); ++i) {
    const SweepDomain::Kind kind = SweepDomain::keyOf(plan.sweeps[i]).kind;
    const upd_range *ranges = kind == SweepDomain::Kind::Elements ? scratch.elements.data()
                              : kind == SweepDomain::Kind::Rows   ? scratch.rows.data()
                                                                  : scratch.blocks.data();
    functions.sweeps[i](prologueRows.data(0), scratch.streams.data(), ranges,
                        static_cast<int64_t>(scratch.tensors), nullptr,
                        isFlat ? nullptr : scratch.sites.data());
  }
}
