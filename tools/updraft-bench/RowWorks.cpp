//===- RowWorks.cpp - Benchmarks of a step of some rows ---------------------------------------===//
// An embedding table with gradients for a few scattered rows. Every step has other rows, so they
// come from memory. Compared with a dense step of as many elements, which are contiguous.

#include "PythonPeer.h"
#include "Stepper.h"
#include "Work.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft::bench;

namespace {
struct RowOptimizer {
  std::string work;
  std::string rule;       // rules/RULE.upd
  std::string torchClass; // empty: not in torch
};

std::vector<Row> runRows(const BenchOptions &options, const std::string &work,
                         const RowOptimizer &optimizer) {
  const int64_t rows = options.quick ? 5000 : 1'000'000, columns = 64;
  const int64_t listed = options.quick ? 100 : 10'000;
  StepSetup setup;
  setup.rule.file = options.rulesDir + "/" + optimizer.rule + ".upd";
  setup.elements = rows * columns;
  setup.rows = rows;
  setup.listed = listed;
  setup.rule.numerics = options.numerics;
  Stepper stepper(setup);
  setup.elements = listed * columns;
  setup.rows = listed;
  setup.listed = 0;
  Stepper dense(setup);
  std::vector<Contestant> contestants{timed("updraft", "f32", [&] { stepper.step(); }),
                                      timed("dense", "f32", [&] { dense.step(); })};
  if (options.torch && !optimizer.torchClass.empty())
    contestants.push_back(options.torch->sparse(optimizer.torchClass, "{}", rows, columns, listed,
                                                Stepper::rowLists));
  auto result = race(options.labelled(work), std::move(contestants), options.quick ? 3 : 21,
                     options.quick ? 1e-4 : 1e-2);
  if (options.torch)
    options.torch->drop();
  return result;
}
} // namespace

std::vector<Work> updraft::bench::rowWorks() {
  static const std::vector<RowOptimizer> optimizers{{"sparse-adam", "sparse_adam", "SparseAdam"},
                                                    {"sgd", "sgd", "SGD"},
                                                    {"adagrad", "adagrad", "Adagrad"},
                                                    {"rowwise-adagrad", "rowwise_adagrad", ""}};
  std::vector<Work> works;
  for (const RowOptimizer &optimizer : optimizers) {
    std::string name = optimizer.work + "-1Mx64-rows10k";
    works.push_back({name, fmt::format("{}, 10000 rows of a table of 1 M x 64 f32", optimizer.work),
                     [name, &optimizer](const BenchOptions &options) {
                       return runRows(options, name, optimizer);
                     }});
  }
  return works;
}
