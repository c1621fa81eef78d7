//===- ProbesTest.cpp - updraft-c/probes.h ----------------------------------------------------===//

#include "updraft-c/probes.h"

#include "updraft-c/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *descent = R"(
rule Descent(lr = 0.5) {
  update(param, grad) {
    probe moved = norm(new_param - param)
    next param = param - lr * grad
  }
}
)";

struct ReleaseRule {
  void operator()(upd_rule *rule) const { upd_rule_release(rule); }
};
struct ReleaseOptimizer {
  void operator()(upd_optimizer *optimizer) const { upd_optimizer_release(optimizer); }
};

class Probes : public testing::Test {
protected:
  upd_status compile(std::vector<const char *> probes, const char *source = descent,
                     upd_tensors tensors = UPD_ALL_TENSORS) {
    upd_compile_options options{};
    options.struct_size = sizeof(options);
    options.cache_dir = "";
    options.probes = probes.data();
    options.probe_count = probes.size();
    options.tensors = tensors;
    upd_rule *made = nullptr;
    const upd_status status = upd_compile(source, std::strlen(source), "test.upd", &options, &made);
    rule.reset(made);
    return status;
  }

  /// An optimizer of two parameters, of 3 and 4 elements.
  void create() {
    static constexpr int64_t shapes[] = {3, 4};
    std::vector<upd_tensor> params(2);
    for (size_t i = 0; i < 2; ++i) {
      params[i].data = data[i];
      params[i].shape = &shapes[i];
      params[i].rank = 1;
      params[i].device = UPD_CPU;
    }
    upd_group group{params.data(), nullptr, 2, nullptr, 0};
    upd_optimizer *made = nullptr;
    ASSERT_EQ(upd_optimizer_create(rule.get(), &group, 1, nullptr, &made), UPD_OK)
        << upd_last_error();
    optimizer.reset(made);
  }

  void step(bool withSecond = true) {
    const void *addresses[] = {grads[0], withSecond ? grads[1] : nullptr};
    ASSERT_EQ(upd_optimizer_prepare_addresses(optimizer.get(), addresses, 2, nullptr, 0), UPD_OK)
        << upd_last_error();
    ASSERT_EQ(upd_optimizer_apply(optimizer.get()), UPD_OK) << upd_last_error();
  }

  void read(size_t capacity = 1000) {
    rows.resize(capacity);
    values.resize(capacity * upd_rule_probe_count(rule.get()));
    size_t count = 0;
    ASSERT_EQ(upd_optimizer_read_probes(optimizer.get(), &cursor, rows.data(), values.data(),
                                        capacity, &count, &lost),
              UPD_OK)
        << upd_last_error();
    rows.resize(count);
    values.resize(count * upd_rule_probe_count(rule.get()));
  }

  float data[2][4] = {{1, 1, 1, 0}, {2, 2, 2, 2}};
  float grads[2][4] = {{2, 2, 1, 0}, {4, 0, 0, 3}};
  std::unique_ptr<upd_rule, ReleaseRule> rule;
  std::unique_ptr<upd_optimizer, ReleaseOptimizer> optimizer;
  std::vector<upd_probe_row> rows;
  std::vector<double> values;
  uint64_t cursor = 0, lost = 0;
};

TEST_F(Probes, AreThoseOfTheRuleThenThoseOfTheRequest) {
  ASSERT_EQ(compile({"gradient_norm", "twice = 2 * sum(grad)"}), UPD_OK) << upd_last_error();
  ASSERT_EQ(upd_rule_probe_count(rule.get()), 3u);
  EXPECT_STREQ(upd_rule_probe_name(rule.get(), 0), "moved");
  EXPECT_STREQ(upd_rule_probe_name(rule.get(), 1), "gradient_norm");
  EXPECT_STREQ(upd_rule_probe_name(rule.get(), 2), "twice");
  EXPECT_EQ(upd_rule_probe_name(rule.get(), 3), nullptr);
  EXPECT_EQ(upd_rule_state_count(rule.get()), 0u);
  // They don't change what the update depends on.
  EXPECT_EQ(upd_rule_depends_on(rule.get()), UPD_EXTENT_ELEMENT);
}

