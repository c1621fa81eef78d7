//===- Comparison.cpp - Steps a compiled and an interpreted rule side by side -----------------===//
// Every parameter has two copies of its memory: the compiled rule's, which is guarded, and the
// interpreter's.

#include "GuardedBuffer.h"
#include "Inputs.h"
#include "Recording.h"
#include "RuleCase.h"
#include "Sides.h"
#include "StreamView.h"
#include "runtime/base/DType.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <map>

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

namespace {

/// One stream of one parameter, for the compiled rule and for the interpreter.
struct TensorPair {
  StreamView memory;
  GuardedBuffer compiled; // size 0 if the optimizer owns the memory
  std::vector<char> interpreted;
  std::vector<char> before; // the interpreter's, before the step

  TensorPair(const StreamView &memory, bool aligned, size_t stream)
      : memory(memory), interpreted(memory.bytes()), before(interpreted) {
    const size_t offset = aligned ? 0 : (2 * stream + 1) * memory.alignment();
    compiled = GuardedBuffer(interpreted.size(), offset);
  }

  void fill(std::mt19937_64 &random, bool ordinary) {
    memory.fillRandom(interpreted.data(), random, !ordinary);
    std::copy(interpreted.begin(), interpreted.end(), compiled.data());
  }
  void fillWithNaN(uint64_t encoding, bool everywhere) {
    for (int64_t i = 0; i < memory.count(); ++i)
      if (everywhere || i == memory.count() / 2)
        storeNaN(memory.storage(), interpreted.data(), i, encoding);
    std::copy(interpreted.begin(), interpreted.end(), compiled.data());
  }
};

struct Parameter {
  const Interpreter *rule;
  TensorShape shape;
  std::vector<TensorPair> streams; // param, grad, states
  bool bound;                      // the states are in the test's memory
  bool hasState;
  int64_t step = 0;

  std::vector<std::vector<int64_t>> dimensions; // of each stream

  reference::Shape extents() const {
    return shape.dimensions.empty() ? reference::Shape::vector(shape.count)
                                    : reference::Shape::of(shape.dimensions);
  }
  upd_tensor view(size_t stream) {
    upd_tensor tensor = {};
    tensor.data = streams[stream].compiled.data();
    tensor.shape = dimensions[stream].data();
    tensor.rank = dimensions[stream].size();
    tensor.dtype = dtypeOf(streams[stream].memory.storage());
    tensor.device = UPD_CPU;
    return tensor;
  }
};

/// The dimensions of a tensor's values over an extent.
std::vector<int64_t> dimensionsOver(Extent over, const TensorShape &shape) {
  if (isWithin(over, Extent::tensor))
    return {};
  std::vector<int64_t> dimensions = shape.dimensions;
  if (dimensions.empty())
    return {shape.count};
  if (over == Extent::row)
    dimensions.back() = 1;
  if (over == Extent::column)
    dimensions[dimensions.size() - 2] = 1;
  if (over == Extent::rows_by_rows)
    dimensions.back() = dimensions[dimensions.size() - 2];
  if (over == Extent::columns_by_columns)
    dimensions[dimensions.size() - 2] = dimensions.back();
  return dimensions;
}

class Comparison {
public:
  /// The interpreted rule for vectors, or for all tensors; then the one for matrices, if any.
  Comparison(const RuleCase &ruleCase, RuleHandle rule, std::vector<Interpreter> interpreters)
      : ruleCase(ruleCase), rule(std::move(rule)), interpreters(std::move(interpreters)),
        interpreter(this->interpreters.front()), hypers(interpreter.hyperDefaults()),
        random(ruleCase.seed), recording(Recording::start(ruleCase)) {}

  AssertionResult run();

private:
  void makeParameters();
  AssertionResult makeOptimizer();
  AssertionResult changeHypers(int step);
  AssertionResult step(int step);
  AssertionResult compare(Parameter &parameter, size_t index, int step);
  AssertionResult failure(const std::string &call) {
    return AssertionFailure() << describe(ruleCase) << "\n" << call << ": " << upd_last_error();
  }

