//===- PackageWorks.cpp - Benchmarks of packages ----------------------------------------------===//

#include "Work.h"

#include "updraft/Optimizer.h"
#include "updraft/Package.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <unistd.h>

using namespace updraft;
using namespace updraft::bench;
namespace fs = std::filesystem;

namespace {
/// Returns the bytes of a package of AdamW for seven targets, which `updraftc` beside this program
/// makes.
std::string packAdamW(const BenchOptions &options) {
  const fs::path file =
      fs::temp_directory_path() / fmt::format("updraft-bench-{}.updraft", ::getpid());
  const std::string command = fmt::format(
      "'{}' pack '{}/adamw.upd' --target=x86-64-v2,x86-64-v3,x86-64-v4,aarch64,nvptx:sm_80,"
      "nvptx:sm_90,nvptx:sm_100 -o '{}'",
      (fs::path(options.self).parent_path() / "updraftc").string(), options.rulesDir,
      file.string());
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("`updraftc pack` failed; build updraftc beside updraft-bench");
  std::ifstream stream(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::error_code ignored;
  fs::remove(file, ignored);
  return bytes;
}

/// Returns the average seconds of `once`, which returns what is released after the time is taken.
template <typename Once> harness::TimedWork keeping(Once once) {
  return [once](int count) {
    std::chrono::duration<double> total{};
    for (int i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const auto kept = once();
      total += std::chrono::steady_clock::now() - start;
    }
    return total.count() / count;
  };
}

std::vector<Row> runOpen(const BenchOptions &options) {
  const std::string bytes = packAdamW(options);
  constexpr int64_t tensors = 1000, elements = 64;
  std::vector<float> values(tensors * elements, 0.5f), slopes(tensors * elements, 1e-2f);
  ParamGroup group;
  TensorList grads;
  for (int64_t i = 0; i < tensors; ++i) {
    group.params.add({values.data() + i * elements, {elements}});
    grads.add({slopes.data() + i * elements, {elements}});
  }
  const auto load = [&] {
    return Package::openBuffer(bytes.data(), bytes.size()).value().load().value();
  };
  const auto create = [&](const Rule &rule) { return Optimizer::create(rule, {group}).value(); };
  const auto firstStep = [&](const Rule &rule) {
    Optimizer optimizer = create(rule);
    optimizer.step(grads).value();
    return optimizer;
  };
  const Rule rule = load();
  Optimizer stepped = firstStep(rule); // starts the threads

  std::vector<Row> rows = race(
      "package-open",
      {{"open, load, create", "f32", keeping([&] { return create(load()); })},
       {"… and first step", "f32", keeping([&] { return firstStep(load()); })},
       {"create, first step", "f32", keeping([&] { return firstStep(rule); })},
       timed("next step", "f32", [&] { stepped.step(grads).value(); })},
      options.quick ? 3 : 31,
      options.quick ? 1e-4
                    : 2e-2); // A first step also touches the memory of states for the first time.
  rows[0].figure = Figure{"ms before a first step", rows[0].medianMs, 1, false};
  if (options.quick)
    rows[0].figure->bound.reset();
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::packageWorks() {
  return {{"package-open",
           "from a package in memory to the end of the first step of 1000 tensors of 64 f32",
           runOpen}};
}
