//===- GroupRun.cpp - Compiled and interpreted optimizers -------------------------------------===//

#include "GroupRun.h"

#include "Inputs.h"
#include "StreamView.h"
#include "updraft/Target/CPUTarget.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <thread>

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;

static constexpr uint64_t seed = 0x123456789abcdef;

upd_pool TaskThreads::view() {
  return {[](void *, int32_t count, void (*task)(void *, int32_t), void *context) {
            std::vector<std::thread> running;
            for (int32_t i = 0; i < count; ++i)
              running.emplace_back(task, context, i);
            for (std::thread &thread : running)
              thread.join();
          },
          [](void *pool) { return static_cast<TaskThreads *>(pool)->threads; }, this};
}

const Shapes &differential::manyShapes() {
  static const Shapes shapes = {{0},      {1},      {127},     {128},        {129},
                                {8191},   {8192},   {8193},    {30003},      {1, 1},
                                {3, 5},   {64, 64}, {65, 129}, {2, 3, 4, 5}, {130, 1},
                                {1, 300}, {},       {0, 4},    {4, 0},       {200, 90}};
  return shapes;
}

upd_tensor differential::view(std::vector<char> &data, const std::vector<int64_t> &dimensions,
                              upd_dtype dtype) {
  upd_tensor tensor = {};
  tensor.data = data.data();
  tensor.shape = dimensions.data();
  tensor.rank = int32_t(dimensions.size());
  tensor.dtype = dtype;
  tensor.device = UPD_CPU;
  return tensor;
}

void GroupRun::stepInEveryType(RuleCase ruleCase, const Shapes &shapes, int steps) {
  for (int32_t threads : {1, 3})
    for (StorageType dtype : {StorageType::F32, StorageType::BF16, StorageType::F64}) {
      ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
      SCOPED_TRACE(describe(ruleCase) + " on " + std::to_string(threads) + " threads");
      GroupRun run;
      ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, shapes, threads));
      for (int step = 1; step <= steps; ++step)
        ASSERT_NO_FATAL_FAILURE(run.step(step));
    }
}

void GroupRun::stepOnOtherCPUs(RuleCase ruleCase, const Shapes &shapes) {
  const CPUTarget &host = CPUTarget::host();
  for (const char *target : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    llvm::Expected<CPUTarget> cpu = CPUTarget::named(target);
    ASSERT_TRUE(bool(cpu));
    if (llvm::StringRef(host.triple).take_front(3) != llvm::StringRef(cpu->triple).take_front(3) ||
        cpu->vectorBits > host.vectorBits)
      continue;
    ruleCase.target = target;
    SCOPED_TRACE(target);
    GroupRun run;
    ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, shapes, 2));
    ASSERT_NO_FATAL_FAILURE(run.step(1));
  }
}

void GroupRun::makeParameters(const Shapes &shapes) {
  // Parameters are numbered over the groups in order.
  for (size_t group : {0, 1})
    for (size_t i = 0; i < shapes.size(); ++i) {
      if ((i % 3 == 2) != (group == 1))
        continue;
      Parameter &parameter = parameters.emplace_back();
      parameter.dimensions = shapes[i];
      parameter.group = group;
      parameter.rule = &formFor(interpreters, shapes[i]);
    }
  for (Parameter &parameter : parameters) {
    for (auto [number, stream] : llvm::enumerate(parameter.rule->streams()))
      memoryOf(parameter, stream)
          .resize(StreamView(*parameter.rule, number, parameter.shape()).bytes() + 1);
    const reference::StorageFormat format = parameter.rule->streams()[0].format;
    std::vector<char> &param = parameter.interpreted["param"];
    fillElements(format, param.data(), parameter.shape().count(), random, false);
    parameter.compiled = param;
  }
}

std::vector<upd_tensor> GroupRun::params() {
  std::vector<upd_tensor> params;
  for (Parameter &parameter : parameters)
    params.push_back(view(parameter.compiled, parameter.dimensions,
                          dtypeOf(parameter.rule->streams()[0].format)));
  return params;
}

GroupRun::~GroupRun() {
  if (recording && optimizer && !testing::Test::HasFailure())
    recording->finish(*rule, *optimizer, params());
}

void GroupRun::make(const RuleCase &ruleCase, const Shapes &shapes, int32_t threads) {
  llvm::Expected<RuleHandle> compiled = compile(ruleCase);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  rule = std::move(*compiled);
  auto forms = interpretForms(ruleCase);
  ASSERT_TRUE(bool(forms)) << llvm::toString(forms.takeError());
  interpreters = std::move(*forms);
  hypers = interpreters[0].hyperDefaults();

  makeParameters(shapes);

  const std::vector<upd_tensor> params = this->params();
  const size_t ofFirst =
      llvm::count_if(parameters, [](const Parameter &parameter) { return parameter.group == 0; });
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
  recording = Recording::start(ruleCase);
  if (recording)
    recording->setParams(params, {groups[0].param_count, groups[1].param_count}, seed);
}

