//===- Comparison.cpp - Steps a compiled and an interpreted rule side by side -----------------===//
// Every parameter has two copies of its memory: the compiled rule's, guarded, and the
// interpreter's.

#include "ElementText.h"
#include "GuardedBuffer.h"
#include "Inputs.h"
#include "RuleCase.h"
#include "Sides.h"

#include "llvm/Support/raw_ostream.h"

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;
using reference::StorageFormat;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

namespace {

/// One stream of one parameter: what the compiled rule works on, and what the interpreter does.
struct TensorPair {
  StorageFormat format;
  GuardedBuffer compiled; // of the size 0 if the optimizer owns the memory
  std::vector<char> interpreted;
  std::vector<char> before; // the interpreter's, before the step

  TensorPair(StorageFormat format, const TensorShape &shape, size_t stream)
      : format(format), interpreted(shape.count * elementSize(format)), before(interpreted) {
    const size_t offset = shape.aligned ? 0 : (2 * stream + 1) * elementSize(format);
    compiled = GuardedBuffer(interpreted.size(), offset);
  }

  void fill(std::mt19937_64 &random, int64_t count) {
    fillElements(format, interpreted.data(), count, random);
    std::copy(interpreted.begin(), interpreted.end(), compiled.data());
  }
};

struct Parameter {
  TensorShape shape;
  std::vector<TensorPair> streams; // param, grad, states
  bool bound;                      // the states are in memory of ours
  bool hasState;
  int64_t step = 0;

