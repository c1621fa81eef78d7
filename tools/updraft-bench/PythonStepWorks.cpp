//===- PythonStepWorks.cpp - Benchmarks of `optimizer.step()` in Python -----------------------===//
// Compares updraft.optim and torch.optim in one Python process, with optax in another. The bounds
// are those of docs/performance.md.

#include "PythonPeer.h"
#include "Stepper.h"
#include "Work.h"
#include "tools/options/StandardStreams.h"

#include <fmt/format.h>

#include <algorithm>

using namespace updraft::bench;

namespace {
struct StepWork {
  std::string name;
  std::string torchClass;
  std::string arguments; // of the class, as a JSON object
  std::string rule;      // rules/RULE.upd, for the step through the C API; empty: skip it
  int64_t tensors;
  int64_t elements;
  bool fresh = false;
  std::optional<double> shareOfLimit = {}, overFused = {}, overForeach = {}, overCompile = {};
  std::optional<double> microseconds = {}; // bound for one step
  bool compiledInQuick = false;            // also run torch.compile, which takes many seconds
};

/// torch.compile and XLA take a minute to compile a step of this many tensors, and many for 1000.
constexpr int64_t mostTensorsToCompile = 200;

/// How many times as fast as this peer Updraft must be.
std::optional<double> requiredOver(const StepWork &work, const std::string &impl) {
  if (impl == "torch fused")
    return work.overFused;
  if (impl == "torch foreach")
    return work.overForeach;
  if (impl == "torch.compile")
    return work.overCompile;
  return std::nullopt;
}

std::vector<Contestant> contestants(const BenchOptions &options, const StepWork &work,
                                    const PeerSetup &setup) {
  std::vector<Contestant> result;
  result.push_back(*options.torch->contestant("updraft", "updraft", setup));
  if (setup.tensors == 1 && setup.elements > 1)
    result.push_back(options.torch->limit(options.limitLibrary, setup.dtype));
  for (Contestant &peer : options.torch->torchContestants(setup))
    result.push_back(std::move(peer));
  if (setup.tensors > mostTensorsToCompile)
    return result;
  if (!options.quick || work.compiledInQuick) {
    updraft::printMessage(fmt::format("{}: torch.compile compiles a step of {} tensors …\n",
                                      work.name, setup.tensors));
    if (auto compiled = options.torch->contestant("torch.compile", "compile", setup))
      result.push_back(std::move(*compiled));
  }
  if (options.jax)
    if (auto optax = options.jax->contestant("optax", "optax", setup))
      result.push_back(std::move(*optax));
  return result;
}

/// The overhead of Python over calling the same kernels from here.
Row overheadOf(const Row &python, const Row &direct, int64_t tensors) {
  std::vector<double> added;
  for (size_t round = 0; round < python.roundsMs.size(); ++round)
    added.push_back(python.roundsMs[round] - direct.roundsMs[round]);
  Row row = rowOf(python.work, "over C ABI", python.dtype, std::move(added));
  row.figure = {"µs more than through the C ABI", row.medianMs * 1e3,
                20 + 0.1 * static_cast<double>(tensors), /*atLeast=*/false};
  return row;
}

std::vector<Row> run(const BenchOptions &options, const StepWork &work) {
  PeerSetup setup{work.torchClass, work.arguments, "f32", work.tensors, work.elements, "",
                  work.fresh};
  if (options.quick) {
    setup.tensors = std::min<int64_t>(setup.tensors, 4);
    setup.elements = std::min<int64_t>(setup.elements, 2000);
  }
  std::vector<Contestant> racing = contestants(options, work, setup);
  std::optional<Stepper> direct;
  if (!work.rule.empty()) {
    StepSetup same;
    same.rule.file = fmt::format("{}/{}.upd", options.rulesDir, work.rule);
    same.tensors = setup.tensors;
    same.elements = setup.elements;
    same.rule.numerics = "torch"; // as in updraft.optim
    direct.emplace(same);
    racing.push_back(timed("C ABI", "f32", [&] { direct->step(); }));
  }
  std::vector<Row> rows =
      race(work.name, std::move(racing), options.quick ? 3 : 21, options.quick ? 1e-4 : 1e-2);
  options.torch->drop();
  if (options.jax)
    options.jax->drop();

  Row &ours = rows.front();
  if (work.microseconds)
    ours.figure = {"µs a step", ours.medianMs * 1e3, work.microseconds, /*atLeast=*/false};
  if (work.shareOfLimit)
    ours.figure = {"of the limit", *ours.ratioToLimit, work.shareOfLimit};
  for (Row &row : rows)
    if (row.impl != "updraft" && row.impl != "limit" && row.impl != "C ABI")
      row.figure = {timesUpdraft, timesAsLong(row, ours), requiredOver(work, row.impl)};
  // With more elements the overhead would be below the noise.
  if (direct && setup.tensors * setup.elements <= 1'000'000)
    rows.push_back(overheadOf(rows.front(), rows.back(), setup.tensors));
  if (options.quick) // the bounds don't apply to other sizes
    for (Row &row : rows)
      if (row.figure)
        row.figure->bound.reset();
  return rows;
}

std::vector<StepWork> stepsOfAdamW() {
  std::vector<StepWork> works;
  for (bool fresh : {false, true}) {
    auto add = [&](const std::string &size, int64_t tensors, int64_t elements) -> StepWork & {
      return works.emplace_back(
          StepWork{fmt::format("python-adamw-{}{}", size, fresh ? "-fresh" : ""), "AdamW", "{}",
                   fresh ? "" : "adamw", tensors, elements, fresh});
    };
    add("1x50M", 1, 50'000'000).shareOfLimit = 0.93;
    add("160x160k", 160, 160'000).overFused = 1.5;
    add("1000x1k", 1000, 1000).overFused = fresh ? 9 : 15;
    add("10000x64", 10000, 64).overFused = fresh ? 30 : 60;
    add("1x1", 1, 1).microseconds = 15;
  }
  return works;
}

/// Optimizers for which torch doesn't have a fused kernel.
std::vector<StepWork> stepsOfOthers() {
  struct Optimizer {
    std::string name, torchClass;
  };
  static const Optimizer optimizers[] = {
      {"rmsprop", "RMSprop"},   {"nadam", "NAdam"}, {"radam", "RAdam"}, {"adamax", "Adamax"},
      {"adadelta", "Adadelta"}, {"asgd", "ASGD"},   {"rprop", "Rprop"}};
  std::vector<StepWork> works;
  for (const Optimizer &optimizer : optimizers) {
    StepWork &work = works.emplace_back(StepWork{fmt::format("python-{}-160x160k", optimizer.name),
                                                 optimizer.torchClass, "{}", "", 160, 160'000});
    work.overForeach = 2;
    work.overCompile = 1.3;
    work.compiledInQuick = works.size() == 1;
  }
  return works;
}
} // namespace

std::vector<Work> updraft::bench::pythonStepWorks() {
  std::vector<StepWork> all = stepsOfAdamW();
  for (StepWork &work : stepsOfOthers())
    all.push_back(std::move(work));
  std::vector<Work> works;
  for (StepWork &work : all) {
    std::string description =
        fmt::format("updraft.optim.{}, {} x {} f32{}", work.torchClass, work.tensors, work.elements,
                    work.fresh ? ", fresh gradients" : "");
    works.push_back({work.name, std::move(description),
                     [work](const BenchOptions &options) { return run(options, work); },
                     /*group=*/"python"});
  }
  return works;
}