std::vector<upd_tensor> GroupRun::fillGradients(int step) {
  std::vector<upd_tensor> grads;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    const reference::Stream &stream = parameter.rule->streams()[1];
    std::vector<char> &grad = parameter.interpreted["grad"];
    fillElements(stream.format, grad.data(), parameter.shape().count(), random,
                 (index + step) % 5 == 0 && parameter.group == 1);
    parameter.grad = grad;
    grads.push_back(view(parameter.grad, parameter.dimensions, dtypeOf(stream.format)));
    if ((index + step) % 7 == 0) {
      grads.back() = {};
      grads.back().rank = UPD_ABSENT;
    }
  }
  return grads;
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
    step.probes = &parameter.probes;
    const std::vector<double> initial = mine.initialStates(hypers);
    for (auto [number, stream] : llvm::enumerate(mine.streams())) {
      std::vector<char> &memory = memoryOf(parameter, stream);
      const bool shared = stream.over == Extent::group;
      const bool started = shared && llvm::any_of(parameters, [&](const Parameter &other) {
                             return other.group == group && other.hasState;
                           });
      if (number >= 2 && !parameter.hasState && !started)
        StreamView(mine, number, step.shape).fill(memory.data(), initial[number - 2]);
      step.buffers.push_back(memory.data());
    }
    taking.push_back(&parameter);
  }
  const std::vector<bool> skipped = stepGroup({hypers, seed}, steps);
  for (auto [parameter, skip] : llvm::zip(taking, skipped)) {
    parameter->wasSkipped = skip;
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
      const StreamView memory(*parameter.rule, number, parameter.shape());
      auto place = memory.firstDifference(compiled, interpreted);
      ASSERT_FALSE(place) << "step " << step << ", parameter " << index << ", " << stream.name
                          << " at " << *place << "\n  compiled    " << memory.show(compiled, *place)
                          << "\n  interpreted " << memory.show(interpreted, *place);
    }
  }
}

void GroupRun::probeEvery(int every) {
  probedEvery = every;
  ASSERT_EQ(upd_optimizer_set_probe_every(optimizer.get(), every), UPD_OK) << upd_last_error();
}

void GroupRun::compareProbes(int step, const std::vector<upd_tensor> &grads) {
  const std::vector<std::string> &names = interpreters[0].probeNames();
  ASSERT_EQ(upd_rule_probe_count(rule.get()), names.size());
  for (auto [index, name] : llvm::enumerate(names))
    EXPECT_EQ(upd_rule_probe_name(rule.get(), index), name);
  std::vector<upd_probe_row> rows(parameters.size() + 1);
  std::vector<double> values(rows.size() * names.size());
  size_t count = 0;
  uint64_t lost = 0;
  ASSERT_EQ(upd_optimizer_read_probes(optimizer.get(), &probeCursor, rows.data(), values.data(),
                                      rows.size(), &count, &lost),
            UPD_OK)
      << upd_last_error();
  EXPECT_EQ(lost, 0u);
  size_t row = 0;
  const bool isProbed = probedEvery != 0 && step % probedEvery == 0;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    if (!isProbed || grads[index].rank < 0)
      continue;
    ASSERT_LT(row, count) << "step " << step << ", parameter " << index;
    EXPECT_EQ(rows[row].param, index);
    EXPECT_EQ(rows[row].step, parameter.step + parameter.wasSkipped);
    for (size_t i = 0; i < names.size(); ++i) {
      const double compiled = values[row * names.size() + i], interpreted = parameter.probes[i];
      // A skipped tensor has no values that need a sweep after the condition of `skip`.
      const bool isEqual = std::isnan(compiled)
                               ? std::isnan(interpreted) || parameter.wasSkipped
                               : std::memcmp(&compiled, &interpreted, sizeof(double)) == 0;
      ASSERT_TRUE(isEqual) << "step " << step << ", parameter " << index << ", probe " << names[i]
                           << ": compiled " << compiled << ", interpreted " << interpreted;
    }
    ++row;
  }
  ASSERT_EQ(row, count);
}

void GroupRun::step(int number, int32_t threadsToApply) {
  const std::vector<upd_tensor> grads = fillGradients(number);
  if (recording)
    recording->addStep(grads);
  ASSERT_EQ(upd_optimizer_prepare_rows(optimizer.get(), grads.data(), grads.size(), nullptr, 0),
            UPD_OK)
      << upd_last_error();
  const int32_t threads = pool.threads;
  if (threadsToApply != 0)
    pool.threads = threadsToApply;
  ASSERT_EQ(upd_optimizer_apply(optimizer.get()), UPD_OK) << upd_last_error();
  pool.threads = threads;
  for (size_t group : {0, 1})
    interpret(group, grads);
  ASSERT_NO_FATAL_FAILURE(compare(number));
  if (!interpreters[0].probeNames().empty())
    ASSERT_NO_FATAL_FAILURE(compareProbes(number, grads));
}
