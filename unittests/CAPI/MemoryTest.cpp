//===- MemoryTest.cpp - A step needs no memory that grows with the parameters -----------------===//

#include "updraft-c/optimizer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {
constexpr const char *source = R"(
rule TwoStates(lr = 0.1) {
  state a = 0
  state b = 1
  update(param, grad, step) {
    let c = a + sqrt(abs(grad)) / (1 - 0.5 ^ step)
    let d = b * c + param
    next a = c
    next b = d
    next param = param - lr * d
  }
}
)";

/// In bytes; "VmRSS" is what the process has in memory now, "VmHWM" the most it ever had.
int64_t memoryOf(const std::string &field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(field + ":"))
      return std::stoll(line.substr(field.size() + 1)) * 1024;
  return -1;
}

/// How far above what it holds afterwards, and before, the process went while `body` ran.
template <typename Body> int64_t excessOf(Body &&body, int64_t kept) {
  std::ofstream("/proc/self/clear_refs") << "5"; // the peak starts anew
  int64_t before = memoryOf("VmRSS");
  body();
  return memoryOf("VmHWM") - before - kept;
}

TEST(Memory, AStepHasNoTemporaryOfAParametersSize) {
  constexpr int64_t elements = 16 << 20;
  constexpr int64_t tensorBytes = elements * 4;
  constexpr int64_t slack = tensorBytes / 16;
  std::vector<float> param(elements, 1.0f), grad(elements, 0.5f);
  upd_tensor params{param.data(), &elements, nullptr, 1, UPD_F32, UPD_CPU, 0, 0};
  upd_tensor grads{grad.data(), &elements, nullptr, 1, UPD_F32, UPD_CPU, 0, 0};

  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  upd_rule *rule = nullptr;
  ASSERT_EQ(upd_compile(source, std::strlen(source), nullptr, &options, &rule), UPD_OK)
      << upd_last_error();
  upd_group group{&params, nullptr, 1, nullptr, 0};
  upd_optimizer *optimizer = nullptr;
  ASSERT_EQ(upd_optimizer_create(rule, &group, 1, nullptr, &optimizer), UPD_OK) << upd_last_error();

  auto step = [&] {
    ASSERT_EQ(upd_optimizer_step(optimizer, &grads, 1), UPD_OK) << upd_last_error();
  };
  EXPECT_LT(excessOf(step, 2 * tensorBytes), slack) << "the first step, which makes two states";
  EXPECT_LT(excessOf(step, 0), slack) << "a later step";
  upd_optimizer_release(optimizer);
  upd_rule_release(rule);
}
} // namespace
