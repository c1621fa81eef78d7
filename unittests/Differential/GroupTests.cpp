//===- GroupTests.cpp - Rules with values of all extents, through the C API -------------------===//
// Reductions, rows and columns, scalar states, skipped steps and random numbers: two groups of
// tensors of many shapes, some without a gradient now and then, on one to three threads. Every bit
// of the parameters and states is the interpreter's.

#include "ElementText.h"
#include "Inputs.h"
#include "Sides.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <thread>

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;
using reference::Shape;

namespace {

struct GroupCase {
  const char *name;
  const char *source;
};

void PrintTo(const GroupCase &groupCase, std::ostream *out) { *out << groupCase.name; }

const GroupCase cases[] = {
    {"Clipped", R"(rule R(lr = 0.1, limit = 0.5) {
  state m = 0
  update(param, grad) {
    let k = min(1, limit / (global_norm(grad) + 1e-6))
    let n = lerp(m, grad * k, 0.1)
    next m = n
    next param = param - lr * n
  }
})"},
    {"LayerWise", R"(rule R(lr = 0.1) {
  state m = 0
  update(param, grad) {
    let n = m * 0.9 + grad
    let trust = norm(param) / (norm(n) + mean(abs(grad)) + max(grad) + 1e-3)
    next m = n
    next param = param - lr * trust * n
  }
})"},
    {"Factored", R"(rule R(lr = 0.1, beta = 0.9, eps = 1e-8) {
  state r over row = 0 when matrix
  state c over column = 0.5 when matrix
  state v = 0 when !matrix
  update(param, grad) {
    let r1 = if matrix then lerp(r, row_mean(grad ^ 2), 1 - beta) else 0
    let c1 = if matrix then lerp(c, column_mean(grad ^ 2) + column_max(grad), 1 - beta) else 0
    let s = if matrix then r1 * c1 / max(mean(r1), eps) else lerp(v, grad ^ 2, 1 - beta)
    next r = r1
    next c = c1
    next v = s
    next param = param - lr * grad / (sqrt(abs(s)) + eps) / (1 + global_norm(grad))
  }
})"},
    {"ScalarStates", R"(rule R(lr = 0.1) {
  state mu over tensor = 1 : f32
  state total over group = 0
  update(param, grad, step) {
    let product = mu * (1 - 0.5 ^ step) + norm(grad)
    let all = total + group_sum(abs(grad))
    next mu = product
    next total = all
    next param = param - lr * grad / (product + all + 1)
  }
})"},
    {"Skipped", R"(rule R(lr = 0.1) {
  state m = 0
  state count over tensor = 0
  update(param, grad) {
    skip when !isfinite(sum(grad)) || max(grad) > 3.5
    next m = m + grad
    next count = count + 1
    next param = param - lr * m / (count + 1)
  }
})"},
    {"Dithered", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let n = random() + random() - 1
    next param = param - lr * (grad + n * mean(abs(grad)))
  }
})"},
};

/// Threads of the test's own, started for each task.
struct Pool {
  int32_t threads;

  upd_pool view() {
    return {[](void *, int32_t count, void (*task)(void *, int32_t), void *context) {
              std::vector<std::thread> running;
              for (int32_t i = 0; i < count; ++i)
                running.emplace_back(task, context, i);
              for (std::thread &thread : running)
                thread.join();
            },
            [](void *pool) { return static_cast<Pool *>(pool)->threads; }, this};
  }
};

struct Parameter {
  std::vector<int64_t> dimensions;
  size_t group;
  const Interpreter *rule = nullptr;
  std::vector<char> compiled, grad;
  std::map<std::string, std::vector<char>> interpreted; // by stream; those over groups apart
  int64_t step = 0;
  bool hasState = false;

  Shape shape() const { return Shape::of(dimensions); }
};

upd_tensor view(std::vector<char> &data, const std::vector<int64_t> &dimensions, upd_dtype dtype) {
  upd_tensor tensor = {};
  tensor.data = data.data();
  tensor.shape = dimensions.data();
  tensor.rank = int32_t(dimensions.size());
  tensor.dtype = dtype;
  tensor.device = UPD_CPU;
  return tensor;
}

