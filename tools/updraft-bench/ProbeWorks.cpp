//===- ProbeWorks.cpp - Benchmarks of probed steps --------------------------------------------===//
// AdamW with four probes for each tensor, in each step and in each 20th, against AdamW without
// probes.

#include "Stepper.h"
#include "Work.h"
#include "updraft-c/probes.h"

#include <fmt/format.h>

#include <chrono>

using namespace updraft::bench;

namespace {
/// The number of steps from one probed step to the next.
constexpr int rareEvery = 20;

struct ProbedSizes {
  std::string name;
  int64_t tensors, elements;
  std::optional<double> eachBound, rareBound; ///< of the time against that without probes
};

std::vector<Row> run(const BenchOptions &options, const std::string &work,
                     const ProbedSizes &sizes) {
  StepSetup setup;
  setup.rule.file = options.rulesDir + "/adamw.upd";
  setup.rule.numerics = options.numerics;
  setup.tensors = options.quick ? 10 : sizes.tensors;
  setup.elements = sizes.elements;
  Stepper without(setup);
  setup.rule.probes = {"update_ratio", "gradient_norm", "parameter_norm", "non_finite"};
  Stepper each(setup), rare(setup);
  updraft::harness::check(upd_optimizer_set_probe_every(rare.handle(), rareEvery));
  auto steps = [](Stepper &stepper) {
    return [&stepper](int count) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < count * rareEvery; ++i)
        stepper.step();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      return taken.count() / (count * rareEvery);
    };
  };
  std::vector<Row> rows = race(options.labelled(work),
                               {{"no probes", "f32", steps(without)},
                                {"probes in each step", "f32", steps(each)},
                                {"probes in each 20th", "f32", steps(rare)}},
                               options.quick ? 3 : 31, options.quick ? 1e-4 : 5e-3);
  rows[1].figure = {"x as long as without probes", timesAsLong(rows[1], rows[0]), sizes.eachBound,
                    /*atLeast=*/false};
  rows[2].figure = {"x as long as without probes", timesAsLong(rows[2], rows[0]), sizes.rareBound,
                    /*atLeast=*/false};
  if (options.quick) // the bounds don't apply to other sizes
    for (Row &row : rows)
      if (row.figure)
        row.figure->bound.reset();
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::probeWorks() {
  static const std::vector<ProbedSizes> all{{"160x160k", 160, 160'000, 1.02, 1.02},
                                            {"1000x1k", 1000, 1000, {}, 1.05}};
  std::vector<Work> works;
  for (const ProbedSizes &sizes : all) {
    std::string name = "probes-adamw-" + sizes.name;
    works.push_back(
        {name,
         fmt::format("AdamW, {} tensors of {} f32, four probes of each tensor", sizes.tensors,
                     sizes.elements),
         [name, &sizes](const BenchOptions &options) { return run(options, name, sizes); }});
  }
  return works;
}