  const RuleCase &ruleCase;
  RuleHandle rule;
  std::vector<Interpreter> interpreters;
  const Interpreter &interpreter;
  std::vector<double> hypers;
  /// The interpreter's states over the group, by name. Before the first step that isn't skipped,
  /// their values don't matter.
  std::map<std::string, std::vector<char>> groupStates;
  bool groupHasState = false;
  std::vector<Parameter> parameters;
  OptimizerHandle optimizer;
  std::mt19937_64 random;
  std::unique_ptr<Recording> recording;
};

void Comparison::makeParameters() {
  for (const TensorShape &shape : ruleCase.tensors) {
    const Interpreter &variant = formFor(interpreters, shape.dimensions);
    // Half of the parameters start from given states, half from the rule's initial values.
    const bool bound = parameters.size() % 2 == 1 && variant.stateCount() > 0;
    Parameter parameter{&variant, shape, {}, bound, bound, 0, {}};
    for (const auto &[index, stream] : llvm::enumerate(variant.streams())) {
      TensorPair &pair = parameter.streams.emplace_back(
          StreamView(variant, index, parameter.extents()), shape.aligned, index);
      parameter.dimensions.push_back(dimensionsOver(stream.over, shape));
      if (index < 2 || bound)
        pair.fill(random, ruleCase.ordinary);
      if (index >= 2 && bound && ruleCase.givenNaN && !isBlocked(stream.format))
        pair.fillWithNaN(*ruleCase.givenNaN, stream.over != Extent::element);
    }
    parameters.push_back(std::move(parameter));
  }
}

AssertionResult Comparison::makeOptimizer() {
  std::vector<upd_tensor> params;
  for (Parameter &parameter : parameters)
    params.push_back(parameter.view(0));
  upd_group group = {};
  group.params = params.data();
  group.param_count = params.size();
  upd_optimizer *created = nullptr;
  if (upd_optimizer_create(rule.get(), &group, 1, nullptr, &created) != UPD_OK)
    return failure("upd_optimizer_create");
  optimizer.reset(created);
  if (upd_optimizer_set_seed(created, ruleCase.seed) != UPD_OK)
    return failure("upd_optimizer_set_seed");
  if (recording)
    recording->setParams(params, params.size(), ruleCase.seed);

  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    if (!parameter.bound)
      continue;
    for (size_t stream = 2; stream < parameter.streams.size(); ++stream) {
      const reference::Stream &state = parameter.rule->streams()[stream];
      const upd_tensor tensor = parameter.view(stream);
      if (state.over != Extent::group &&
          upd_optimizer_bind_state(optimizer.get(), index, state.name.c_str(), &tensor) != UPD_OK)
        return failure("upd_optimizer_bind_state");
      if (recording && state.over != Extent::group)
        recording->addState(index, state.name, tensor,
                            parameter.streams[stream].interpreted.size());
    }
  }
  return AssertionSuccess();
}

AssertionResult Comparison::changeHypers(int step) {
  for (const HyperChange &change : ruleCase.changes) {
    if (change.step != step)
      continue;
    auto name = llvm::find(interpreter.hyperNames(), change.name);
    if (name == interpreter.hyperNames().end())
      return AssertionFailure() << "the table names the unknown hyperparameter " << change.name;
    hypers[name - interpreter.hyperNames().begin()] = change.value;
    if (upd_optimizer_set_hyper(optimizer.get(), 0, change.name.c_str(), change.value) != UPD_OK)
      return failure("upd_optimizer_set_hyper");
    if (recording)
      recording->addChange(change.name, change.value);
  }
  if (auto broken = interpreter.firstBrokenRequirement(hypers))
    return AssertionFailure() << describe(ruleCase) << "\nbreaks \"" << broken->message << "\"";
  return AssertionSuccess();
}

