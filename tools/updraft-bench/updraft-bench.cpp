//===- updraft-bench.cpp - Times steps and compilations ---------------------------------------===//

#include "PythonPeer.h"
#include "Report.h"
#include "Work.h"
#include "runtime/base/MessageText.h"
#include "runtime/cpu/ThreadPool.h"
#include "tools/options/StandardStreams.h"
#include "updraft-c/compiler.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>

using namespace updraft::bench;

namespace {
constexpr const char *footer = R"(
The contestants of a work take turns in one run; times are per step. "of limit" compares with an in-place
kernel over the same streams: 1 is the limit that memory sets. See docs/performance.md.

Examples:
  updraft-bench                               every work, without PyTorch
  updraft-bench --torch .venv/bin/python      every work, beside PyTorch's implementations
  updraft-bench --json out.json adamw-1x50M compile-adamw
  updraft-bench python                        every work in Python, with the bounds
  updraft-bench distributed                   steps of a worker's parameters, and empty calls
  updraft-bench matrices                      products beside the peak of FMAs, Muon beside PyTorch's
  updraft-bench grpc                          updraft-worker: steps, pushes, durable steps
  updraft-bench --quick                       small sizes: only shows that it works

Exit codes: 0 success, 1 a work failed, 2 a file could not be written, 100 and above an error in the
command line.)";

/// Their works run only if they are named.
constexpr const char *groups[] = {"python", "distributed", "matrices",
#if UPDRAFT_BENCH_GRPC
                                  "grpc"
#endif
};

struct Options {
  BenchOptions bench;
  std::vector<std::string> works;
  std::string json, svg, python, jax, probeFile, probeCache, ptxProbeFile;
  std::vector<std::string> plainStep, plainStream;
};

std::vector<Work> allWorks() {
  std::vector<Work> works = stepWorks();
  for (auto more :
       {rowWorks(), interfaceWorks(), linkedWorks(), packageWorks(), threadWorks(), compileWorks(),
        pythonStepWorks(), pythonProcessWorks(), distributedWorks(), matrixWorks(), probeWorks()})
    std::move(more.begin(), more.end(), std::back_inserter(works));
#if UPDRAFT_BENCH_GRPC
  for (Work &work : grpcWorks())
    works.push_back(std::move(work));
#endif
  return works;
}

/// Returns the works that the command line names. Works in Python take long and need a package, so
/// they run only on request.
std::vector<Work> chosenWorks(const std::vector<std::string> &names) {
  auto named = [&](const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Work> works = allWorks();
  std::erase_if(works, [&](const Work &work) {
    return !(named(work.name) || (work.group.empty() ? names.empty() : named(work.group)));
  });
  return works;
}

void addOptions(CLI::App &app, Options &options) {
  std::string list = "Works to run (default: all but the groups at the end):";
  std::vector<std::string> names;
  for (const Work &work : allWorks()) {
    names.push_back(work.name);
    list += fmt::format("\n  {:<34}{}", work.name, work.description);
  }
  for (const char *group : groups) {
    names.emplace_back(group);
    list += fmt::format("\n  {:<34}every work whose name begins with `{}-`", group, group);
  }
  const auto isKnown = [names](const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end()
               ? std::string()
               : fmt::format("no work `{}`{}", name, updraft::runtime::nameHint(name, names));
  };
  app.add_option("WORK", options.works, list)->check(CLI::Validator(isKnown, ""))->type_name("");
  app.add_flag("--quick", options.bench.quick, "Small sizes and few rounds");
  app.add_option("--json", options.json, "Write the rows to this file");
  app.add_option("--svg", options.svg, "Draw the ratios to this file");
  app.add_option("--torch", options.python,
                 "A Python with torch, to compare with; works in Python need updraft there too "
                 "(default for these: " UPDRAFT_BENCH_PYTHON ")");
  app.add_option("--jax", options.jax,
                 "A Python with JAX and optax, for works in Python (default: that of --torch)");
  app.add_option("--numerics", options.bench.numerics, "ieee, torch or fast: the rounding of steps")
      ->type_name("MODE")
      ->capture_default_str();
  app.add_option("--rules", options.bench.rulesDir, "Folder of the shipped rules")
      ->capture_default_str();
  app.add_option("--compile-probe", options.probeFile, "")->group("");
  app.add_option("--probe-cache", options.probeCache, "")->group("");
  app.add_option("--ptx-probe", options.ptxProbeFile, "")->group("");
#if UPDRAFT_BENCH_GRPC
  app.add_option("--plain-step", options.plainStep, "")->group("")->expected(4);
  app.add_option("--plain-stream", options.plainStream, "")->group("")->expected(2);
#endif
}

int run(const Options &options, const std::vector<Work> &works) {
  fmt::print("{}, {} threads\n", upd_version(), options.bench.threads);
  printHeading();
  std::vector<Row> rows;
  for (const Work &work : works) {
    for (Row &row : work.run(options.bench)) {
      if (options.bench.quick) // the sizes aren't those of the name
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
  updraft::watchStandardOutput();
  CLI::App app("Times steps and compilations beside PyTorch and the memory limit.");
  app.footer(footer);
  app.set_version_flag("--version", upd_version());
  Options options;
  options.bench.rulesDir = UPDRAFT_RULES_DIR;
  addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    if (!options.probeFile.empty())
      return compileProbe(options.probeFile, options.probeCache);
    if (!options.ptxProbeFile.empty())
      return ptxProbe(options.ptxProbeFile);
#if UPDRAFT_BENCH_GRPC
    if (!options.plainStep.empty())
      return plainStepProbe(options.plainStep);
    if (!options.plainStream.empty())
      return plainStreamProbe(options.plainStream);
#endif
    checkWritable(options.json);
    checkWritable(options.svg);
    options.bench.self = std::filesystem::read_symlink("/proc/self/exe");
    const std::vector<Work> works = chosenWorks(options.works);
    BenchOptions &bench = options.bench;
    bench.threads = updraft::runtime::ThreadPool::defaultThreadCount();
    std::optional<PythonPeer> torch, jax;
    const std::string scripts = bench.pythonScripts = UPDRAFT_BENCH_SCRIPTS;
    const auto hasGroup = [&](const std::string &group) {
      return std::any_of(works.begin(), works.end(),
                         [&](const Work &work) { return work.group == group; });
    };
    const bool inPython = hasGroup("python");
    bench.limitLibrary = UPDRAFT_LIMIT_LIBRARY;
    bench.python = options.python.empty() ? UPDRAFT_BENCH_PYTHON : options.python;
    if (!options.python.empty() || inPython || hasGroup("matrices"))
      bench.torch = &torch.emplace(bench.python, scripts + "/torch_peer.py", bench.threads);
    if (inPython) {
      const std::string &python = options.jax.empty() ? bench.python : options.jax;
      jax.emplace(python, scripts + "/jax_peer.py", bench.threads);
      if (jax->available())
        bench.jax = &*jax;
      else
        updraft::printMessage(fmt::format("without optax: `{}` has no such package\n", python));
    }
    return run(options, works);
  } catch (const CannotWrite &error) {
    updraft::printMessage(fmt::format("error: {}\n", error.what()));
    return updraft::exitCodeOf(UPD_IO_ERROR);
  } catch (const std::exception &error) {
    updraft::printMessage(fmt::format("error: {}\n", error.what()));
    return 1;
  }
}