TEST_F(Probes, AreReadForEachParameterAndStep) {
  ASSERT_EQ(compile({"gradient_norm", "twice = 2 * sum(grad)"}), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  ASSERT_NO_FATAL_FAILURE(read());
  EXPECT_TRUE(rows.empty());
  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(step(/*withSecond=*/false));
  ASSERT_NO_FATAL_FAILURE(read());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].step, 1);
  EXPECT_EQ(rows[0].param, 0u);
  EXPECT_EQ(rows[1].param, 1u);
  EXPECT_EQ(rows[2].step, 2);
  EXPECT_EQ(rows[2].param, 0u);
  EXPECT_THAT(values, ElementsAre(1.5, 3, 10, 2.5, 5, 14, 1.5, 3, 10));
  EXPECT_EQ(lost, 0u);
  ASSERT_NO_FATAL_FAILURE(read());
  EXPECT_TRUE(rows.empty());
}

TEST_F(Probes, MayBeHistograms) {
  ASSERT_EQ(compile({"sizes = histogram(grad, [1, 2.5])", "gradient_norm"}), UPD_OK)
      << upd_last_error();
  ASSERT_EQ(upd_rule_probe_count(rule.get()), 5u);
  const double ends[] = {1, 2.5, std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_STREQ(upd_rule_probe_name(rule.get(), 1 + i), "sizes");
    EXPECT_EQ(upd_rule_probe_end(rule.get(), 1 + i), ends[i]);
  }
  for (size_t i : {0, 4, 5})
    EXPECT_TRUE(std::isnan(upd_rule_probe_end(rule.get(), i))) << i;
  EXPECT_TRUE(std::isnan(upd_rule_probe_end(nullptr, 0)));
  EXPECT_THAT(
      upd_rule_interface(rule.get()),
      HasSubstr(R"("probes":["moved",{"name":"sizes","bounds":[1.0,2.5]},"gradient_norm"])"));
  grads[1][0] = std::numeric_limits<float>::quiet_NaN();
  grads[1][1] = std::numeric_limits<float>::infinity();
  grads[1][2] = -std::numeric_limits<float>::infinity();
  ASSERT_NO_FATAL_FAILURE(create());
  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(read());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(std::vector(values.begin() + 1, values.begin() + 4), ElementsAre(0, 3, 0));
  EXPECT_THAT(std::vector(values.begin() + 6, values.begin() + 9), ElementsAre(1, 0, 2));
}

TEST_F(Probes, AreOfEveryNthStep) {
  ASSERT_EQ(compile({}), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  uint64_t every = 0;
  ASSERT_EQ(upd_optimizer_get_probe_every(optimizer.get(), &every), UPD_OK);
  EXPECT_EQ(every, 1u);
  ASSERT_EQ(upd_optimizer_set_probe_every(optimizer.get(), 3), UPD_OK);
  for (int i = 0; i < 7; ++i)
    ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(read());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].step, 3);
  EXPECT_EQ(rows[3].step, 6);
  ASSERT_EQ(upd_optimizer_set_probe_every(optimizer.get(), 0), UPD_OK);
  for (int i = 0; i < 5; ++i)
    ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(read());
  EXPECT_TRUE(rows.empty());
  // Each step counted, probed or not.
  EXPECT_EQ(data[1][0], 2 - 12 * 0.5F * 4);
}

