//===- ReductionRules.cpp - Hand-written rules with several sweeps ----------------------------===//

#include "ReductionRules.h"

#include "FakeRules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

using namespace updraft::runtime;
using namespace updraft::runtime::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The 128 lanes of a leaf or block.
struct Lanes {
  double values[UPD_LANES];
  bool max;
  explicit Lanes(bool max) : max(max) {
    std::fill(values, values + UPD_LANES, max ? -infinity : 0.0);
  }
  void add(int64_t index, double value) {
    double &lane = values[index % UPD_LANES];
    lane = max ? std::max(lane, value) : lane + value;
  }
  double result() {
    for (int width = UPD_LANES / 2; width != 0; width /= 2)
      for (int i = 0; i < width; ++i)
        values[i] = max ? std::max(values[i], values[i + width]) : values[i] + values[i + width];
    return values[0];
  }
};

template <typename Value> double leafOf(Value value, int64_t begin, int64_t end, bool max = false) {
  Lanes lanes(max);
  for (int64_t i = begin; i < end; ++i)
    lanes.add(i - begin, value(i));
  return lanes.result();
}

double blockSquares(const float *block, int64_t rows, int64_t columns) {
  Lanes lanes(false);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      lanes.add(c, double(block[r * columns + c]) * block[r * columns + c]);
  return lanes.result();
}

/// Calls body(streams, begin, end, partials) for each leaf.
template <typename Body>
void forLeaves(size_t streamCount, size_t slots, void *const *streams, const upd_range *ranges,
               int64_t count, double *partials, Body body) {
  for (int64_t i = 0; i < count; ++i, streams += streamCount)
    for (int64_t begin = ranges[i].begin; begin < ranges[i].end; begin += UPD_LEAF_ELEMENTS) {
      body(streams, begin, std::min<int64_t>(begin + UPD_LEAF_ELEMENTS, ranges[i].end), partials);
      partials += partials ? slots : 0;
    }
}

/// Calls body(streams, site, block number, batch, first row, rows, partials) for each block.
template <typename Body>
void forBlocks(size_t streamCount, size_t slots, void *const *streams, const upd_range *ranges,
               int64_t count, double *partials, const upd_site *sites, Body body) {
  for (int64_t i = 0; i < count; ++i, streams += streamCount) {
    const int64_t perBatch = (sites[i].rows + UPD_BLOCK_ROWS - 1) / UPD_BLOCK_ROWS;
    for (int64_t k = ranges[i].begin; k < ranges[i].end; ++k) {
      const int64_t row = k % perBatch * UPD_BLOCK_ROWS;
      body(streams, sites[i], k, k / perBatch, row,
           std::min<int64_t>(UPD_BLOCK_ROWS, sites[i].rows - row), partials);
      partials += partials ? slots : 0;
    }
  }
}

// clipRule

void clipInitial(const double *hyper, double *initial) {
  initial[0] = initial[1] = hyper[1];
  initial[2] = -1;
}
int32_t allValid(const double *) { return -1; }

void clipSweep0(const void *, void *const *streams, const upd_range *ranges, int64_t count,
                double *partials, const upd_site *) {
  forLeaves(3, 3, streams, ranges, count, partials,
            [](void *const *tensor, int64_t begin, int64_t end, double *slots) {
              const auto *g = static_cast<const float *>(tensor[1]);
              slots[0] = leafOf([&](int64_t i) { return double(g[i]) * g[i]; }, begin, end);
              slots[1] = leafOf([&](int64_t i) { return double(g[i]); }, begin, end);
              slots[2] = leafOf([&](int64_t i) { return double(g[i]); }, begin, end, true);
            });
}
void clipPrologue(const double *hyper, const double *, const double *reduced, const double *scalars,
                  void *row, double *next) {
  const double norm = std::sqrt(reduced[0]);
  auto *values = static_cast<float *>(row);
  values[0] = !std::isfinite(norm) || !std::isfinite(reduced[1]) || reduced[1] == 12345;
  values[1] = static_cast<float>(std::min(1.0, hyper[0] / norm));
  next[0] = scalars[0] + reduced[1];
  next[1] = std::max(scalars[1], reduced[2]);
}
void clipSweep1(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
                double *, const upd_site *) {
  const float scale = static_cast<const float *>(row)[1];
  forLeaves(3, 0, streams, ranges, count, nullptr,
            [&](void *const *tensor, int64_t begin, int64_t end, double *) {
              auto *p = static_cast<float *>(tensor[0]), *m = static_cast<float *>(tensor[2]);
              const auto *g = static_cast<const float *>(tensor[1]);
              for (int64_t i = begin; i < end; ++i) {
                m[i] += 1;
                p[i] -= scale * g[i] + m[i];
              }
            });
}

