//===- Interpreter.cpp - Executes a rule as it is written -------------------------------------===//

#include "updraft/Reference/Interpreter.h"

#include "TensorRun.h"
#include "Updraft/Transforms/ExpandMath.h"

using namespace updraft;
using namespace updraft::reference;

/// Returns the registers with all values that depend only on hyperparameters.
static std::vector<Register> runGroupScalars(const Program &program,
                                             llvm::ArrayRef<double> hypers) {
  std::vector<Register> registers = program.registers;
  for (auto [index, target] : llvm::enumerate(program.hyperRegisters))
    registers[target].real = hypers[index];
  for (const Action &action : program.actions)
    if (action.kind == Action::Compute && isWithin(action.extent, Extent::group))
      execute(action.instruction, registers.data());
  return registers;
}

llvm::Expected<Interpreter> Interpreter::create(RuleOp rule, Precision precision) {
  // In stated precision, elementary functions are replaced by their expansions.
  mlir::OwningOpRef<RuleOp> expanded = rule.clone();
  if (precision == Precision::Stated)
    expandFunctions(*expanded);
  llvm::Expected<Program> program = resolve(*expanded, precision);
  if (!program)
    return program.takeError();
  return Interpreter(std::make_shared<const Program>(std::move(*program)));
}

const std::vector<std::string> &Interpreter::hyperNames() const { return program->hyperNames; }
const std::vector<double> &Interpreter::hyperDefaults() const { return program->hyperDefaults; }
const std::vector<Stream> &Interpreter::streams() const { return program->streams; }

const std::vector<std::string> &Interpreter::probeNames() const { return program->probeNames; }

bool Interpreter::isMatrix() const { return program->isMatrix; }

bool Interpreter::isFor(llvm::ArrayRef<int64_t> dimensions) const {
  if (dimensions.size() < 2 || !program->isMatrix)
    return (dimensions.size() >= 2) == program->isMatrix;
  const Shape shape = Shape::of(dimensions);
  return bitEnumContainsAny(program->shapes, shape.rows < shape.columns    ? MatrixShapes::wide
                                             : shape.rows == shape.columns ? MatrixShapes::square
                                                                           : MatrixShapes::tall);
}

const Interpreter &updraft::reference::formFor(llvm::ArrayRef<Interpreter> forms,
                                               llvm::ArrayRef<int64_t> dimensions) {
  for (const Interpreter &form : forms)
    if (form.isFor(dimensions))
      return form;
  return forms.front(); // for all tensors
}

std::vector<double> Interpreter::initialStates(llvm::ArrayRef<double> hypers) const {
  const std::vector<Register> registers = runGroupScalars(*program, hypers);
  std::vector<double> values;
  if (program->streams[0].rounding == Rounding::Corrected)
    values.push_back(0);
  for (auto [source, stream] :
       llvm::zip(program->initialRegisters, llvm::drop_begin(program->nextStreams))) {
    const double value = registers[source].real;
    if (program->streams[stream].rounding != Rounding::Corrected) {
      values.push_back(value);
      continue;
    }
    const Corrected parts = splitCorrected(value);
    values.push_back(parts.upper);
    values.push_back(parts.correction);
  }
  return values;
}

std::optional<Interpreter::BrokenRequirement>
Interpreter::firstBrokenRequirement(llvm::ArrayRef<double> hypers) const {
  const std::vector<Register> registers = runGroupScalars(*program, hypers);
  for (auto [index, requirement] : llvm::enumerate(program->requirements))
    if (!registers[requirement.condition].bits)
      return BrokenRequirement{unsigned(index), requirement.message};
  return std::nullopt;
}

bool Interpreter::step(llvm::ArrayRef<double> hypers, double step, bool first,
                       llvm::ArrayRef<void *> buffers, int64_t count) const {
  TensorStep tensor;
  tensor.rule = this;
  tensor.shape = Shape::vector(count);
  tensor.step = step;
  tensor.first = first;
  tensor.buffers = buffers.vec();
  return stepGroup({hypers.vec()}, tensor)[0];
}

/// Runs all tensors in parallel, from one reduction over the group to the next.
std::vector<bool> updraft::reference::stepGroup(const GroupFacts &facts,
                                                llvm::ArrayRef<TensorStep> tensors) {
  int64_t groupSize = 0;
  for (const TensorStep &tensor : tensors)
    groupSize += tensor.shape.count();
  std::vector<TensorRun> runs;
  for (const TensorStep &tensor : tensors)
    runs.emplace_back(facts, tensor, groupSize);

  while (true) {
    std::vector<double> parts;
    std::vector<TensorRun *> waiting;
    ReductionKind kind = ReductionKind::sum;
    for (TensorRun &run : runs)
      if (auto reduction = run.advance()) {
        kind = reduction->kind;
        parts.push_back(reduction->part);
        waiting.push_back(&run);
      }
    if (waiting.empty())
      break;
    const double value = reducePairwise(kind, parts);
    for (TensorRun *run : waiting)
      run->resume(value);
  }

  std::vector<bool> skipped;
  std::set<std::string> storedOfGroup; // by the first tensor that has the state and is not skipped
  for (auto [tensor, run] : llvm::zip(tensors, runs)) {
    if (tensor.probes)
      *tensor.probes = run.probes();
    skipped.push_back(run.isSkipped());
    if (skipped.back())
      continue;
    run.store(storedOfGroup);
  }
  return skipped;
}