// Steps with and without probes have plans of their own, which follow what has changed.
TEST_F(Probes, DontChangeStepsBetweenProbedOnes) {
  constexpr const char *rules[] = {R"(
rule Momentum(lr = 0.5) {
  state average = 0
  update(param, grad, step) {
    let next_average = 0.75 * average + grad / step
    next average = next_average
    next param = param - lr * next_average
  }
}
)",
                                   R"(
rule Skipping(lr = 0.5) {
  state seen over tensor = 1
  update(param, grad, step) {
    let length = norm(grad)
    skip when length > 45 && length < 60
    next seen = 0.5 * seen + length
    next param = param - lr * grad / (seen + step)
  }
}
)"};
  constexpr int last = 40, infinite = 29;
  // The parameters and step counts after all steps, of which every `every`th is probed.
  auto run = [&](const char *source, uint64_t every) {
    EXPECT_EQ(compile({"gradient_norm"}, source), UPD_OK) << upd_last_error();
    std::fill_n(&data[0][0], 8, 1.0f);
    create();
    EXPECT_EQ(upd_optimizer_set_probe_every(optimizer.get(), every), UPD_OK);
    float foundInf = 0;
    upd_tensor flag{};
    flag.data = &foundInf;
    flag.device = UPD_CPU;
    EXPECT_EQ(upd_optimizer_bind_found_inf(optimizer.get(), &flag), UPD_OK) << upd_last_error();
    float moved[2][4];
    for (int i = 1; i <= last; ++i) {
      // The gradients move from one step to the next, and one is absent at times.
      const void *addresses[] = {i % 5 == 0 ? moved[0] : grads[0], i % 11 == 0 ? nullptr
                                                                   : i % 7 < 3 ? moved[1]
                                                                               : grads[1]};
      for (int j = 0; j < 8; ++j) {
        moved[j / 4][j % 4] = static_cast<float>(i + j);
        grads[j / 4][j % 4] = static_cast<float>(i - j);
      }
      foundInf = i == infinite ? 1 : 0;
      if (i == 17)
        EXPECT_EQ(upd_optimizer_set_step(optimizer.get(), 0, 3), UPD_OK) << upd_last_error();
      EXPECT_EQ(upd_optimizer_prepare_addresses(optimizer.get(), addresses, 2, nullptr, 0), UPD_OK)
          << upd_last_error();
      if (i == 23) // a step that is prepared and given up
        EXPECT_EQ(upd_optimizer_prepare_addresses(optimizer.get(), addresses, 2, nullptr, 0),
                  UPD_OK)
            << upd_last_error();
      EXPECT_EQ(upd_optimizer_apply(optimizer.get()), UPD_OK) << upd_last_error();
    }
    cursor = 0;
    read();
    std::vector<float> result(&data[0][0], &data[0][0] + 8);
    int64_t steps[2];
    EXPECT_EQ(upd_optimizer_get_steps(optimizer.get(), steps, 2), UPD_OK) << upd_last_error();
    EXPECT_EQ(steps[0] < last - 14, source == rules[1]) << "some steps are skipped";
    result.insert(result.end(), {static_cast<float>(steps[0]), static_cast<float>(steps[1])});
    return result;
  };
  for (const char *source : rules) {
    const std::vector<float> expected = run(source, 0);
    EXPECT_TRUE(rows.empty());
    for (const uint64_t every : {1, 2, 3, 4, 20}) {
      EXPECT_EQ(run(source, every), expected) << every;
      size_t wanted = 0;
      for (uint64_t i = every; i <= last; i += every)
        wanted += i == infinite ? 0 : i % 11 == 0 ? 1 : 2;
      EXPECT_EQ(rows.size(), wanted) << every;
    }
  }
}

TEST_F(Probes, AreNaNIfTheyWereNotComputed) {
  // The spread is of the sweep after the one that knows the sum.
  ASSERT_EQ(compile({"spread = norm(grad - mean(grad))", "gradient_norm"}, R"(
rule Careful(lr = 0.5) {
  update(param, grad) {
    skip when sum(grad) > 6
    next param = param - lr * grad
  }
}
)"),
            UPD_OK)
      << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(read());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(values[0], std::sqrt(6.) / 3, 1e-6);
  EXPECT_EQ(rows[1].step, 1);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 5);
  EXPECT_EQ(data[1][0], 2);
}