// factoredRule

void factoredInitial(const double *, double *initial) {
  initial[0] = 0; // v
  initial[1] = 0.5;
  initial[2] = 0;
}
void squaresSweep(const void *, void *const *streams, const upd_range *ranges, int64_t count,
                  double *partials, const upd_site *) {
  forLeaves(3, 1, streams, ranges, count, partials,
            [](void *const *tensor, int64_t begin, int64_t end, double *slots) {
              const auto *g = static_cast<const float *>(tensor[1]);
              slots[0] = leafOf([&](int64_t i) { return double(g[i]) * g[i]; }, begin, end);
            });
}
void normPrologue(const double *, const double *, const double *reduced, const double *, void *row,
                  double *) {
  static_cast<float *>(row)[0] = 0;
  static_cast<float *>(row)[1] = static_cast<float>(std::sqrt(reduced[0]));
}
void vectorSweep(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
                 double *, const upd_site *) {
  forLeaves(3, 0, streams, ranges, count, nullptr,
            [&](void *const *tensor, int64_t begin, int64_t end, double *) {
              for (int64_t i = begin; i < end; ++i) {
                static_cast<float *>(tensor[0])[i] -= static_cast<const float *>(row)[1];
                static_cast<float *>(tensor[2])[i] += 1;
              }
            });
}
// Streams of matrices: param, grad, row_var, col_var, row sums (f64), column maxima (f64), row
// factors (f32).
void matrixSweep0(const void *, void *const *streams, const upd_range *ranges, int64_t count,
                  double *partials, const upd_site *sites) {
  forBlocks(7, 1, streams, ranges, count, partials, sites,
            [](void *const *tensor, const upd_site &site, int64_t block, int64_t batch, int64_t row,
               int64_t rows, double *slots) {
              const int64_t columns = site.columns;
              const float *g =
                  static_cast<const float *>(tensor[1]) + (batch * site.rows + row) * columns;
              slots[0] = blockSquares(g, rows, columns);
              auto *sums = static_cast<double *>(tensor[4]) + batch * site.rows + row;
              auto *maxima = static_cast<double *>(tensor[5]) + block * columns;
              std::fill(maxima, maxima + columns, -infinity);
              for (int64_t r = 0; r < rows; ++r, g += columns) {
                sums[r] = rowSquares(g, columns);
                for (int64_t c = 0; c < columns; ++c)
                  maxima[c] = std::max(maxima[c], double(g[c]));
              }
            });
}
void rowSweep(const void *, void *const *streams, const upd_range *ranges, int64_t count,
              double *partials, const upd_site *) {
  forLeaves(7, 1, streams, ranges, count, partials,
            [](void *const *tensor, int64_t begin, int64_t end, double *slots) {
              auto *variance = static_cast<float *>(tensor[2]);
              for (int64_t i = begin; i < end; ++i) {
                variance[i] += static_cast<float>(static_cast<const double *>(tensor[4])[i]);
                static_cast<float *>(tensor[6])[i] = variance[i];
              }
              slots[0] = leafOf([&](int64_t i) { return double(variance[i]); }, begin, end);
            });
}
void columnSweep(const void *, void *const *streams, const upd_range *ranges, int64_t count,
                 double *, const upd_site *) {
  forLeaves(7, 0, streams, ranges, count, nullptr,
            [](void *const *tensor, int64_t begin, int64_t end, double *) {
              for (int64_t i = begin; i < end; ++i)
                static_cast<double *>(tensor[3])[i] = static_cast<const double *>(tensor[5])[i];
            });
}
void sumPrologue(const double *, const double *, const double *reduced, const double *, void *row,
                 double *) {
  static_cast<float *>(row)[2] = static_cast<float>(reduced[1]);
}
void matrixSweep3(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
                  double *, const upd_site *sites) {
  const auto *scalars = static_cast<const float *>(row);
  forBlocks(7, 0, streams, ranges, count, nullptr, sites,
            [&](void *const *tensor, const upd_site &site, int64_t, int64_t batch, int64_t first,
                int64_t rows, double *) {
              for (int64_t r = batch * site.rows + first; r < batch * site.rows + first + rows; ++r)
                for (int64_t c = 0; c < site.columns; ++c)
                  static_cast<float *>(tensor[0])[r * site.columns + c] -=
                      scalars[1] + static_cast<const float *>(tensor[6])[r] +
                      static_cast<float>(
                          static_cast<const double *>(tensor[3])[batch * site.columns + c]) +
                      scalars[2] + static_cast<float>(c);
            });
}

