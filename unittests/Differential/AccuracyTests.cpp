//===- AccuracyTests.cpp - The error of f32 steps ---------------------------------------------===//
// The differential tests check that compiled code rounds like the rule. These check that the rule
// rounds well: compared with the same rule in double, f32 loses at most two units in the last place
// of the parameter per step. Three or four roundings affect the parameter: the factor of a weight
// decay, the product with it, and one or two sums.

#include "RuleTable.h"
#include "Sides.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <random>

using namespace updraft;
using namespace updraft::differential;
using reference::Interpreter;
using reference::Precision;

namespace {

constexpr int steps = 20;
constexpr int64_t count = 500;
constexpr double maxUnitsPerStep = 2;

/// The state of one run of a rule, from values that both formats represent exactly.
class RuleRun {
public:
  explicit RuleRun(Interpreter interpreter) : rule(std::move(interpreter)) {
    const std::vector<double> initial = rule.initialStates(rule.hyperDefaults());
    for (auto [index, stream] : llvm::enumerate(rule.streams())) {
      buffers.emplace_back(count * elementSize(stream.format));
      for (int64_t i = 0; index >= 2 && i < count; ++i)
        set(index, i, initial[index - 2]);
    }
  }

  void set(size_t stream, int64_t element, double value) {
    reference::storeElement(rule.streams()[stream].format, buffers[stream].data(), element, value);
  }
  double param(int64_t element) const {
    return reference::loadElement(rule.streams()[0].format, buffers[0].data(), element);
  }
  void step(int number) {
    std::vector<void *> pointers;
    for (std::vector<char> &buffer : buffers)
      pointers.push_back(buffer.data());
    rule.step(rule.hyperDefaults(), number, number == 1, pointers, count);
  }

private:
  Interpreter rule;
  std::vector<std::vector<char>> buffers;
};

class Accuracy : public testing::TestWithParam<RuleVariant> {};

TEST_P(Accuracy, LosesTwoUnitsOfTheParameterPerStep) {
  const RuleCase ruleCase = GetParam().instantiate({});
  llvm::Expected<Interpreter> inSingle = interpret(ruleCase);
  llvm::Expected<Interpreter> inDouble = interpret(ruleCase, Precision::Double);
  ASSERT_TRUE(bool(inSingle)) << llvm::toString(inSingle.takeError());
  ASSERT_TRUE(bool(inDouble)) << llvm::toString(inDouble.takeError());
  RuleRun single(std::move(*inSingle)), exact(std::move(*inDouble));

  std::mt19937_64 random(GetParam().index);
  std::normal_distribution<float> ordinary;
  double scale = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float value = ordinary(random);
    single.set(0, i, value);
    exact.set(0, i, value);
    scale = std::max(scale, double(std::fabs(value)));
  }
  for (int step = 1; step <= steps; ++step) {
    for (int64_t i = 0; i < count; ++i) {
      const float value = ordinary(random);
      single.set(1, i, value);
      exact.set(1, i, value);
    }
    single.step(step);
    exact.step(step);
    for (int64_t i = 0; i < count; ++i)
      scale = std::max(scale, std::fabs(exact.param(i)));
    const double unit = std::ldexp(1.0, std::ilogb(scale) - 23);
    for (int64_t i = 0; i < count; ++i)
      ASSERT_LE(std::fabs(single.param(i) - exact.param(i)), maxUnitsPerStep * step * unit)
          << describe(ruleCase) << ", step " << step << ", element " << i;
  }
}

std::string nameOf(const testing::TestParamInfo<RuleVariant> &info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(Shipped, Accuracy, testing::ValuesIn(allVariants()), nameOf);

} // namespace
