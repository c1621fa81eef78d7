//===- CompilerTest.cpp - updraft-c/compiler.h ------------------------------------------------===//

#include "updraft-c/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using testing::HasSubstr;
using testing::StartsWith;

namespace {
constexpr const char *momentum = R"(
rule Momentum(lr = 0.1, beta = 0.9, static maximize = false)
  require lr >= 0 else "Invalid learning rate: {lr}"
{
  state velocity = 0
  update(param, grad, step) {
    let g = if maximize then -grad else grad
    let v = beta * velocity + g
    next velocity = v
    next param    = param - lr * v
  }
}
)";

upd_compile_options withoutCache() {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.cache_dir = "";
  return options;
}

struct RuleHandle {
  ~RuleHandle() { upd_rule_release(rule); }
  upd_rule *rule = nullptr;
};

upd_status compile(const char *source, const upd_compile_options &options, RuleHandle &handle) {
  return upd_compile(source, std::strlen(source), "test.upd", &options, &handle.rule);
}

TEST(CompilerCAPI, DescribesTheRule) {
  RuleHandle handle;
  upd_storage storage[] = {{"param", "bf16"}, {"state", "f32"}};
  upd_compile_options options = withoutCache();
  options.storage = storage;
  options.storage_count = 2;
  ASSERT_EQ(compile(momentum, options, handle), UPD_OK) << upd_last_error();
  EXPECT_STREQ(upd_rule_name(handle.rule), "Momentum");
  ASSERT_EQ(upd_rule_hyper_count(handle.rule), 2u);
  EXPECT_STREQ(upd_rule_hyper_name(handle.rule, 1), "beta");
  EXPECT_EQ(upd_rule_hyper_default(handle.rule, 1), 0.9);
  EXPECT_EQ(upd_rule_hyper_name(handle.rule, 2), nullptr);
  ASSERT_EQ(upd_rule_state_count(handle.rule), 1u);
  EXPECT_EQ(std::string(upd_rule_interface(handle.rule)).rfind(R"({"format":4,"name":")", 0), 0u);
  EXPECT_EQ(upd_rule_interface(nullptr), nullptr);
  EXPECT_STREQ(upd_rule_state_name(handle.rule, 0), "velocity");
  EXPECT_EQ(upd_rule_state_dtype(handle.rule, 0), UPD_F32);
  EXPECT_EQ(upd_rule_param_dtype(handle.rule), UPD_BF16);
  EXPECT_EQ(upd_rule_grad_dtype(handle.rule), UPD_F32);
  EXPECT_EQ(upd_rule_device(handle.rule), UPD_CPU);
  EXPECT_STREQ(upd_rule_target(handle.rule), "host");
  EXPECT_EQ(upd_rule_compute_dtype(handle.rule), UPD_F32);
  EXPECT_STREQ(upd_rule_numerics(handle.rule), "ieee");
  EXPECT_EQ(upd_rule_depends_on(handle.rule), UPD_EXTENT_ELEMENT);
  EXPECT_EQ(upd_rule_uses_rows(handle.rule), 0);
  EXPECT_EQ(upd_rule_state_extent(handle.rule, 0), UPD_EXTENT_ELEMENT);
  EXPECT_EQ(upd_rule_state_tensors(handle.rule, 0), UPD_ALL_TENSORS);
}

TEST(CompilerCAPI, HasADescriptor) {
  RuleHandle handle;
  ASSERT_EQ(compile(momentum, withoutCache(), handle), UPD_OK) << upd_last_error();
  size_t size = 0;
  const upd_descriptor *descriptor = upd_rule_descriptor(handle.rule, &size);
  ASSERT_NE(descriptor, nullptr);
  EXPECT_STREQ(descriptor->magic, UPD_DESCRIPTOR_MAGIC);
  EXPECT_EQ(descriptor->major, UPD_DESCRIPTOR_MAJOR);
  EXPECT_EQ(descriptor->size, size);
  EXPECT_EQ(upd_rule_descriptor(handle.rule, nullptr), descriptor);
  EXPECT_EQ(upd_rule_descriptor(nullptr, &size), nullptr);
  EXPECT_EQ(size, 0u);
}

TEST(CompilerCAPI, DescribesStatesOfRowsAndFlags) {
  RuleHandle handle;
  ASSERT_EQ(compile("rule R(lr = 1, static fast = lr > 2) {\n"
                    "  state r over row = 0 when matrix\n"
                    "  state n over group = 0\n"
                    "  update(param, grad) {\n"
                    "    next n = n + 1\n"
                    "    next r = row_sum(grad) when matrix\n"
                    "    next param = if fast then param else param - lr * grad\n"
                    "  }\n"
                    "}\n",
                    withoutCache(), handle),
            UPD_OK)
      << upd_last_error();
  ASSERT_EQ(upd_rule_state_count(handle.rule), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const bool isRow = std::strcmp(upd_rule_state_name(handle.rule, i), "r") == 0;
    EXPECT_EQ(upd_rule_state_extent(handle.rule, i), isRow ? UPD_EXTENT_ROW : UPD_EXTENT_GROUP);
    EXPECT_EQ(upd_rule_state_tensors(handle.rule, i), isRow ? UPD_MATRICES : UPD_ALL_TENSORS);
  }
  EXPECT_EQ(upd_rule_depends_on(handle.rule), UPD_EXTENT_GROUP);
  EXPECT_EQ(upd_rule_uses_rows(handle.rule), 1);
  EXPECT_EQ(upd_rule_hyper_decides_flag(handle.rule, 0), 1);
  EXPECT_EQ(upd_rule_hyper_decides_flag(handle.rule, 1), 0);
  ASSERT_EQ(upd_rule_static_count(handle.rule), 1u);
  EXPECT_STREQ(upd_rule_static_name(handle.rule, 0), "fast");
  EXPECT_STREQ(upd_rule_static_value(handle.rule, 0), "false");
  EXPECT_EQ(upd_rule_static_name(handle.rule, 1), nullptr);
}

TEST(CompilerCAPI, DefaultsMayBeInfinite) {
  RuleHandle handle;
  ASSERT_EQ(compile("rule R(low = -1/0, high = 1/0) { update(param, grad) { next param = "
                    "clamp(param - grad, low, high) } }",
                    withoutCache(), handle),
            UPD_OK)
      << upd_last_error();
  EXPECT_EQ(upd_rule_hyper_default(handle.rule, 0), -INFINITY);
  EXPECT_EQ(upd_rule_hyper_default(handle.rule, 1), INFINITY);
}

TEST(CompilerCAPI, RemembersInMemory) {
  RuleHandle first, second;
  upd_setting setting{"lr", "0.0625"};
  upd_compile_options options = withoutCache();
  options.settings = &setting;
  options.setting_count = 1;
  ASSERT_EQ(compile(momentum, options, first), UPD_OK) << upd_last_error();
  ASSERT_EQ(compile(momentum, options, second), UPD_OK) << upd_last_error();
  EXPECT_EQ(upd_rule_origin(first.rule), UPD_COMPILED);
  EXPECT_EQ(upd_rule_origin(second.rule), UPD_FROM_MEMORY);
  EXPECT_EQ(upd_rule_hyper_default(second.rule, 0), 0.0625);
}

TEST(CompilerCAPI, ErrorsAreLocated) {
  RuleHandle handle;
  std::string source = momentum;
  source.replace(source.find("beta * velocity"), 15, "beta * velocty ");
  EXPECT_EQ(compile(source.c_str(), withoutCache(), handle), UPD_COMPILE_ERROR);
  EXPECT_EQ(handle.rule, nullptr);
  EXPECT_THAT(upd_last_error(), StartsWith("test.upd:8:20: error: unknown name `velocty`; did you "
                                           "mean `velocity`?\n"));
}

TEST(CompilerCAPI, ErrorsShowWhereAGeneratedTextComesFrom) {
  RuleHandle handle;
  std::string source = "rule R() { update(param, grad) { next param = grda } }";
  std::string python = "def r(param, grad):\n    return grda\n";
  // Without a null character at its end.
  upd_source_file file{"r.py", python.data(), python.size() - 1};
  size_t begin = source.find("grda");
  upd_source_span span{begin, begin + 4, 0, 31, 35, 0};
  upd_source_map map{&file, 1, &span, 1};
  upd_compile_options options = withoutCache();
  options.origins = &map;
  EXPECT_EQ(compile(source.c_str(), options, handle), UPD_COMPILE_ERROR);
  EXPECT_STREQ(upd_last_error(), "r.py:2:12: error: unknown name `grda`; did you mean `grad`?\n"
                                 "    return grda\n           ^~~~\n");
}

TEST(CompilerCAPI, TheCodeDoesNotDependOnOrigins) {
  RuleHandle first, second;
  upd_setting setting{"lr", "0.03125"};
  upd_compile_options options = withoutCache();
  options.settings = &setting;
  options.setting_count = 1;
  ASSERT_EQ(compile(momentum, options, first), UPD_OK) << upd_last_error();
  upd_source_file file{"r.py", "text", 4};
  upd_source_span span{0, 10, 0, 0, 4, 0};
  upd_source_map map{&file, 1, &span, 1};
  options.origins = &map;
  ASSERT_EQ(compile(momentum, options, second), UPD_OK) << upd_last_error();
  EXPECT_EQ(upd_rule_origin(second.rule), UPD_FROM_MEMORY);
}

TEST(CompilerCAPI, BadOriginsAreRefused) {
  upd_source_file file{"r.py", "text", 4};
  upd_source_span span{0, 10, 0, 0, 4, 0};
  auto refusalOf = [&](upd_source_map map) -> std::string {
    RuleHandle handle;
    upd_compile_options options = withoutCache();
    options.origins = &map;
    EXPECT_EQ(compile(momentum, options, handle), UPD_INVALID_ARGUMENT);
    return upd_last_error();
  };
  EXPECT_EQ(refusalOf({nullptr, 1, nullptr, 0}),
            "origins: files or spans is null, but its count is not 0");
  EXPECT_EQ(refusalOf({&file, 1, nullptr, 1}),
            "origins: files or spans is null, but its count is not 0");
  EXPECT_EQ(refusalOf({nullptr, 0, &span, 1}), "origins: span 0 is from file 0, but there are 0");
  file.text = nullptr;
  EXPECT_EQ(refusalOf({&file, 1, &span, 1}), "origins: path or text of file 0 is null");
  file = {nullptr, "text", 4};
  EXPECT_EQ(refusalOf({&file, 1, &span, 1}), "origins: path or text of file 0 is null");
  file = {"r.py", "text", SIZE_MAX};
  EXPECT_EQ(refusalOf({&file, 1, &span, 1}), "origins: file 0 has more than 2147483647 bytes");
  file = {"r.py", "text", 4};
  span.origin_end = SIZE_MAX;
  EXPECT_EQ(refusalOf({&file, 1, &span, 1}),
            "origins: span 0 is from [0, 4294967295) of a file of 4 bytes");
  span.origin_end = 4;
  span.end = SIZE_MAX;
  EXPECT_EQ(refusalOf({&file, 1, &span, 1}), "origins: span 0 is [0, 4294967295) of a text of " +
                                                 std::to_string(std::strlen(momentum)) + " bytes");
}

TEST(CompilerCAPI, BadArgumentsAreRefused) {
  RuleHandle handle;
  upd_compile_options options = withoutCache();
  EXPECT_EQ(upd_compile(nullptr, 0, nullptr, nullptr, &handle.rule), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "source is null");
  EXPECT_EQ(upd_compile(momentum, std::strlen(momentum), nullptr, nullptr, nullptr),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "rule, where the result goes, is null");

  options.tensors = static_cast<upd_tensors>(3);
  EXPECT_EQ(compile(momentum, options, handle), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "unknown tensors 3; the values are those of upd_tensors");

  options = withoutCache();
  options.numerics = "sloppy";
  EXPECT_EQ(compile(momentum, options, handle), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "unknown numerics mode `sloppy`; the modes are `ieee`, `torch`, `fast`");

  options = withoutCache();
  options.setting_count = 1;
  EXPECT_EQ(compile(momentum, options, handle), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "settings or storage is null, but its count is not 0");

  upd_storage storage{"param", "f8"};
  options = withoutCache();
  options.storage = &storage;
  options.storage_count = 1;
  EXPECT_EQ(compile(momentum, options, handle), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(),
               "unknown storage type `f8`; the types are `f32`, `f64`, `bf16`, `f16`, "
               "`bf16_stochastic`, `bf16_corrected`, `q8_linear`, `q8_companded`");
  storage.type = nullptr;
  EXPECT_EQ(compile(momentum, options, handle), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "name or type of storage 0 is null");

  EXPECT_EQ(upd_compile_file("/nonexistent.upd", nullptr, &handle.rule), UPD_NOT_FOUND);
  EXPECT_STREQ(upd_last_error(), "cannot read `/nonexistent.upd`: No such file or directory");
  EXPECT_EQ(upd_compile_file("/", nullptr, &handle.rule), UPD_IO_ERROR);
  EXPECT_EQ(upd_compile_file("/dev/zero", nullptr, &handle.rule), UPD_COMPILE_ERROR);
  EXPECT_THAT(upd_last_error(), HasSubstr("at most 65536 are allowed"));
}

TEST(CompilerCAPI, ChecksHyperparametersAsAnOptimizerDoes) {
  RuleHandle handle;
  ASSERT_EQ(compile(momentum, withoutCache(), handle), UPD_OK) << upd_last_error();
  auto refusalOf = [&](std::vector<upd_hyper> hypers, upd_status expected) -> std::string {
    EXPECT_EQ(upd_rule_check_hypers(handle.rule, hypers.data(), hypers.size()), expected);
    return upd_last_error();
  };
  refusalOf({}, UPD_OK);
  refusalOf({{"lr", 0}, {"beta", 2}}, UPD_OK);
  EXPECT_EQ(refusalOf({{"lr", -1}}, UPD_INVALID_ARGUMENT), "Invalid learning rate: -1.0");
  EXPECT_EQ(refusalOf({{"beta", NAN}}, UPD_INVALID_ARGUMENT), "hyperparameter `beta` is NaN");
  EXPECT_EQ(refusalOf({{"lr", 1}, {"lr", 2}}, UPD_INVALID_ARGUMENT),
            "hyperparameter `lr` is given twice; give it once");
  EXPECT_EQ(refusalOf({{"rate", 1}}, UPD_NOT_FOUND),
            "rule `Momentum` has no hyperparameter `rate`; there are `lr`, `beta`");
  EXPECT_EQ(upd_rule_check_hypers(handle.rule, nullptr, 2), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "hypers is null, but hyper_count is 2");
  EXPECT_EQ(upd_rule_check_hypers(nullptr, nullptr, 0), UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "rule is null");
}

TEST(CompilerCAPI, NullHandlesAreHarmless) {
  upd_rule_release(nullptr);
  upd_string_release(nullptr);
  EXPECT_EQ(upd_rule_name(nullptr), nullptr);
  EXPECT_EQ(upd_rule_hyper_count(nullptr), 0u);
  EXPECT_EQ(upd_rule_state_name(nullptr, 0), nullptr);
  EXPECT_EQ(upd_rule_device(nullptr), UPD_CPU);
}

TEST(CompilerCAPI, EmitsEveryStage) {
  const std::pair<const char *, const char *> stages[] = {{"ast", "Momentum"},
                                                          {"updraft", "updraft.rule @Momentum"},
                                                          {"schedule", "updraft.sweep"},
                                                          {"loops", "scf.for"},
                                                          {"llvm", "define"},
                                                          {"asm", "Momentum_sweep0"},
                                                          {"explain", "1 sweep over data"}};
  upd_compile_options options = withoutCache();
  for (auto [stage, expected] : stages) {
    char *text = nullptr;
    ASSERT_EQ(upd_emit(momentum, std::strlen(momentum), nullptr, &options, stage, &text), UPD_OK)
        << stage << ": " << upd_last_error();
    EXPECT_THAT(text, HasSubstr(expected)) << stage;
    upd_string_release(text);
  }
  char *text = nullptr;
  EXPECT_EQ(upd_emit(momentum, std::strlen(momentum), nullptr, &options, "obj", &text),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "unknown stage `obj`; the stages are `ast`, `updraft`, `torch`, "
                                 "`schedule`, `loops`, `llvm`, `asm`, `gpu`, `nvvm`, `ptx`, "
                                 "`explain`");
  EXPECT_EQ(upd_emit(momentum, std::strlen(momentum), nullptr, &options, "ptx", &text),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "the stage `ptx` is one of GPUs, and the target is a CPU; give a "
                                 "GPU as the target, such as `nvptx:sm_90`");
  options.target = "nvptx:sm_90";
  ASSERT_EQ(upd_emit(momentum, std::strlen(momentum), nullptr, &options, "ptx", &text), UPD_OK);
  EXPECT_THAT(text, HasSubstr(".target sm_90"));
  upd_string_release(text);
  // The message doesn't list stages that only updraftc can write.
  const struct {
    const char *target, *stage, *message;
  } refused[] = {{"nvptx:sm_90", "asm",
                  "the target `nvptx:sm_90` has no stage `asm`; from `schedule` on it has "
                  "`gpu`, `nvvm` and `ptx`"},
                 {"emulator", "ptx",
                  "the target `emulator` has no stage `ptx`; from `schedule` on it has `gpu`, "
                  "`loops`, `llvm` and `asm`"}};
  for (auto [target, stage, message] : refused) {
    options.target = target;
    EXPECT_EQ(upd_emit(momentum, std::strlen(momentum), nullptr, &options, stage, &text),
              UPD_INVALID_ARGUMENT);
    EXPECT_STREQ(upd_last_error(), message);
  }
}

TEST(CompilerCAPI, ReportsAreDocumentsAndPages) {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.target = "emulator";
  char *document = nullptr;
  ASSERT_EQ(upd_report(momentum, std::strlen(momentum), nullptr, &options, /*also_for=*/nullptr,
                       &document),
            UPD_OK)
      << upd_last_error();
  EXPECT_THAT(document, HasSubstr("\"format\":1"));
  char *page = nullptr;
  ASSERT_EQ(upd_report_page(document, document, &page), UPD_OK) << upd_last_error();
  EXPECT_THAT(page, HasSubstr("<!DOCTYPE html>"));
  // A page is as good as its document.
  char *again = nullptr;
  ASSERT_EQ(upd_report_page(page, document, &again), UPD_OK) << upd_last_error();
  EXPECT_STREQ(again, page);
  for (char *text : {document, page, again})
    upd_string_release(text);

  EXPECT_EQ(upd_report(momentum, std::strlen(momentum), nullptr, &options, "nvptx:sm_90", &page),
            UPD_INVALID_ARGUMENT);
  EXPECT_STREQ(upd_last_error(), "cannot add the stages of `nvptx:sm_90`: a report for a CPU can "
                                 "also have those of a GPU, such as `nvptx:sm_90`");
  for (const char *wrong : {"", "[]", "{\"format\":2}", "{\"format\":1,\"texts\":\"?\"}"}) {
    EXPECT_EQ(upd_report_page(wrong, nullptr, &page), UPD_INVALID_ARGUMENT) << wrong;
    EXPECT_THAT(upd_last_error(), HasSubstr("not a report of Updraft")) << wrong;
  }
  EXPECT_EQ(upd_report_page(nullptr, nullptr, &page), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_report(momentum, std::strlen(momentum), nullptr, &options, nullptr, nullptr),
            UPD_INVALID_ARGUMENT);
}

TEST(CompilerCAPI, ReportsHaveRuns) {
  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.target = "emulator";
  char *document = nullptr;
  ASSERT_EQ(upd_report(momentum, std::strlen(momentum), nullptr, &options, nullptr, &document),
            UPD_OK)
      << upd_last_error();
  const char *table = "step,parameter,x\n1,w,0.5\n2,w,1.5\nnot read";
  upd_run_file file{"a.csv", table, std::strlen(table) - std::strlen("not read")};
  char *withRun = nullptr, *page = nullptr, *again = nullptr, *none = nullptr;
  ASSERT_EQ(upd_report_add_run(document, &file, 1, &withRun), UPD_OK) << upd_last_error();
  EXPECT_THAT(withRun, HasSubstr(R"("values":[["0.5 1.5"]])"));
  // The run of a page replaces the one that it has.
  ASSERT_EQ(upd_report_page(withRun, nullptr, &page), UPD_OK) << upd_last_error();
  ASSERT_EQ(upd_report_add_run(page, &file, 1, &again), UPD_OK) << upd_last_error();
  EXPECT_STREQ(again, withRun);

  file.text = "step,parameter,x\n1,w\n";
  file.length = std::strlen(file.text);
  EXPECT_EQ(upd_report_add_run(document, &file, 1, &none), UPD_INVALID_ARGUMENT);
  EXPECT_THAT(upd_last_error(), HasSubstr("a.csv:2:1: expected 3 fields, found 2"));
  EXPECT_EQ(upd_report_add_run(document, nullptr, 1, &none), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_report_add_run(document, &file, 0, &none), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_report_add_run("{}", &file, 1, &none), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(upd_report_add_run(nullptr, &file, 1, &none), UPD_INVALID_ARGUMENT);
  file.text = nullptr;
  EXPECT_EQ(upd_report_add_run(document, &file, 1, &none), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  for (char *text : {document, withRun, page, again})
    upd_string_release(text);
}

TEST(CompilerCAPI, ThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 4; ++i) {
        RuleHandle handle;
        std::string lr = "0." + std::to_string(1 + (t + i) % 5);
        upd_setting setting{"lr", lr.c_str()};
        upd_compile_options options = withoutCache();
        options.settings = &setting;
        options.setting_count = 1;
        ASSERT_EQ(compile(momentum, options, handle), UPD_OK) << upd_last_error();
        EXPECT_EQ(upd_rule_hyper_default(handle.rule, 0), std::stod(lr));
        RuleHandle bad;
        EXPECT_EQ(compile("rule", withoutCache(), bad), UPD_COMPILE_ERROR);
        EXPECT_THAT(upd_last_error(), StartsWith("test.upd:1:"));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
} // namespace
