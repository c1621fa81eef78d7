//===- MatrixWorks.cpp - Benchmarks of products of matrices -----------------------------------===//
// Products beside the arithmetic that the cores can do, Muon beside PyTorch's, and SOAP beside that
// of pytorch-optimizer. The bounds are those of docs/performance.md.

#include "FMAPeak.h"
#include "PythonPeer.h"
#include "Stepper.h"
#include "Work.h"
#include "runtime/cpu/ThreadPool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

using namespace updraft::bench;
using updraft::runtime::ThreadPool;

namespace {
/// Two general products of m x n and n x m, and of m x m and m x n; or the first as a symmetric
/// one.
constexpr const char *generalRule = R"(rule General(lr = 1e-9) {
  update(param, grad) {
    next param = if matrix then lr * (param @ transpose(grad) @ grad) else param
  }
})";
constexpr const char *symmetricRule = R"(rule Symmetric(lr = 1e-9) {
  update(param, grad) {
    next param = if matrix then lr * (gram(grad) @ grad) else param
  }
})";

constexpr const char *bf16Rule = R"(rule BF16(lr = 1e-9) {
  update(param, grad) {
    next param = if matrix
                 then lr * bf16_product(bf16_product(param, transpose(grad)), grad)
                 else param
  }
})";

struct Shape {
  int64_t rows, columns;
};

Stepper stepperOf(const char *text, const std::string &numerics, Shape shape, ThreadPool &pool) {
  StepSetup setup;
  setup.rule.source = text;
  setup.rule.numerics = numerics;
  setup.elements = shape.rows * shape.columns;
  setup.rows = shape.rows;
  setup.pool = pool.handle();
  return Stepper(setup);
}

/// The time of as many operations as a product has, on all threads of the pool.
template <int64_t (*run)(int64_t)>
Contestant peakOf(const char *name, const char *precision, ThreadPool &pool, int64_t operations) {
  return {name, precision, [&pool, operations](int count) {
            int64_t each = operations / pool.threadCount(), done = 0;
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < count; ++i)
              pool.run(
                  pool.threadCount(),
                  [](void *context, int32_t) { run(*static_cast<int64_t *>(context)); }, &each);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
            // A thread takes whole rounds.
            done = run(1);
            const double rounds = static_cast<double>((each + done - 1) / done);
            const double share = static_cast<double>(each) / (rounds * static_cast<double>(done));
            return taken.count() / count * share;
          }};
}

void withoutBounds(const BenchOptions &options, std::vector<Row> &rows) {
  if (options.quick) // the bounds don't apply to other sizes
    for (Row &row : rows)
      if (row.figure)
        row.figure->bound.reset();
}

std::vector<Row> products(const BenchOptions &options, const std::string &work, int32_t threads) {
  const Shape shape = options.quick ? Shape{24, 40} : Shape{768, 3072};
  ThreadPool pool(threads);
  Stepper general = stepperOf(generalRule, options.numerics, shape, pool);
  Stepper symmetric = stepperOf(symmetricRule, options.numerics, shape, pool);
  const int64_t operations = 2 * shape.rows * shape.rows * shape.columns;
  std::vector<Row> rows = race(options.labelled(work),
                               {timed("two products", "f32", [&] { general.step(); }),
                                timed("symmetric first", "f32", [&] { symmetric.step(); }),
                                peakOf<multiplyAndAdd>("FMA peak", "f32", pool, 2 * operations)},
                               options.quick ? 3 : 21, options.quick ? 1e-4 : 5e-2);
  rows[0].figure = {"of the FMA peak", timesAsLong(rows[2], rows[0]), 0.80};
  // Both have the same second product.
  rows[1].figure = {"of a general product, the symmetric one",
                    2 * timesAsLong(rows[1], rows[0]) - 1, 0.60, /*atLeast=*/false};
  rows[2].figure = {"GFLOP/s", 2e-6 * static_cast<double>(operations) / rows[2].medianMs, {}};
  withoutBounds(options, rows);
  return rows;
}

std::vector<Row> bf16Products(const BenchOptions &options, const std::string &work,
                              int32_t threads) {
  const Shape shape = options.quick ? Shape{24, 40} : Shape{768, 3072};
  ThreadPool pool(threads);
  Stepper bf16 = stepperOf(bf16Rule, "fast", shape, pool);
  const int64_t operations = 4 * shape.rows * shape.rows * shape.columns;
  std::vector<Row> rows =
      race(options.labelled(work),
           {timed("two bf16 products", "f32", [&] { bf16.step(); }),
            peakOf<multiplyAndAddPairs>("peak of bf16", "bf16", pool, operations)},
           options.quick ? 3 : 21, options.quick ? 1e-4 : 5e-2);
  rows[0].figure = {"of the peak of bf16", timesAsLong(rows[1], rows[0]), 0.70};
  rows[1].figure = {"GFLOP/s", 1e-6 * static_cast<double>(operations) / rows[1].medianMs, {}};
  withoutBounds(options, rows);
  return rows;
}

struct Matrices {
  int64_t count;
  Shape shape;
};

/// Muon on these matrices.
struct MuonWork {
  std::string name, numerics, title;
  std::vector<Matrices> matrices;
  std::optional<double> ofTorchInF32; // the longest time allowed, as a fraction
  std::optional<double> ofTorch;
};

/// The floating-point operations of the products of rules/muon.upd, in five steps of
/// `newton_schulz`.
int64_t operationsOf(const std::vector<Matrices> &matrices) {
  int64_t operations = 0;
  for (const auto &[count, shape] : matrices) {
    const int64_t shorter = std::min(shape.rows, shape.columns),
                  longer = std::max(shape.rows, shape.columns);
    const int64_t square = shorter * shorter * shorter;
    operations +=
        count * (shorter == longer ? 20 * square : 6 * shorter * shorter * longer + 14 * square);
  }
  return operations;
}

