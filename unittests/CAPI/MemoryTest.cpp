//===- MemoryTest.cpp - The memory of a step doesn't grow -------------------------------------===//
// Measures the peak memory of a step, beyond the memory before it, its states and its matrices.

#include "updraft-c/compiler.h"
#include "updraft-c/kernel.h"
#include "updraft-c/optimizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct MemoryCase {
  const char *name;
  const char *file;           // of rules/
  const char *rule = nullptr; // a chain; null: the rule of the file
  std::vector<int64_t> shape = {16 << 20};
  double stateBytes;                     // states of the first step, per element
  std::vector<upd_storage> storage = {}; // if it isn't f32
  int64_t listedRows = 0;                // the last ones; 0: all elements have gradients
  double matrixBytes = 0;                // of the matrices between products, per element
};

const MemoryCase cases[] = {
    {.name = "AdamW", .file = "adamw", .stateBytes = 8},
    {.name = "ClippedAdamW",
     .file = "adamw",
     .rule = "clip_by_global_norm(1) |> AdamW",
     .stateBytes = 8},
    {.name = "LAMB", .file = "lamb", .stateBytes = 8},
    {.name = "AdafactorOfAMatrix", .file = "adafactor", .shape = {4096, 4096}, .stateBytes = 0},
    {.name = "AdamWInBlocks",
     .file = "adamw",
     .stateBytes = 2 * (1 + 4.0 / 256),
     .storage = {{"state", "q8_companded"}}},
    // States exist for all rows, but only nonzero ones use memory.
    {.name = "RowsOfSparseAdam",
     .file = "sparse_adam",
     .shape = {1 << 18, 64},
     .stateBytes = 8.0 / 8,
     .listedRows = 1 << 15},
    {.name = "Muon", .file = "muon", .shape = {1536, 1536}, .stateBytes = 4, .matrixBytes = 12},
    {.name = "MuonOfAWideMatrix",
     .file = "muon",
     .shape = {1024, 4096},
     .stateBytes = 4,
     .matrixBytes = 9},
};

void PrintTo(const MemoryCase &memoryCase, std::ostream *out) { *out << memoryCase.name; }

/// In bytes. "VmRSS" is the current resident memory, "VmHWM" its peak.
int64_t memoryOf(const std::string &field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(field + ":"))
      return std::stoll(line.substr(field.size() + 1)) * 1024;
  return -1;
}

/// The peak of the process's memory while `body` runs, relative to its memory before.
template <typename Body> int64_t growthDuring(Body &&body) {
  std::ofstream("/proc/self/clear_refs") << "5"; // resets the peak
  const int64_t before = memoryOf("VmRSS");
  body();
  return memoryOf("VmHWM") - before;
}

std::string textOf(const MemoryCase &memoryCase) {
  std::stringstream text;
  text << std::ifstream(std::string(UPDRAFT_RULES_DIR "/") + memoryCase.file + ".upd").rdbuf();
  return text.str();
}

upd_tensor view(std::vector<float> &data, const std::vector<int64_t> &shape) {
  return {data.data(), shape.data(), nullptr, int32_t(shape.size()), UPD_F32, UPD_CPU, 0, 0};
}

/// One thread, so that the memory for packed operands doesn't depend on the machine.
const upd_pool oneThread{[](void *, int32_t count, void (*task)(void *, int32_t), void *context) {
                           for (int32_t i = 0; i < count; ++i)
                             task(context, i);
                         },
                         [](void *) { return int32_t(1); }, nullptr};

class Memory : public testing::TestWithParam<MemoryCase> {
protected:
  void TearDown() override {
    upd_optimizer_release(optimizer);
    upd_rule_release(rule);
  }

  void make(upd_tensor params) {
    const std::string source = textOf(GetParam());
    upd_compile_options options{};
    options.struct_size = sizeof(options);
    options.cache_dir = "";
    options.rule = GetParam().rule;
    options.storage = GetParam().storage.data();
    options.storage_count = GetParam().storage.size();
    ASSERT_EQ(upd_compile(source.data(), source.size(), nullptr, &options, &rule), UPD_OK)
        << upd_last_error();
    upd_group group{&params, nullptr, 1, nullptr, 0};
    ASSERT_EQ(upd_optimizer_create(rule, &group, 1, &oneThread, &optimizer), UPD_OK)
        << upd_last_error();
  }

  upd_rule *rule = nullptr;
  upd_optimizer *optimizer = nullptr;
};

TEST_P(Memory, AStepNeedsNoMoreThanItsMatrices) {
  const std::vector<int64_t> &shape = GetParam().shape;
  const int64_t elements =
      std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies());
  int64_t slack = elements / 4; // a 16th of the parameter
  if (GetParam().matrixBytes > 0)
    slack += UPD_PRODUCT_WORKSPACE + (2 << 20); // packed operands, and a huge page
  std::vector<int64_t> rows(GetParam().listedRows), gradShape = shape;
  if (!rows.empty()) {
    gradShape[0] = GetParam().listedRows;
    std::iota(rows.begin(), rows.end(), shape[0] - gradShape[0]);
  }
  std::vector<float> param(elements, 1.0f), grad(elements / shape[0] * gradShape[0], 0.5f);
  const upd_tensor grads = view(grad, gradShape);
  const upd_row_grad rowGrads{0, rows.data(), rows.size(), grads, 0};
  ASSERT_NO_FATAL_FAILURE(make(view(param, shape)));

  const auto step = [&] {
    const upd_status status = rows.empty()
                                  ? upd_optimizer_step(optimizer, &grads, 1)
                                  : upd_optimizer_step_rows(optimizer, nullptr, 0, &rowGrads, 1);
    ASSERT_EQ(status, UPD_OK) << upd_last_error();
  };
  const int64_t first = growthDuring(step);
  const auto states = int64_t(GetParam().stateBytes * double(elements));
  const auto matrices = int64_t(GetParam().matrixBytes * double(elements));
  EXPECT_LT(first, states + matrices + slack) << "the first step, which makes the states";
  EXPECT_GT(first, states + matrices - slack) << "the first step, which makes the states";
  EXPECT_LT(growthDuring(step), matrices + slack) << "a later step";
  EXPECT_NE(param.back(), 1.0f);
}

INSTANTIATE_TEST_SUITE_P(OfRules, Memory, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });
} // namespace
