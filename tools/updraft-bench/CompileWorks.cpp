//===- CompileWorks.cpp - Benchmarks of the compiler ------------------------------------------===//
// Each round measures the first compilation in a fresh process, which prints its own time. This
// times the call without the start of the program.

#include "PTXCompilation.h"
#include "Probe.h"
#include "Stepper.h"
#include "Work.h"
#include "tools/harness/TemporaryFolder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

using namespace updraft::bench;
namespace fs = std::filesystem;
namespace harness = updraft::harness;

namespace {
double compileMs(const std::string &ruleFile, const std::string &cacheDir,
                 const std::string &learningRate = "") {
  harness::RuleRequest request{ruleFile};
  if (!learningRate.empty())
    request.settings.emplace_back("lr", learningRate);
  auto start = std::chrono::steady_clock::now();
  const harness::Rule rule = harness::compile(request, "", cacheDir.c_str());
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  return time.count();
}

/// `rule` is the name of a file in the folder of rules.
double firstMs(const BenchOptions &options, const std::string &rule, const std::string &cacheDir) {
  return probe(fmt::format("'{}' --compile-probe '{}/{}.upd' --probe-cache '{}'", options.self,
                           options.rulesDir, rule, cacheDir))[0];
}

Contestant probed(const BenchOptions &options, std::string impl, std::string rule,
                  std::string cacheDir) {
  return {std::move(impl), "f32",
          [&options, rule = std::move(rule), cacheDir = std::move(cacheDir)](int count) {
            double total = 0;
            for (int i = 0; i < count; ++i)
              total += firstMs(options, rule, cacheDir);
            return total / count * 1e-3;
          }};
}

/// Compiles a rule with the hyperparameter `lr` in this process, each time with another default, so
/// that the memory cache never has it.
Contestant compiledNext(const BenchOptions &options, const std::string &rule) {
  return {"next", "f32",
          [next = 0, file = fmt::format("{}/{}.upd", options.rulesDir, rule)](int count) mutable {
            double total = 0;
            for (int i = 0; i < count; ++i) {
              total += compileMs(file, "", fmt::format("{}", 1e-3 + 1e-9 * ++next));
            }
            return total / count * 1e-3;
          }};
}

std::vector<Row> runCompile(const BenchOptions &options) {
  const harness::TemporaryFolder cache;
  firstMs(options, "adamw", cache.path()); // fills the cache
  std::vector<Contestant> contestants{probed(options, "first", "adamw", ""),
                                      compiledNext(options, "adamw"),
                                      probed(options, "from disk", "adamw", cache.path())};
  return race("compile-adamw", std::move(contestants), options.quick ? 3 : 21,
              options.quick ? 1e-9 : 5e-2);
}

/// Compiles for a GPU, which needn't exist: LLVM generates the PTX in this process.
std::vector<Row> runCompilePTX(const BenchOptions &options) {
  const std::string file = options.rulesDir + "/adamw.upd";
  auto first = [&](int count) {
    double total = 0;
    for (int i = 0; i < count; ++i)
      total += probe(fmt::format("'{}' --ptx-probe '{}'", options.self, file))[0];
    return total / count * 1e-3;
  };
  auto next = [&, made = 0](int count) mutable {
    double total = 0;
    for (int i = 0; i < count; ++i)
      total += compilePTXMs(file, fmt::format("{}", 1e-3 + 1e-9 * ++made));
    return total / count * 1e-3;
  };
  std::vector<Row> rows =
      race("compile-ptx-adamw", {{"first", "f32", first}, {"next", "f32", next}},
           options.quick ? 3 : 21, options.quick ? 1e-9 : 5e-2);
  rows[0].figure = Figure{"ms", rows[0].medianMs, 30, /*atLeast=*/false};
  return rows;
}

/// Compiles every rule in the folder.
std::vector<Row> runCompileAll(const BenchOptions &options) {
  std::vector<std::string> rules;
  for (const fs::directory_entry &entry : fs::directory_iterator(options.rulesDir))
    if (entry.path().extension() == ".upd")
      rules.push_back(entry.path().stem().string());
  std::sort(rules.begin(), rules.end());
  std::vector<Row> rows;
  for (const std::string &rule : rules) {
    std::vector<Contestant> contestants{probed(options, "first", rule, ""),
                                        compiledNext(options, rule)};
    auto more = race("compile-" + rule, std::move(contestants), options.quick ? 1 : 5, 1e-9);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}
} // namespace

int updraft::bench::compileProbe(const std::string &ruleFile, const std::string &cacheDir) {
  fmt::print("{}\n", compileMs(ruleFile, cacheDir));
  return 0;
}

int updraft::bench::ptxProbe(const std::string &ruleFile) {
  fmt::print("{}\n", compilePTXMs(ruleFile));
  return 0;
}

std::vector<Work> updraft::bench::compileWorks() {
  return {
      {"compile-adamw", "compile adamw: first in a process, next, from the disk cache", runCompile},
      {"compile-ptx-adamw", "compile adamw to PTX: first in a process, next", runCompilePTX},
      {"compile-rules", "compile every shipped rule: first in a process, next", runCompileAll}};
}
