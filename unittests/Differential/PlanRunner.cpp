//===- PlanRunner.cpp - A compiled plan without the runtime -----------------------------------===//

#include "PlanRunner.h"

#include "../Target/JitPlan.h"
#include "Inputs.h"
#include "StreamView.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;
using reference::Shape;
using reference::StorageFormat;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

namespace {

mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registry.insert<UpdraftDialect>();
    registerTargetDialects(registry);
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  context.loadAllAvailableDialects();
  return context;
}

/// The memory of one tensor.
struct TensorMemory {
  Shape shape;
  std::vector<std::vector<char>> streams; // in the rule's order: param, grad, states
};

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Runs the plan on all tensors, stage by stage.
class PlanRun {
public:
  PlanRun(PlanOp plan, const test::JitPlan &functions, const Interpreter &rule,
          const reference::GroupFacts &facts)
      : plan(plan), functions(functions), rule(rule), facts(facts) {}

  /// Returns which tensors were skipped.
  std::vector<bool> step(std::vector<TensorMemory> &tensors, double step, bool first);

private:
  struct TensorRun {
    TensorMemory *memory;
    std::vector<void *> streams; // of the sweeps
    std::vector<std::vector<char>> temporaries;
    std::vector<double> scalars, nextScalars;
    std::vector<double> reduced;
    std::vector<char> row;
    bool skipped(bool single) const {
      if (!single)
        return reinterpret_cast<const double *>(row.data())[0] != 0;
      return reinterpret_cast<const float *>(row.data())[0] != 0;
    }
  };

  void prepare(TensorRun &run, TensorMemory &memory);
  void runPrologue(size_t number, std::vector<TensorRun> &runs) const;
  void runSweep(SweepOp sweep, size_t number, std::vector<TensorRun> &runs);
  void commit(TensorRun &run) const;
  bool single() { return plan.getCompute().isF32(); }

  PlanOp plan;
  const test::JitPlan &functions;
  const Interpreter &rule;
  const reference::GroupFacts &facts;
  double stepCount = 0, isFirst = 0;
  int64_t groupSize = 0;
};

void PlanRun::prepare(TensorRun &run, TensorMemory &memory) {
  run.memory = &memory;
  size_t rowValues = 1;
  for (auto [index, stream] : llvm::enumerate(rule.streams()))
    if (stream.over == Extent::tensor || stream.over == Extent::group)
      run.scalars.push_back(loadElement(stream.format, memory.streams[index].data(), 0));
    else
      run.streams.push_back(memory.streams[index].data());
  const reference::Blocks blocks(memory.shape, rule.isMatrix());
  for (auto [index, stream] : llvm::enumerate(rule.streams()))
    if (isBlocked(stream.format))
      run.streams.push_back(memory.streams[index].data() + blocks.scalesOffset());
  run.nextScalars = run.scalars;
  for (auto prologue : plan.getBody().getOps<PrologueOp>())
    rowValues += prologue.getNumResults();
  run.row.resize(rowValues * sizeof(double), char(0xff));
}

void PlanRun::runPrologue(size_t number, std::vector<TensorRun> &runs) const {
  for (auto [index, run] : llvm::enumerate(runs)) {
    const Shape &shape = run.memory->shape;
    const double perTensor[UPD_TENSOR_FACTS] = {
        stepCount,        isFirst, double(shape.count()), double(shape.rows), double(shape.columns),
        double(groupSize)};
    functions.prologues[number](facts.hypers.data(), perTensor, run.reduced.data(),
                                run.scalars.data(), run.row.data(), run.nextScalars.data());
  }
}