// normalizedRule

void oneZero(const double *, double *initial) { initial[0] = 0; }

std::mutex callsMutex;
std::vector<int> calls;

void record(int sweep) {
  std::scoped_lock lock(callsMutex);
  calls.push_back(sweep);
}

void normalizedSweep0(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
                      double *partials, const upd_site *sites) {
  record(0);
  squaresSweep(row, streams, ranges, count, partials, sites);
}
void normalizedPrologue(const double *, const double *, const double *reduced, const double *,
                        void *row, double *) {
  auto *values = static_cast<float *>(row);
  values[0] = !std::isfinite(reduced[0]);
  values[1] = static_cast<float>(1 / std::sqrt(reduced[0]));
}
void normalizedSweep1(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
                      double *partials, const upd_site *sites) {
  record(1);
  clipSweep1(row, streams, ranges, count, partials, sites);
}

// siteRule

void noInitial(const double *, double *) {}
void siteSweep(const void *, void *const *streams, const upd_range *ranges, int64_t count, double *,
               const upd_site *sites) {
  for (int64_t t = 0; t < count; ++t)
    for (int64_t i = ranges[t].begin; i < ranges[t].end; ++i)
      static_cast<float *>(streams[2 * t])[i] =
          static_cast<float>(1000 * sites[t].step + 100 * sites[t].tensor + sites[t].seed);
}

} // namespace

std::shared_ptr<const Kernels> test::clipRule() {
  using Kind = ReductionInterface::Kind;
  auto kernels = std::make_shared<Kernels>();
  RuleInterface &rule = kernels->interface;
  rule.name = "Clip";
  rule.hypers = {{"clip", 1}, {"start", 0}};
  rule.states = {
      {"m", UPD_F32}, {"sum", UPD_F32, Extent::Tensor}, {"largest", UPD_F64, Extent::Group}};
  PlanInterface plan;
  plan.prefix = "Clip";
  plan.rowScalars = 2;
  plan.prologues = 1;
  plan.sweeps = {
      {{1},
       {},
       {},
       {{Kind::Sum, Extent::Group}, {Kind::Sum, Extent::Tensor}, {Kind::Max, Extent::Group}}},
      {{0, 1, 2}, {0, 2}}};
  plan.sequence = {StageInterface::sweep(0), StageInterface::prologue(0, true),
                   StageInterface::sweep(1)};
  rule.plans = {plan};
  listStreams(rule);
  kernels->initial = clipInitial;
  kernels->validate = allValid;
  kernels->plans = {{{clipPrologue}, {clipSweep0, clipSweep1}}};
  return kernels;
}

std::shared_ptr<const Kernels> test::factoredRule() {
  using Kind = ReductionInterface::Kind;
  auto kernels = std::make_shared<Kernels>();
  RuleInterface &rule = kernels->interface;
  rule.name = "Factored";
  rule.states = {{"v", UPD_F32, Extent::Element, TensorClass::Vector},
                 {"row_var", UPD_F32, Extent::Row, TensorClass::Matrix},
                 {"col_var", UPD_F64, Extent::Column, TensorClass::Matrix}};
  PlanInterface vectors;
  vectors.tensors = TensorClass::Vector;
  vectors.prefix = "Factored";
  vectors.rowScalars = 2;
  vectors.prologues = 1;
  vectors.sweeps = {{{1}, {}, {}, {{Kind::Sum, Extent::Group}}}, {{0, 2}, {0, 2}}};
  vectors.sequence = {StageInterface::sweep(0), StageInterface::prologue(0),
                      StageInterface::sweep(1)};
  PlanInterface matrices;
  matrices.tensors = TensorClass::Matrix;
  matrices.prefix = "Factored_matrix";
  matrices.rowScalars = 3;
  matrices.prologues = 2;
  constexpr auto temporary = StreamInterface::Kind::Temporary;
  matrices.streams = {{temporary, UPD_F64, Extent::Row},
                      {temporary, UPD_F64, Extent::Column},
                      {temporary, UPD_F32, Extent::Row}};
  matrices.sweeps = {
      {{1},
       {},
       {},
       {{Kind::Sum, Extent::Group}, {Kind::Sum, Extent::Row, 4}, {Kind::Max, Extent::Column, 5}},
       Extent::Element,
       true},
      {{2, 4}, {2}, {6}, {{Kind::Sum, Extent::Tensor}}, Extent::Row},
      {{5}, {3}, {}, {}, Extent::Column},
      {{0, 6, 3}, {0}, {}, {}, Extent::Element, true}};
  matrices.sequence = {StageInterface::sweep(0),          StageInterface::sweep(1),
                       StageInterface::sweep(2),          StageInterface::prologue(0),
                       StageInterface::prologue(1, true), StageInterface::sweep(3)};
  rule.plans = {vectors, matrices};
  listStreams(rule);
  kernels->initial = factoredInitial;
  kernels->validate = allValid;
  kernels->plans = {
      {{normPrologue}, {squaresSweep, vectorSweep}},
      {{normPrologue, sumPrologue}, {matrixSweep0, rowSweep, columnSweep, matrixSweep3}}};
  return kernels;
}