/// One rule, its optimizer, and what the interpreter has of the same.
struct GroupRun {
  RuleHandle rule;
  OptimizerHandle optimizer;
  std::vector<Interpreter> interpreters; // for all, or for vectors and matrices
  std::vector<Parameter> parameters;
  std::map<std::pair<size_t, std::string>, std::vector<char>> groupStates;
  std::vector<double> hypers;
  Pool pool;
  upd_pool poolView;
  std::mt19937_64 random{7};
  static constexpr uint64_t seed = 0x123456789abcdef;

  void make(const RuleCase &ruleCase, int32_t threads);
  void fillGradients(int step, std::vector<upd_tensor> &grads);
  void interpret(size_t group, const std::vector<upd_tensor> &grads);
  void compare(int step);
  std::vector<char> &memoryOf(Parameter &parameter, const reference::Stream &stream) {
    return stream.over == Extent::group ? groupStates[{parameter.group, stream.name}]
                                        : parameter.interpreted[stream.name];
  }
};

void GroupRun::make(const RuleCase &ruleCase, int32_t threads) {
  llvm::Expected<RuleHandle> compiled = compile(ruleCase);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  rule = std::move(*compiled);
  llvm::Expected<Interpreter> vectors = differential::interpret(ruleCase);
  ASSERT_TRUE(bool(vectors)) << llvm::toString(vectors.takeError());
  interpreters.push_back(std::move(*vectors));
  auto matrices = interpretMatrix(ruleCase);
  ASSERT_TRUE(bool(matrices)) << llvm::toString(matrices.takeError());
  if (*matrices)
    interpreters.push_back(std::move(**matrices));
  hypers = interpreters[0].hyperDefaults();

  const std::vector<std::vector<int64_t>> shapes = {
      {0},      {1},      {127},  {128},  {129},    {8191},    {8192},
      {8193},   {30003},  {1, 1}, {3, 5}, {64, 64}, {65, 129}, {2, 3, 4, 5},
      {130, 1}, {1, 300}, {},     {0, 4}, {4, 0},   {200, 90}};
  std::vector<upd_tensor> params;
  for (size_t i = 0; i < shapes.size(); ++i) {
    Parameter parameter{shapes[i], i % 3 == 2};
    parameter.rule = &interpreters[interpreters.size() > 1 && shapes[i].size() >= 2];
    parameters.push_back(std::move(parameter));
  }
  // Parameters are numbered over the groups in order.
  llvm::stable_sort(parameters,
                    [](const Parameter &a, const Parameter &b) { return a.group < b.group; });
  size_t ofFirst = 0;
  for (Parameter &parameter : parameters) {
    ofFirst += parameter.group == 0;
    for (const reference::Stream &stream : parameter.rule->streams())
      memoryOf(parameter, stream)
          .resize(parameter.shape().places(stream.over) * elementSize(stream.format) + 1);
    const reference::StorageFormat format = parameter.rule->streams()[0].format;
    std::vector<char> &param = parameter.interpreted["param"];
    fillElements(format, param.data(), parameter.shape().count(), random, false);
    parameter.compiled = param;
  }
  for (Parameter &parameter : parameters)
    params.push_back(view(parameter.compiled, parameter.dimensions,
                          dtypeOf(parameter.rule->streams()[0].format)));
  upd_group groups[2] = {};
  groups[0].params = params.data();
  groups[0].param_count = ofFirst;
  groups[1].params = params.data() + ofFirst;
  groups[1].param_count = params.size() - ofFirst;
  pool.threads = threads;
  poolView = pool.view();
  upd_optimizer *created = nullptr;
  ASSERT_EQ(upd_optimizer_create(rule.get(), groups, 2, &poolView, &created), UPD_OK)
      << upd_last_error();
  optimizer.reset(created);
  ASSERT_EQ(upd_optimizer_set_seed(optimizer.get(), seed), UPD_OK);
}