  upd_tensor view(size_t stream) {
    upd_tensor tensor = {};
    tensor.data = streams[stream].compiled.data();
    tensor.shape = &shape.count;
    tensor.rank = 1;
    tensor.dtype = dtypeOf(streams[stream].format);
    tensor.device = UPD_CPU;
    return tensor;
  }
};

class Comparison {
public:
  Comparison(const RuleCase &ruleCase, RuleHandle rule, Interpreter interpreter)
      : ruleCase(ruleCase), rule(std::move(rule)), interpreter(std::move(interpreter)),
        hypers(this->interpreter.hyperDefaults()), random(ruleCase.seed) {}

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
  Interpreter interpreter;
  std::vector<double> hypers;
  std::vector<Parameter> parameters;
  OptimizerHandle optimizer;
  std::mt19937_64 random;
};

void Comparison::makeParameters() {
  for (const TensorShape &shape : ruleCase.tensors) {
    // Half of the parameters start from states that we give, half from the rule's initial values.
    const bool bound = parameters.size() % 2 == 1 && interpreter.stateCount() > 0;
    Parameter parameter{shape, {}, bound, bound};
    for (const auto &[index, stream] : llvm::enumerate(interpreter.streams())) {
      TensorPair &pair = parameter.streams.emplace_back(stream.format, shape, index);
      if (index < 2 || bound)
        pair.fill(random, shape.count);
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

  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    if (!parameter.bound)
      continue;
    for (size_t stream = 2; stream < parameter.streams.size(); ++stream) {
      const upd_tensor tensor = parameter.view(stream);
      if (upd_optimizer_bind_state(optimizer.get(), index,
                                   interpreter.streams()[stream].name.c_str(), &tensor) != UPD_OK)
        return failure("upd_optimizer_bind_state");
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
  }
  if (auto broken = interpreter.firstBrokenRequirement(hypers))
    return AssertionFailure() << describe(ruleCase) << "\nbreaks \"" << broken->message << "\"";
  return AssertionSuccess();
}

AssertionResult Comparison::step(int step) {
  std::vector<upd_tensor> grads;
  std::vector<bool> present;
  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    parameter.streams[1].fill(random, parameter.shape.count);
    upd_tensor grad = parameter.view(1);
    // Now and then a parameter has no gradient, so that their step counts differ.
    present.push_back((index + step) % 7 != 0);
    if (!present.back()) {
      grad = {};
      grad.rank = -1;
    }
    grads.push_back(grad);
  }
  if (upd_optimizer_step(optimizer.get(), grads.data(), grads.size()) != UPD_OK)
    return failure("upd_optimizer_step");

  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    if (present[index]) {
      const bool first = interpreter.stateCount() > 0 ? !parameter.hasState : parameter.step == 0;
      if (!parameter.hasState) {
        const std::vector<double> initial = interpreter.initialStates(hypers);
        for (auto [state, value] : llvm::enumerate(initial))
          for (int64_t i = 0; i < parameter.shape.count; ++i)
            reference::storeElement(parameter.streams[state + 2].format,
                                    parameter.streams[state + 2].interpreted.data(), i, value);
      }
      parameter.hasState = true;
      std::vector<void *> buffers;
      for (TensorPair &stream : parameter.streams) {
        stream.before = stream.interpreted;
        buffers.push_back(stream.interpreted.data());
      }
      interpreter.step(hypers, double(++parameter.step), first, buffers, parameter.shape.count);
    }
    if (AssertionResult same = compare(parameter, index, step); !same)
      return same;
  }
  return AssertionSuccess();
}

AssertionResult Comparison::compare(Parameter &parameter, size_t index, int step) {
  const auto where = [&](size_t stream) {
    std::string text;
    llvm::raw_string_ostream(text)
        << describe(ruleCase) << "\nstep " << step << ", parameter " << index << " of "
        << parameter.shape.count << " elements" << (parameter.shape.aligned ? "" : ", unaligned")
        << ", " << interpreter.streams()[stream].name;
    return text;
  };
  for (const auto &[stream, pair] : llvm::enumerate(parameter.streams)) {
    const void *compiled = pair.compiled.data();
    if (stream >= 2 && !parameter.bound) {
      upd_tensor state;
      const upd_status status = upd_optimizer_state(
          optimizer.get(), index, interpreter.streams()[stream].name.c_str(), &state);
      if (!parameter.hasState) {
        if (status != UPD_NOT_FOUND)
          return AssertionFailure() << where(stream) << ": a state without a step";
        continue;
      }
      if (status != UPD_OK)
        return failure("upd_optimizer_state");
      compiled = state.data;
    }
    if (!pair.compiled.isIntact())
      return AssertionFailure() << where(stream) << ": the bytes around it were written";

    auto element =
        firstDifference(pair.format, compiled, pair.interpreted.data(), parameter.shape.count);
    if (!element)
      continue;
    AssertionResult report = AssertionFailure();
    report << where(stream) << ", element " << *element << "\n  compiled    "
           << show(pair.format, compiled, *element) << "\n  interpreted "
           << show(pair.format, pair.interpreted.data(), *element) << "\n  before the step";
    for (const auto &[i, input] : llvm::enumerate(parameter.streams))
      report << "\n    " << interpreter.streams()[i].name << " = "
             << show(input.format, input.before.data(), *element);
    for (const auto &[i, name] : llvm::enumerate(interpreter.hyperNames()))
      report << "\n    " << name << " = " << hypers[i];
    return report << "\n    step = " << parameter.step;
  }
  return AssertionSuccess();
}

AssertionResult Comparison::run() {
  if (AssertionResult same = interfacesAgree(*rule, interpreter); !same)
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
  return AssertionSuccess();
}

} // namespace

AssertionResult updraft::differential::compiledEqualsInterpreted(const RuleCase &ruleCase) {
  llvm::Expected<Interpreter> interpreter = interpret(ruleCase);
  if (!interpreter)
    return AssertionFailure() << describe(ruleCase) << "\n"
                              << llvm::toString(interpreter.takeError());
  llvm::Expected<RuleHandle> rule = compile(ruleCase);
  if (!rule)
    return AssertionFailure() << describe(ruleCase) << "\n" << llvm::toString(rule.takeError());
  return Comparison(ruleCase, std::move(*rule), std::move(*interpreter)).run();
}

std::vector<TensorShape> updraft::differential::smallTensors() {
  std::vector<TensorShape> shapes;
  for (int64_t count : {0, 1, 15, 16, 17, 1003})
    for (bool aligned : {true, false})
      shapes.push_back({count, aligned});
  return shapes;
}

std::string updraft::differential::describe(const RuleCase &ruleCase) {
  static const char *const names[] = {"f32", "f64", "bf16", "f16"};
  std::string text = ruleCase.filename;
  if (ruleCase.target != "host")
    text += " for " + ruleCase.target;
  for (const auto &[name, value] : ruleCase.settings)
    text += " " + name + "=" + value;
  for (const auto &[name, dtype] : ruleCase.storage)
    text += " " + name + ":" + names[dtype];
  return text;
}