std::shared_ptr<const Kernels> test::normalizedRule() {
  auto kernels = std::make_shared<Kernels>();
  RuleInterface &rule = kernels->interface;
  rule.name = "Normalized";
  rule.states = {{"m", UPD_F32}};
  PlanInterface plan;
  plan.prefix = "Normalized";
  plan.rowScalars = 2;
  plan.prologues = 1;
  plan.sweeps = {{{1}, {}, {}, {{ReductionInterface::Kind::Sum, Extent::Tensor}}},
                 {{0, 1, 2}, {0, 2}}};
  plan.sequence = {StageInterface::sweep(0), StageInterface::prologue(0, true),
                   StageInterface::sweep(1)};
  rule.plans = {plan};
  listStreams(rule);
  kernels->initial = oneZero;
  kernels->validate = allValid;
  kernels->plans = {{{normalizedPrologue}, {normalizedSweep0, normalizedSweep1}}};
  return kernels;
}

std::vector<int> test::normalizedCalls() {
  std::scoped_lock lock(callsMutex);
  return std::exchange(calls, {});
}

std::shared_ptr<const Kernels> test::siteRule() {
  auto kernels = std::make_shared<Kernels>();
  kernels->interface.name = "Site";
  PlanInterface plan;
  plan.prefix = "Site";
  plan.usesRandom = true;
  plan.sweeps = {{{}, {0}}};
  plan.sequence = {StageInterface::sweep(0)};
  kernels->interface.plans = {plan};
  listStreams(kernels->interface);
  kernels->initial = noInitial;
  kernels->validate = allValid;
  kernels->plans = {{{}, {siteSweep}}};
  return kernels;
}

double test::pairwise(std::vector<double> values, bool max) {
  if (values.empty())
    return max ? -infinity : 0;
  while (values.size() > 1) {
    std::vector<double> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(max ? std::max(values[i], values[i + 1]) : values[i] + values[i + 1]);
    if (values.size() % 2)
      next.push_back(values.back());
    values = next;
  }
  return values[0];
}

template <typename Value> static double flatTree(Value value, size_t size, bool max) {
  std::vector<double> leaves;
  for (size_t begin = 0; begin < size; begin += UPD_LEAF_ELEMENTS)
    leaves.push_back(leafOf(value, static_cast<int64_t>(begin),
                            static_cast<int64_t>(std::min<size_t>(begin + UPD_LEAF_ELEMENTS, size)),
                            max));
  return pairwise(leaves, max);
}

double test::flatSum(const std::vector<float> &values, bool squares) {
  return flatTree(
      [&](int64_t i) {
        const double value = values[static_cast<size_t>(i)];
        return squares ? value * value : value;
      },
      values.size(), false);
}
double test::flatSum(const std::vector<double> &values) {
  return flatTree([&](int64_t i) { return values[static_cast<size_t>(i)]; }, values.size(), false);
}
double test::flatMax(const std::vector<float> &values) {
  return flatTree([&](int64_t i) { return double(values[static_cast<size_t>(i)]); }, values.size(),
                  true);
}

double test::matrixSquares(const std::vector<float> &values, int64_t batches, int64_t rows,
                           int64_t columns) {
  std::vector<double> blocks;
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t r = 0; r < rows; r += UPD_BLOCK_ROWS)
      blocks.push_back(blockSquares(values.data() + (b * rows + r) * columns,
                                    std::min<int64_t>(UPD_BLOCK_ROWS, rows - r), columns));
  return pairwise(blocks);
}

double test::rowSquares(const float *row, int64_t columns) {
  return leafOf([&](int64_t i) { return double(row[i]) * row[i]; }, 0, columns);
}