void PlanRun::runSweep(SweepOp sweep, size_t number, std::vector<TensorRun> &runs) {
  const auto reductions = llvm::to_vector(sweep.getReductionRange());
  size_t perLeaf = 0;
  for (ReductionAttr reduction : reductions)
    perLeaf += isWithin(reduction.getOver(), Extent::tensor);
  std::vector<std::vector<double>> results(perLeaf); // by reduction, then tensor

  for (auto [tensor, run] : llvm::enumerate(runs)) {
    const Shape &shape = run.memory->shape;
    const bool matrix = sweep.runsByRows();
    const int64_t blocks = divideUp(shape.rows, UPD_BLOCK_ROWS);
    const bool batches = sweep.runsByBatches();
    const int64_t units = matrix    ? shape.batches * blocks
                          : batches ? shape.batches
                                    : shape.places(sweep.getOver());
    const int64_t leaf = matrix || batches ? 1 : UPD_LEAF_ELEMENTS;
    const int64_t leaves = divideUp(units, leaf);

    // The results: reductions over rows, columns and batches, then temporaries.
    std::vector<std::pair<size_t, ReductionKind>> columns; // streams in parts
    for (auto [index, result] : llvm::enumerate(sweep.getResults())) {
      auto type = llvm::dyn_cast<StreamType>(result.getType());
      if (!type)
        continue;
      int64_t count = shape.places(type.getOver());
      if (index < reductions.size() && type.getOver() == Extent::column) {
        columns.push_back({run.streams.size(), reductions[index].getKind()});
        count = shape.batches * blocks * shape.columns;
      }
      const size_t size = elementSize(*reference::storageFormat(type.getStorage()));
      run.temporaries.push_back(std::vector<char>(count * size + 1, char(0xff)));
      run.streams.push_back(run.temporaries.back().data());
    }

    std::vector<double> partials(leaves * perLeaf, 1e300);
    const upd_site site = {facts.seed, uint64_t(stepCount), tensor, shape.rows, shape.columns};
    const bool runs = !run.skipped(single()) || sweep.getWrites().empty();
    // Parts of increasing size, in reverse order, as threads might run them.
    std::vector<std::pair<int64_t, int64_t>> parts;
    for (int64_t begin = 0, size = 1; begin < leaves; begin += size, ++size)
      parts.push_back({begin, std::min(begin + size, leaves)});
    for (auto [begin, end] : llvm::reverse(parts)) {
      if (!runs)
        break;
      const upd_range range = {begin * leaf, std::min(end * leaf, units)};
      functions.sweeps[number](run.row.data(), run.streams.data(), &range, 1,
                               partials.data() + begin * perLeaf, &site);
    }
    for (auto [stream, kind] : columns) {
      const double *parts = static_cast<const double *>(run.streams[stream]);
      std::vector<double> whole;
      for (int64_t place = 0; place < shape.places(Extent::column); ++place) {
        const int64_t batch = place / shape.columns, column = place % shape.columns;
        std::vector<double> ofBlocks;
        for (int64_t block = batch * blocks; block < (batch + 1) * blocks; ++block)
          ofBlocks.push_back(parts[block * shape.columns + column]);
        whole.push_back(reference::reducePairwise(kind, ofBlocks));
      }
      std::vector<char> bytes(whole.size() * sizeof(double) + 1);
      if (!whole.empty())
        std::memcpy(bytes.data(), whole.data(), whole.size() * sizeof(double));
      run.temporaries.push_back(std::move(bytes));
      run.streams[stream] = run.temporaries.back().data();
    }
    size_t slot = 0;
    for (ReductionAttr reduction : reductions) {
      if (!isWithin(reduction.getOver(), Extent::tensor))
        continue;
      std::vector<double> values;
      for (int64_t i = 0; i < leaves; ++i)
        values.push_back(partials[i * perLeaf + slot]);
      results[slot++].push_back(reference::reducePairwise(reduction.getKind(), values));
    }
  }

  size_t slot = 0;
  for (ReductionAttr reduction : reductions) {
    if (!isWithin(reduction.getOver(), Extent::tensor))
      continue;
    const double ofGroup = reference::reducePairwise(reduction.getKind(), results[slot]);
    for (auto [tensor, run] : llvm::enumerate(runs))
      run.reduced.push_back(reduction.getOver() == Extent::group ? ofGroup : results[slot][tensor]);
    ++slot;
  }
}

void PlanRun::commit(TensorRun &run) const {
  size_t scalar = 0;
  for (auto [index, stream] : llvm::enumerate(rule.streams()))
    if (stream.over == Extent::tensor || stream.over == Extent::group)
      storeElement(stream.format, run.memory->streams[index].data(), 0, run.nextScalars[scalar++]);
}

std::vector<bool> PlanRun::step(std::vector<TensorMemory> &tensors, double step, bool first) {
  stepCount = step;
  isFirst = first;
  groupSize = 0;
  for (const TensorMemory &memory : tensors)
    groupSize += memory.shape.count();
  std::vector<TensorRun> runs(tensors.size());
  for (auto [run, memory] : llvm::zip(runs, tensors))
    prepare(run, memory);
  size_t prologues = 0, sweeps = 0;
  for (mlir::Operation &operation : plan.getBody().front()) {
    if (llvm::isa<PrologueOp>(operation))
      runPrologue(prologues++, runs);
    else if (auto sweep = llvm::dyn_cast<SweepOp>(operation))
      runSweep(sweep, sweeps++, runs);
  }
  std::vector<bool> skipped;
  for (TensorRun &run : runs) {
    skipped.push_back(run.skipped(single()));
    if (!skipped.back())
      commit(run);
  }
  return skipped;
}