void GroupRun::fillGradients(int step, std::vector<upd_tensor> &grads) {
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    const reference::Stream &stream = parameter.rule->streams()[1];
    std::vector<char> &grad = parameter.interpreted["grad"];
    fillElements(stream.format, grad.data(), parameter.shape().count(), random,
                 (index + step) % 5 == 0 && parameter.group == 1);
    parameter.grad = grad;
    grads.push_back(view(parameter.grad, parameter.dimensions, dtypeOf(stream.format)));
    if ((index + step) % 7 == 0) {
      grads.back() = {};
      grads.back().rank = -1;
    }
  }
}

void GroupRun::interpret(size_t group, const std::vector<upd_tensor> &grads) {
  std::vector<reference::TensorStep> steps;
  std::vector<Parameter *> taking;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    if (parameter.group != group || grads[index].rank < 0)
      continue;
    const Interpreter &mine = *parameter.rule;
    reference::TensorStep &step = steps.emplace_back();
    step.rule = &mine;
    step.shape = parameter.shape();
    step.step = double(parameter.step + 1);
    step.first = mine.stateCount() > 0 ? !parameter.hasState : parameter.step == 0;
    step.number = index;
    const std::vector<double> initial = mine.initialStates(hypers);
    for (auto [number, stream] : llvm::enumerate(mine.streams())) {
      std::vector<char> &memory = memoryOf(parameter, stream);
      const bool shared = stream.over == Extent::group;
      const bool started = shared && llvm::any_of(parameters, [&](const Parameter &other) {
                             return other.group == group && other.hasState;
                           });
      if (number >= 2 && !parameter.hasState && !started)
        for (int64_t i = 0; i < step.shape.places(stream.over); ++i)
          storeElement(stream.format, memory.data(), i, initial[number - 2]);
      step.buffers.push_back(memory.data());
    }
    taking.push_back(&parameter);
  }
  const std::vector<bool> skipped = stepGroup({hypers, seed}, steps);
  for (auto [parameter, skip] : llvm::zip(taking, skipped)) {
    parameter->step += !skip;
    parameter->hasState |= !skip;
  }
}

void GroupRun::compare(int step) {
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    int64_t count = 0;
    upd_optimizer_get_step(optimizer.get(), index, &count);
    ASSERT_EQ(count, parameter.step) << "step " << step << ", parameter " << index;
    for (auto [number, stream] : llvm::enumerate(parameter.rule->streams())) {
      const void *compiled = parameter.compiled.data();
      if (number == 1 || (number >= 2 && !parameter.hasState))
        continue;
      if (number >= 2) {
        upd_tensor state;
        ASSERT_EQ(upd_optimizer_state(optimizer.get(), index, stream.name.c_str(), &state), UPD_OK)
            << upd_last_error();
        compiled = state.data;
      }
      const char *interpreted = memoryOf(parameter, stream).data();
      auto place = firstDifference(stream.format, compiled, interpreted,
                                   parameter.shape().places(stream.over));
      ASSERT_FALSE(place) << "step " << step << ", parameter " << index << ", " << stream.name
                          << " at " << *place << "\n  compiled    "
                          << show(stream.format, compiled, *place) << "\n  interpreted "
                          << show(stream.format, interpreted, *place);
    }
  }
}

class Groups : public testing::TestWithParam<GroupCase> {};

TEST_P(Groups, StepAsInterpretedOnAnyNumberOfThreads) {
  for (const auto &[dtype, threads] :
       {std::pair(UPD_F32, 1), std::pair(UPD_BF16, 2), std::pair(UPD_F64, 3)}) {
    RuleCase ruleCase;
    ruleCase.source = GetParam().source;
    ruleCase.filename = "group.upd";
    ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
    GroupRun run;
    ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, threads));
    for (int step = 1; step <= 4; ++step) {
      std::vector<upd_tensor> grads;
      run.fillGradients(step, grads);
      ASSERT_EQ(upd_optimizer_step(run.optimizer.get(), grads.data(), grads.size()), UPD_OK)
          << upd_last_error();
      for (size_t group : {0, 1})
        run.interpret(group, grads);
      ASSERT_NO_FATAL_FAILURE(run.compare(step)) << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Groups, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
