//===- Behaviour.cpp - The update that a rule makes of canned gradients -----------------------===//

#include "Behaviour.h"

#include "EmbeddedPage.h"
#include "updraft/Frontend/Frontend.h"
#include "updraft/Reference/Interpreter.h"

#include <cmath>
#include <random>

using namespace updraft;
using llvm::json::Array;
using llvm::json::Object;
using reference::Interpreter;

namespace {
constexpr int steps = 100;
constexpr int spikeStep = 50;
constexpr double spikeFactor = 100;
constexpr int sparsePeriod = 10;

struct Signal {
  llvm::StringRef name, title;
  /// The gradient of an element at a step, given noise of mean 0 and variance 1.
  double (*gradient)(int step, double noise);
};

constexpr Signal signals[] = {
    {"constant", "gradients of 1", [](int, double) { return 1.0; }},
    {"noise", "noise of variance 1", [](int, double noise) { return noise; }},
    {"spike", "noise, 100 times as large at step 50",
     [](int step, double noise) { return step == spikeStep ? spikeFactor * noise : noise; }},
    {"sparse", "noise at every tenth step, else 0",
     [](int step, double noise) { return step % sparsePeriod == 0 ? noise : 0.0; }},
};

/// Standard normal numbers, the same on every machine: sums of uniform ones.
class Noise {
public:
  double next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += double(engine()) / double(std::minstd_rand::max());
    return sum;
  }

private:
  std::minstd_rand engine{1};
};

/// Returns the dimensions of the parameter that shows the rule. A matrix if the rule tells them
/// apart from vectors, since that is then what it is about.
std::vector<int64_t> dimensionsFor(llvm::ArrayRef<Interpreter> forms) {
  for (const std::vector<int64_t> &shape :
       std::vector<std::vector<int64_t>>{{4, 6}, {5, 5}, {6, 4}})
    for (const Interpreter &form : forms)
      if (form.isMatrix() && form.isFor(shape))
        return shape;
  return {24};
}

/// Returns the root mean square of the update of each step; stops at one that is not finite.
std::vector<double> updatesOf(llvm::ArrayRef<Interpreter> forms, const Signal &signal) {
  const std::vector<int64_t> dimensions = dimensionsFor(forms);
  const Interpreter &rule =
      forms.size() == 1 ? forms.front() : reference::formFor(forms, dimensions);
  const auto shape = reference::Shape::of(dimensions);
  const std::vector<double> hypers = rule.hyperDefaults();
  const std::vector<double> initial = rule.initialStates(hypers);
  std::vector<std::vector<double>> memory;
  std::vector<void *> buffers;
  for (auto [index, stream] : llvm::enumerate(rule.streams())) {
    reference::Shape places = shape;
    const int64_t count = stream.over == Extent::group ? 1 : places.places(stream.over);
    memory.emplace_back(std::max<int64_t>(count, 1), index == 0   ? 1.0
                                                     : index == 1 ? 0.0
                                                                  : initial[index - 2]);
  }
  for (auto &buffer : memory)
    buffers.push_back(buffer.data());
  Noise noise;
  std::vector<double> updates;
  double taken = 0;
  for (int step = 1; step <= steps; ++step) {
    for (double &gradient : memory[1])
      gradient = signal.gradient(step, noise.next());
    const std::vector<double> before = memory[0];
    reference::TensorStep tensor;
    tensor.rule = &rule;
    tensor.shape = shape;
    tensor.step = taken + 1;
    tensor.first = taken == 0;
    tensor.buffers = buffers;
    taken += !reference::stepGroup({hypers, /*seed=*/0}, tensor).front();
    double sum = 0;
    for (auto [now, then] : llvm::zip_equal(memory[0], before))
      sum += (now - then) * (now - then);
    updates.push_back(std::sqrt(sum / double(before.size())));
    if (!std::isfinite(updates.back()))
      updates.pop_back();
    if (updates.size() < size_t(step))
      break;
  }
  return updates;
}

std::vector<Interpreter> interpretersOf(llvm::ArrayRef<RuleOp> forms) {
  std::vector<Interpreter> interpreters;
  for (RuleOp form : forms) {
    auto interpreter = Interpreter::create(form, reference::Precision::Double);
    if (!interpreter) {
      llvm::consumeError(interpreter.takeError());
      return {};
    }
    interpreters.push_back(std::move(*interpreter));
  }
  return interpreters;
}

double learningRateOf(llvm::ArrayRef<Interpreter> forms) {
  const Interpreter &rule = forms.front();
  for (auto [name, value] : llvm::zip_equal(rule.hyperNames(), rule.hyperDefaults()))
    if (name == "lr" && value > 0)
      return value;
  return 1;
}

std::vector<Interpreter> adamW(mlir::MLIRContext &context) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram(embeddedAdamW(), "adamw.upd", diagnostics);
  auto imported = importRule(context, *program, {}, diagnostics);
  return interpretersOf(formsIn<RuleOp>(*imported->module));
}
} // namespace

Object updraft::behaviourOf(llvm::ArrayRef<RuleOp> forms) {
  const std::vector<Interpreter> rule = interpretersOf(forms);
  if (rule.empty())
    return Object{{"reason", "the reference interpreter can't run the rule"}};
  const std::vector<Interpreter> other = adamW(*forms.front()->getContext());
  Array shown;
  for (const Signal &signal : signals)
    shown.push_back(Object{{"name", signal.name},
                           {"title", signal.title},
                           {"updates", Array(updatesOf(rule, signal))},
                           {"adamw", Array(updatesOf(other, signal))}});
  Array shape;
  for (int64_t side : dimensionsFor(rule))
    shape.push_back(side);
  return Object{{"steps", steps},
                {"shape", std::move(shape)},
                {"lr", learningRateOf(rule)},
                {"adamwLr", learningRateOf(other)},
                {"signals", std::move(shown)}};
}
