//===- updraft-bench.cpp - How fast, against whom, and against what limit ---------------------===//

#include "Report.h"
#include "TorchPeer.h"
#include "Work.h"
#include "runtime/cpu/ThreadPool.h"
#include "updraft-c/compiler.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <stdexcept>

using namespace updraft::bench;

namespace {
constexpr const char *footer = R"(
The contestants of a work take turns in one run; times are per step. "of limit" compares with an in-place
kernel over the same streams: 1 is as fast as the memory allows. See docs/performance.md.

Examples:
  updraft-bench                               every work, without PyTorch
  updraft-bench --torch .venv/bin/python      with PyTorch's implementations beside it
  updraft-bench --json out.json adamw-1x50M compile-adamw
  updraft-bench --quick                       small sizes: only shows that it works

Exit codes: 0 success, 1 a work failed, 100 and above an error in the command line.)";

struct Options {
  BenchOptions bench;
  std::vector<std::string> works;
  std::string json, svg, python, probeFile, probeCache;
};

std::vector<Work> allWorks() {
  std::vector<Work> works = stepWorks();
  for (Work &work : rowWorks())
    works.push_back(std::move(work));
  for (Work &work : compileWorks())
    works.push_back(std::move(work));
  return works;
}

void addOptions(CLI::App &app, Options &options) {
  std::string list = "Works to run (default: all):";
  std::vector<std::string> names;
  for (const Work &work : allWorks()) {
    names.push_back(work.name);
    list += fmt::format("\n  {:<26}{}", work.name, work.description);
  }
  app.add_option("WORK", options.works, list)->check(CLI::IsMember(names))->type_name("");
  app.add_flag("--quick", options.bench.quick, "Small sizes and few rounds");
  app.add_option("--json", options.json, "Write the rows to this file");
  app.add_option("--svg", options.svg, "Draw the ratios to this file");
  app.add_option("--torch", options.python, "A Python with torch, to measure it beside");
  app.add_option("--numerics", options.bench.numerics, "ieee, torch or fast: how steps round")
      ->type_name("MODE")
      ->capture_default_str();
  app.add_option("--rules", options.bench.rulesDir, "Folder of the shipped rules")
      ->capture_default_str();
  app.add_option("--compile-probe", options.probeFile, "")->group("");
  app.add_option("--probe-cache", options.probeCache, "")->group("");
}

int run(const Options &options, int threads) {
  fmt::print("{}, {} threads\n", upd_version(), threads);
  printHeading();
  std::vector<Row> rows;
  for (const Work &work : allWorks()) {
    if (!options.works.empty() &&
        std::find(options.works.begin(), options.works.end(), work.name) == options.works.end())
      continue;
    for (Row &row : work.run(options.bench)) {
      if (options.bench.quick) // whose sizes are not those of the name
        row.work = "quick:" + row.work;
      printRow(row);
      rows.push_back(std::move(row));
    }
  }
  if (!options.json.empty())
    writeJson(rows, options.json);
  if (!options.svg.empty())
    writeSvg(rows, options.svg);
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  CLI::App app("Measures steps and compilations against PyTorch and against the memory's limit.");
  app.footer(footer);
  app.set_version_flag("--version", upd_version());
  Options options;
  options.bench.rulesDir = UPDRAFT_RULES_DIR;
  addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    if (!options.probeFile.empty())
      return compileProbe(options.probeFile, options.probeCache);
    options.bench.self = std::filesystem::read_symlink("/proc/self/exe");
    const int threads = updraft::runtime::ThreadPool::defaultThreadCount();
    std::optional<TorchPeer> torch;
    if (!options.python.empty())
      options.bench.torch = &torch.emplace(options.python, UPDRAFT_TORCH_PEER, threads);
    return run(options, threads);
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