TEST_F(Probes, AreNotOfStepsThatFoundInfTurnsOff) {
  ASSERT_EQ(compile({}), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  float found = 1;
  upd_tensor tensor{};
  tensor.data = &found;
  tensor.device = UPD_CPU;
  ASSERT_EQ(upd_optimizer_bind_found_inf(optimizer.get(), &tensor), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(read());
  EXPECT_TRUE(rows.empty());
}

TEST_F(Probes, LoseTheOldestRowsOfASlowReader) {
  ASSERT_EQ(compile({}), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  constexpr size_t kept = 16384, steps = 9000;
  for (size_t i = 0; i < steps; ++i)
    ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(read(3 * kept));
  EXPECT_EQ(rows.size(), kept);
  EXPECT_EQ(lost, 2 * steps - kept);
  EXPECT_EQ(rows.back().step, int64_t(steps));
}

TEST_F(Probes, AreReadWhileAnotherThreadSteps) {
  ASSERT_EQ(compile({"gradient_norm"}), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  std::atomic<bool> isDone = false;
  size_t count = 0, wrong = 0;
  std::thread reader([&] {
    std::vector<upd_probe_row> some(64);
    std::vector<double> numbers(some.size() * 2);
    uint64_t place = 0;
    for (bool last = false; !last;) {
      last = isDone;
      for (size_t found = 1; found != 0;) {
        wrong += upd_optimizer_read_probes(optimizer.get(), &place, some.data(), numbers.data(),
                                           some.size(), &found, nullptr) != UPD_OK;
        for (size_t i = 0; i < found; ++i)
          wrong += numbers[2 * i + 1] != (some[i].param == 0 ? 3 : 5);
        count += found;
      }
    }
  });
  for (int i = 0; i < 2000; ++i)
    step();
  isDone = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(count, 4000u);
}

TEST_F(Probes, AreRefusedAtTheirPlace) {
  EXPECT_EQ(compile({"gradient_norm", "size = norm(gard)"}), UPD_COMPILE_ERROR);
  EXPECT_STREQ(upd_last_error(), "<probe>:1:13: error: unknown name `gard`; did you mean `grad`?\n"
                                 "size = norm(gard)\n"
                                 "            ^~~~\n");
  EXPECT_EQ(compile({nullptr}), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "probe 0 is null");
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.probe_count = 1;
  upd_rule *made = nullptr;
  EXPECT_EQ(upd_compile(descent, std::strlen(descent), nullptr, &options, &made),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "probes is null, but probe_count is not 0");
}

TEST_F(Probes, RefuseNull) {
  ASSERT_EQ(compile({}), UPD_OK) << upd_last_error();
  ASSERT_NO_FATAL_FAILURE(create());
  size_t count = 0;
  EXPECT_EQ(upd_optimizer_read_probes(nullptr, &cursor, nullptr, nullptr, 0, &count, nullptr),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "optimizer is null");
  EXPECT_EQ(
      upd_optimizer_read_probes(optimizer.get(), nullptr, nullptr, nullptr, 0, &count, nullptr),
      UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "cursor or count is null");
  EXPECT_EQ(
      upd_optimizer_read_probes(optimizer.get(), &cursor, nullptr, nullptr, 1, &count, nullptr),
      UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "rows or values, where the result goes, is null");
  EXPECT_EQ(upd_optimizer_get_probe_every(optimizer.get(), nullptr), UPD_INVALID_ARGUMENT);
}

TEST_F(Probes, AreAPartOfTheCachedRule) {
  for (size_t probes : {size_t(0), size_t(1), size_t(0)}) {
    ASSERT_EQ(compile(std::vector<const char *>(probes, "gradient_norm")), UPD_OK);
    EXPECT_EQ(upd_rule_probe_count(rule.get()), 1 + probes);
  }
}

// The two compilations have different code of the rule and of the probe.
TEST_F(Probes, MayHaveCodeForEachKindOfTensor) {
  const char *source = R"(
fn by_shape(grad, matrix) = if matrix then norm(grad) else 0
rule Descent(lr = 0.5) {
  update(param, grad) { next param = param - (if matrix then lr / 2 else lr) * grad }
}
)";
  for (upd_tensors tensors : {UPD_VECTORS, UPD_MATRICES}) {
    ASSERT_EQ(compile({"by_shape"}, source, tensors), UPD_OK) << upd_last_error();
    const int64_t shape[] = {2, 2};
    upd_tensor param{};
    param.data = data[1];
    param.shape = shape;
    param.rank = tensors == UPD_MATRICES ? 2 : 1;
    param.device = UPD_CPU;
    upd_group group{&param, nullptr, 1, nullptr, 0};
    upd_optimizer *stepper = nullptr;
    ASSERT_EQ(upd_optimizer_create(rule.get(), &group, 1, nullptr, &stepper), UPD_OK)
        << upd_last_error();
    optimizer.reset(stepper);
  }
}

TEST_F(Probes, AddNoSweep) {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  const char *probes[] = {"update_ratio", "gradient_norm", "non_finite", "largest_update"};
  options.probes = probes;
  options.probe_count = 4;
  char *text = nullptr;
  ASSERT_EQ(upd_emit(descent, std::strlen(descent), "test.upd", &options, "explain", &text), UPD_OK)
      << upd_last_error();
  const std::string explained = text;
  upd_string_release(text);
  EXPECT_THAT(explained, HasSubstr("sweep 0"));
  EXPECT_THAT(explained, testing::Not(HasSubstr("sweep 1")));
}

} // namespace