/// The shapes as torch_peer.py reads them.
std::string textOf(const std::vector<Matrices> &matrices) {
  std::vector<std::string> texts;
  for (const auto &[count, shape] : matrices)
    texts.push_back(fmt::format("{}*{}x{}", count, shape.rows, shape.columns));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::vector<Row> muon(const BenchOptions &options, const MuonWork &work) {
  const std::vector<Matrices> matrices =
      options.quick ? std::vector<Matrices>{{2, {24, 40}}} : work.matrices;
  PeerSetup setup{"Muon", fmt::format(R"({{"numerics":"{}"}})", work.numerics), "f32"};
  setup.shapes = textOf(matrices);
  std::vector<Contestant> racing{*options.torch->contestant("updraft", "updraft", setup)};
  setup.arguments = "{}";
  racing.push_back(*options.torch->contestant("torch in f32", "f32-products", setup));
  racing.push_back(*options.torch->contestant("torch", "for-loop", setup));
  ThreadPool pool(ThreadPool::defaultThreadCount());
  if (work.ofTorchInF32)
    racing.push_back(
        peakOf<multiplyAndAdd>("products at FMA peak", "f32", pool, operationsOf(matrices)));
  std::vector<Row> rows =
      race(work.name, std::move(racing), /*rounds=*/3, options.quick ? 1e-4 : 1e-1);
  options.torch->drop();
  auto of = [&](size_t row, size_t peer) { return timesAsLong(rows[row], rows[peer]); };
  rows[1].figure = {"of this time, updraft's", of(0, 1), work.ofTorchInF32, /*atLeast=*/false};
  rows[2].figure = {"of this time, updraft's", of(0, 2), work.ofTorch, /*atLeast=*/false};
  if (work.ofTorchInF32)
    rows[3].figure = {"of torch's time in f32, the least that this machine can need", of(3, 1), {}};
  withoutBounds(options, rows);
  return rows;
}

/// SOAP in steps that don't refresh its bases.
std::vector<Row> soap(const BenchOptions &options, const std::string &work) {
  PeerSetup setup{"SOAP", R"({"precondition_frequency":1000000})", "f32"};
  setup.shapes = textOf({{1, options.quick ? Shape{24, 40} : Shape{768, 3072}}});
  std::vector<Contestant> racing{*options.torch->contestant("updraft", "updraft", setup)};
  if (auto peer = options.torch->contestant("pytorch-optimizer", "pytorch-optimizer", setup))
    racing.push_back(std::move(*peer));
  std::vector<Row> rows = race(work, std::move(racing), /*rounds=*/5, options.quick ? 1e-4 : 1e-1);
  options.torch->drop();
  if (rows.size() > 1)
    rows[1].figure = {"of this time, updraft's", timesAsLong(rows[0], rows[1]), 0.60,
                      /*atLeast=*/false};
  withoutBounds(options, rows);
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::matrixWorks() {
  std::vector<Work> works;
  std::vector<int32_t> counts{1};
  if (ThreadPool::defaultThreadCount() > 1)
    counts.push_back(2);
  for (int32_t threads : counts) {
    const std::string name =
        fmt::format("matrices-product-{}-thread{}", threads, threads == 1 ? "" : "s");
    works.push_back(
        {name,
         fmt::format("products of 768 x 3072 f32 on {} thread{}", threads, threads == 1 ? "" : "s"),
         [name, threads](const BenchOptions &options) { return products(options, name, threads); },
         /*group=*/"matrices"});
    if (!multipliesBF16())
      continue;
    const std::string bf16 =
        fmt::format("matrices-bf16-{}-thread{}", threads, threads == 1 ? "" : "s");
    works.push_back({bf16,
                     fmt::format("bf16 products of 768 x 3072 in fast numerics on {} thread{}",
                                 threads, threads == 1 ? "" : "s"),
                     [bf16, threads](const BenchOptions &options) {
                       return bf16Products(options, bf16, threads);
                     },
                     /*group=*/"matrices"});
  }
  const std::vector<Matrices> gpt2{
      {12, {2304, 768}}, {12, {768, 768}}, {12, {3072, 768}}, {12, {768, 3072}}};
  std::vector<MuonWork> muons = {
      {"matrices-muon-gpt2", "ieee", "the 48 matrices of GPT-2 small", gpt2, 0.30, 1.25},
      {"matrices-muon-small",
       "ieee",
       "126 matrices of 64 to 256 rows and columns",
       {{21, {64, 64}},
        {21, {128, 64}},
        {21, {128, 128}},
        {21, {128, 256}},
        {21, {256, 128}},
        {21, {256, 256}}},
       0.20,
       {}}};
  if (multipliesBF16())
    muons.push_back(
        {"matrices-muon-gpt2-fast", "fast", "the 48 matrices of GPT-2 small", gpt2, {}, 0.80});
  for (const MuonWork &work : muons)
    works.push_back(
        {work.name,
         fmt::format("updraft.optim.Muon, numerics \"{}\", {}", work.numerics, work.title),
         [work](const BenchOptions &options) { return muon(options, work); },
         /*group=*/"matrices"});
  const std::string name = "matrices-soap";
  works.push_back({name, "updraft.optim.SOAP on one matrix of 768 x 3072, between two refreshes",
                   [name](const BenchOptions &options) { return soap(options, name); },
                   /*group=*/"matrices"});
  return works;
}