AssertionResult Comparison::step(int step) {
  std::vector<upd_tensor> grads;
  std::vector<bool> present;
  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    parameter.streams[1].fill(random, ruleCase.ordinary);
    upd_tensor grad = parameter.view(1);
    // Now and then a parameter has no gradient, so that their step counts differ.
    present.push_back((index + step) % 7 != 0);
    if (!present.back()) {
      grad = {};
      grad.rank = UPD_ABSENT;
    }
    grads.push_back(grad);
  }
  if (recording)
    recording->addStep(grads);
  if (upd_optimizer_step(optimizer.get(), grads.data(), grads.size()) != UPD_OK)
    return failure("upd_optimizer_step");

  std::vector<reference::TensorStep> steps;
  std::vector<Parameter *> stepped;
  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    if (!present[index])
      continue;
    const bool first = parameter.rule->stateCount() > 0 ? !parameter.hasState : parameter.step == 0;
    reference::TensorStep &tensor = steps.emplace_back();
    tensor = {parameter.rule, parameter.extents(), double(parameter.step + 1), first, index, {}};
    const std::vector<double> initial = parameter.rule->initialStates(hypers);
    for (const auto &[i, stream] : llvm::enumerate(parameter.streams)) {
      const reference::Stream &declared = parameter.rule->streams()[i];
      std::vector<char> *memory = &stream.interpreted;
      bool fresh = i >= 2 && !parameter.hasState;
      if (declared.over == Extent::group) {
        memory = &groupStates.try_emplace(declared.name, stream.interpreted).first->second;
        fresh = !groupHasState;
      }
      if (fresh)
        stream.memory.fill(memory->data(), initial[i - 2]);
      stream.before = *memory;
      tensor.buffers.push_back(memory->data());
    }
    stepped.push_back(&parameter);
  }
  const std::vector<bool> skipped = reference::stepGroup({hypers, ruleCase.seed}, steps);
  for (auto [parameter, wasSkipped] : llvm::zip(stepped, skipped)) {
    parameter->step += !wasSkipped;
    parameter->hasState |= !wasSkipped;
    groupHasState |= !wasSkipped;
  }
  for (const auto &[index, parameter] : llvm::enumerate(parameters))
    if (AssertionResult same = compare(parameter, index, step); !same)
      return same;
  return AssertionSuccess();
}

AssertionResult Comparison::compare(Parameter &parameter, size_t index, int step) {
  const auto where = [&](size_t stream) {
    std::string text;
    llvm::raw_string_ostream(text)
        << describe(ruleCase) << "\nstep " << step << ", parameter " << index << " of "
        << parameter.shape.count << " elements" << (parameter.shape.aligned ? "" : ", unaligned")
        << ", " << parameter.rule->streams()[stream].name;
    return text;
  };
  for (const auto &[stream, pair] : llvm::enumerate(parameter.streams)) {
    const bool ofGroup = parameter.rule->streams()[stream].over == Extent::group;
    const void *compiled = pair.compiled.data();
    if (stream >= 2 && (!parameter.bound || ofGroup)) {
      upd_tensor state;
      const upd_status status = upd_optimizer_state(
          optimizer.get(), index, parameter.rule->streams()[stream].name.c_str(), &state);
      if (ofGroup && !groupHasState)
        continue;
      if (!parameter.hasState) {
        if (status != UPD_NOT_FOUND && !ofGroup)
          return AssertionFailure() << where(stream) << ": a state without a step";
        continue;
      }
      if (status != UPD_OK)
        return failure("upd_optimizer_state");
      compiled = state.data;
    }
    if (!pair.compiled.isIntact())
      return AssertionFailure() << where(stream) << ": the bytes around it were written";

    const void *interpreted = ofGroup
                                  ? groupStates.at(parameter.rule->streams()[stream].name).data()
                                  : pair.interpreted.data();
    auto element = pair.memory.firstDifference(compiled, interpreted);
    if (!element)
      continue;
    AssertionResult report = AssertionFailure();
    report << where(stream) << ", element " << *element << "\n  compiled    "
           << pair.memory.show(compiled, *element) << "\n  interpreted "
           << pair.memory.show(interpreted, *element) << "\n  before the step";
    for (const auto &[i, input] : llvm::enumerate(parameter.streams))
      if (*element < input.memory.count())
        report << "\n    " << parameter.rule->streams()[i].name << " = "
               << input.memory.show(input.before.data(), *element);
    for (const auto &[i, name] : llvm::enumerate(interpreter.hyperNames()))
      report << "\n    " << name << " = " << hypers[i];
    return report << "\n    step = " << parameter.step;
  }
  return AssertionSuccess();
}