std::vector<TensorMemory> makeTensors(const PlanCase &planCase, const Interpreter &rule,
                                      std::mt19937_64 &random) {
  std::vector<TensorMemory> tensors;
  for (const Shape &shape : planCase.tensors) {
    TensorMemory &memory = tensors.emplace_back(TensorMemory{shape, {}});
    for (auto [index, stream] : llvm::enumerate(rule.streams())) {
      const StreamView view(rule, index, shape);
      memory.streams.emplace_back(view.bytes() + 1);
      if (stream.over == Extent::group && tensors.size() > 1)
        memory.streams.back() = tensors.front().streams[index];
      else
        view.fillRandom(memory.streams.back().data(), random, random() % 4 == 0);
    }
  }
  return tensors;
}

/// Copies the states over the group from the first tensor that took the step to each tensor's
/// memory.
void shareGroupStates(std::vector<TensorMemory> &tensors, const Interpreter &rule,
                      const std::vector<bool> &skipped) {
  const auto taken = llvm::find(skipped, false);
  if (taken == skipped.end())
    return;
  for (auto [index, stream] : llvm::enumerate(rule.streams()))
    if (stream.over == Extent::group)
      for (TensorMemory &memory : tensors)
        memory.streams[index] = tensors[taken - skipped.begin()].streams[index];
}

std::vector<bool> interpret(const Interpreter &rule, const reference::GroupFacts &facts,
                            std::vector<TensorMemory> &tensors, double step, bool first) {
  std::vector<reference::TensorStep> steps;
  for (TensorMemory &memory : tensors) {
    reference::TensorStep &tensor = steps.emplace_back();
    tensor.rule = &rule;
    tensor.shape = memory.shape;
    tensor.step = step;
    tensor.first = first;
    tensor.number = steps.size() - 1;
    for (std::vector<char> &stream : memory.streams)
      tensor.buffers.push_back(stream.data());
  }
  return stepGroup(facts, steps);
}

} // namespace

AssertionResult updraft::differential::planEqualsInterpreted(const PlanCase &planCase) {
  mlir::MLIRContext &context = sharedContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(planCase.source, &context);
  if (!module)
    return AssertionFailure() << "the rule does not parse\n" << planCase.source;
  llvm::Expected<Interpreter> rule = Interpreter::create(formsIn<RuleOp>(*module)[0]);
  if (!rule)
    return AssertionFailure() << llvm::toString(rule.takeError()) << "\n" << planCase.source;

  mlir::PassManager passes(&context);
  buildPlanPipeline(passes);
  if (failed(passes.run(*module)))
    return AssertionFailure() << "the rule cannot be scheduled\n" << planCase.source;
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  const test::JitPlan functions(text, planCase.target);
  PlanOp plan = formsIn<PlanOp>(*module)[0];

  std::mt19937_64 random(planCase.seed);
  std::vector<TensorMemory> compiled = makeTensors(planCase, *rule, random);
  std::vector<TensorMemory> interpreted = compiled;
  const reference::GroupFacts facts = {rule->hyperDefaults(), planCase.seed};
  for (int step = 1; step <= planCase.steps; ++step) {
    for (auto [ours, theirs] : llvm::zip(compiled, interpreted)) {
      fillElements(rule->streams()[1].format, ours.streams[1].data(), ours.shape.count(), random,
                   random() % 4 == 0); // otherwise most sums would be NaN
      theirs.streams[1] = ours.streams[1];
    }
    const auto before = interpreted;
    const auto ours = PlanRun(plan, functions, *rule, facts).step(compiled, step, step == 1);
    const auto theirs = interpret(*rule, facts, interpreted, step, step == 1);
    shareGroupStates(compiled, *rule, ours);
    shareGroupStates(interpreted, *rule, theirs);
    const auto where = [&](size_t tensor) {
      const Shape &shape = compiled[tensor].shape;
      return "step " + std::to_string(step) + ", tensor " + std::to_string(tensor) + " of " +
             std::to_string(shape.batches) + " x " + std::to_string(shape.rows) + " x " +
             std::to_string(shape.columns);
    };
    for (size_t i = 0; i < compiled.size(); ++i) {
      if (ours[i] != theirs[i])
        return AssertionFailure() << planCase.source << "\n"
                                  << text << "\n"
                                  << where(i) << ": skipped by one of both";
      for (auto [index, stream] : llvm::enumerate(rule->streams())) {
        const char *mine = compiled[i].streams[index].data();
        const char *other = interpreted[i].streams[index].data();
        const StreamView view(*rule, index, compiled[i].shape);
        if (auto place = view.firstDifference(mine, other))
          return AssertionFailure()
                 << planCase.source << "\n"
                 << text << "\n"
                 << where(i) << ", " << stream.name << " at " << *place << "\n  compiled    "
                 << view.show(mine, *place) << "\n  interpreted " << view.show(other, *place)
                 << "\n  before      " << view.show(before[i].streams[index].data(), *place);
      }
    }
  }
  return AssertionSuccess();
}
