//===- PythonProcessWorks.cpp - Benchmarks in Python that need a fresh process ----------------===//
// These happen once per process: importing, the first step, and the peak of its memory.

#include "Probe.h"
#include "Work.h"

#include <fmt/format.h>

using namespace updraft::bench;

namespace {
std::vector<double> ask(const BenchOptions &options, const std::string &arguments, size_t count) {
  return probe(fmt::format("'{}' '{}/process_probe.py' {}", options.python, options.pythonScripts,
                           arguments),
               count);
}

std::vector<Row> runImport(const BenchOptions &options) {
  std::vector<double> times;
  for (int round = 0; round < (options.quick ? 1 : 11); ++round)
    times.push_back(ask(options, "import", 1)[0]);
  Row row = rowOf("python-import", "updraft", "", std::move(times));
  row.figure = {"ms without torch", row.medianMs, 150, /*atLeast=*/false};
  return {row};
}

/// Names of torch and of the package.
const char *const rules[] = {"AdamW",    "SGD",   "RMSprop",    "NAdam",     "Adamax",
                             "Adadelta", "Rprop", "SparseAdam", "Adafactor", "Muon",
                             "Lion",     "LAMB",  "AdEMAMix",   "Prodigy",   "RowwiseAdagrad"};

std::vector<Row> runFirstStep(const BenchOptions &options) {
  const int tensors = options.quick ? 4 : 1000;
  std::vector<Row> rows;
  for (const char *rule : rules) {
    std::vector<double> more;
    for (int round = 0; round < (options.quick ? 1 : 5); ++round)
      more.push_back(ask(options, fmt::format("first-step {} {}", rule, tensors), 2)[0]);
    Row &row = rows.emplace_back(
        rowOf("python-first-step", fmt::format("updraft {}", rule), "f32", std::move(more)));
    row.figure = {"ms more than later steps", row.medianMs, 30 + 3e-3 * tensors,
                  /*atLeast=*/false};
    if (options.quick)
      break;
  }
  return rows;
}

std::vector<Row> runMemory(const BenchOptions &options) {
  struct Stepped {
    const char *module, *name;
    bool quick = false; ///< small sizes: only shows that it works
  };
  static const Stepped all[] = {{"updraft", "AdamW", true},
                                {"updraft", "LAMB"},
                                {"updraft", "Adafactor"},
                                {"torch", "AdamW", true}};
  std::vector<Row> rows;
  for (const Stepped &stepped : all) {
    if (options.quick && !stepped.quick)
      continue;
    const std::vector<double> peak =
        ask(options,
            fmt::format("memory {} {} {} {}", stepped.module, stepped.name,
                        options.quick ? 1'000'000 : 50'000'000, options.threads),
            2);
    Row &row = rows.emplace_back(rowOf(
        "python-memory", fmt::format("{} {}", stepped.module, stepped.name), "f32", {peak[1]}));
    row.figure = {"x the parameter's bytes above states", peak[0], std::nullopt,
                  /*atLeast=*/false};
    // The overhead of the interpreter and the allocator is significant beside a small parameter.
    if (std::string(stepped.module) == "updraft" && !options.quick)
      row.figure->bound = 0.01;
  }
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::pythonProcessWorks() {
  return {{"python-first-step", "extra time of a first step over later ones, without a cache",
           runFirstStep, /*group=*/"python"},
          {"python-memory", "peak memory of a step beyond states, tensor of 50 M f32", runMemory,
           /*group=*/"python"},
          {"python-import", "`import updraft`, without torch", runImport, /*group=*/"python"}};
}
