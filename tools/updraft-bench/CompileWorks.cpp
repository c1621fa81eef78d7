//===- CompileWorks.cpp - Works that time the compiler ----------------------------------------===//
// The first compilation of a process is measured in a fresh process each round, which prints its
// own time: what counts is the call, not the start of the program.

#include "Stepper.h"
#include "Work.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

using namespace updraft::bench;
namespace fs = std::filesystem;

namespace {
double compileMs(const std::string &ruleFile, const std::string &cacheDir,
                 const upd_setting *setting = nullptr) {
  upd_compile_options options{sizeof(upd_compile_options),
                              nullptr,
                              setting,
                              static_cast<size_t>(setting != nullptr),
                              nullptr,
                              0,
                              nullptr,
                              cacheDir.c_str()};
  upd_rule *rule = nullptr;
  auto start = std::chrono::steady_clock::now();
  check(upd_compile_file(ruleFile.c_str(), &options, &rule));
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  upd_rule_release(rule);
  return time.count();
}

double probe(const BenchOptions &options, const std::string &cacheDir) {
  std::string command = fmt::format("'{}' --compile-probe '{}/adamw.upd' --probe-cache '{}'",
                                    options.self, options.rulesDir, cacheDir);
  FILE *pipe = ::popen(command.c_str(), "r");
  double ms = 0;
  bool read = pipe && std::fscanf(pipe, "%lf", &ms) == 1;
  if (!pipe || ::pclose(pipe) != 0 || !read)
    throw std::runtime_error("the process that measures a compilation failed: " + command);
  return ms;
}

Contestant probed(const BenchOptions &options, std::string impl, std::string cacheDir) {
  return {std::move(impl), "f32", [&options, cacheDir = std::move(cacheDir)](int count) {
            double total = 0;
            for (int i = 0; i < count; ++i)
              total += probe(options, cacheDir);
            return total / count * 1e-3;
          }};
}

/// A folder that goes with the scope.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "updraft-bench-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw std::runtime_error("cannot make a temporary folder");
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

std::vector<Row> runCompile(const BenchOptions &options) {
  TemporaryFolder cache;
  probe(options, cache.path); // fills the cache
  // A different default each time, so that no cache in memory answers.
  int next = 0;
  std::string ruleFile = options.rulesDir + "/adamw.upd";
  Contestant warm{"next", "f32", [&next, ruleFile](int count) {
                    double total = 0;
                    for (int i = 0; i < count; ++i) {
                      std::string lr = fmt::format("{}", 1e-3 + 1e-9 * ++next);
                      upd_setting setting{"lr", lr.c_str()};
                      total += compileMs(ruleFile, "", &setting);
                    }
                    return total / count * 1e-3;
                  }};
  std::vector<Contestant> contestants{probed(options, "first", ""), std::move(warm),
                                      probed(options, "from disk", cache.path)};
  return race("compile-adamw", std::move(contestants), options.quick ? 3 : 21,
              options.quick ? 1e-9 : 5e-2);
}
} // namespace

int updraft::bench::compileProbe(const std::string &ruleFile, const std::string &cacheDir) {
  fmt::print("{}\n", compileMs(ruleFile, cacheDir));
  return 0;
}

std::vector<Work> updraft::bench::compileWorks() {
  return {{"compile-adamw", "compile adamw: first in a process, next, from the disk cache",
           runCompile}};
}