AssertionResult Comparison::run() {
  if (AssertionResult same = interfacesAgree(*rule, interpreters); !same)
    return same << "\n" << describe(ruleCase);
  makeParameters();
  if (AssertionResult made = makeOptimizer(); !made)
    return made;
  for (int i = 1; i <= ruleCase.steps; ++i) {
    if (AssertionResult changed = changeHypers(i); !changed)
      return changed;
    if (AssertionResult same = step(i); !same)
      return same;
  }
  if (recording) {
    std::vector<upd_tensor> params;
    for (Parameter &parameter : parameters)
      params.push_back(parameter.view(0));
    recording->finish(*rule, *optimizer, params);
  }
  return AssertionSuccess();
}

} // namespace

/// `areDistinct`: the rule processes matrices differently from vectors.
static std::vector<TensorShape> matrices(bool areDistinct) {
  if (!areDistinct)
    return {{15, false, {3, 5}}, {120, true, {2, 3, 4, 5}}};
  return {{1, true, {1, 1}},          {15, false, {3, 5}},    {4096, true, {64, 64}},
          {8385, false, {65, 129}},   {390, false, {130, 3}}, {300, true, {1, 300}},
          {120, false, {2, 3, 4, 5}}, {0, true, {0, 7}},      {1320, false, {2, 66, 10}}};
}

/// Replaces matrices that the interpreter would need minutes for.
static void keepSmallMatrices(std::vector<TensorShape> &tensors) {
  llvm::erase_if(tensors, [](const TensorShape &shape) {
    llvm::ArrayRef<int64_t> sides = llvm::ArrayRef(shape.dimensions).take_back(2);
    return sides.size() == 2 && std::max(sides[0], sides[1]) > 40;
  });
  tensors.push_back({561, false, {33, 17}});
}

AssertionResult updraft::differential::compiledEqualsInterpreted(const RuleCase &ruleCase) {
  auto interpreters = interpretForms(ruleCase);
  if (!interpreters)
    return AssertionFailure() << describe(ruleCase) << "\n"
                              << llvm::toString(interpreters.takeError());
  llvm::Expected<RuleHandle> rule = compile(ruleCase);
  if (!rule)
    return AssertionFailure() << describe(ruleCase) << "\n" << llvm::toString(rule.takeError());
  RuleCase whole = ruleCase;
  if (ruleCase.withMatrices)
    llvm::append_range(whole.tensors, matrices(/*areDistinct=*/interpreters->size() > 1));
  if (hasSquareStates(**rule))
    keepSmallMatrices(whole.tensors);
  return Comparison(whole, std::move(*rule), std::move(*interpreters)).run();
}

std::vector<TensorShape> updraft::differential::smallTensors() {
  std::vector<TensorShape> shapes;
  for (int64_t count : {0, 1, 15, 16, 17, 1003})
    for (bool aligned : {true, false})
      shapes.push_back({count, aligned});
  return shapes;
}

std::vector<TensorShape> updraft::differential::blockTensors() {
  return {{0, true},
          {1, true},
          {1, false},
          {255, false},
          {256, true},
          {257, false},
          {1003, false},
          {8193, false},
          {15, false, {3, 5}},
          {0, true, {4, 0}},
          {771, false, {3, 257}},
          {1400, false, {2, 700}},
          {3072, true, {2, 3, 512}},
          {20700, false, {69, 300}}};
}

std::string updraft::differential::usualTarget() {
  const char *named = std::getenv("UPDRAFT_DIFFERENTIAL_TARGET");
  return named ? named : "host";
}

std::string updraft::differential::describe(const RuleCase &ruleCase) {
  std::string text = ruleCase.filename;
  if (!ruleCase.rule.empty())
    text += " as " + ruleCase.rule;
  if (ruleCase.target != "host")
    text += " for " + ruleCase.target;
  if (ruleCase.numerics != "ieee")
    text += " in " + ruleCase.numerics;
  for (const auto &[name, value] : ruleCase.settings)
    text += " " + name + "=" + value;
  for (const auto &[name, type] : ruleCase.storage)
    text += " " + name + ":" + storageTypeName(type).str();
  return text;
}
