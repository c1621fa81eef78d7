//===- StepWorks.cpp - Benchmarks of a step ---------------------------------------------------===//

#include "PythonPeer.h"
#include "Stepper.h"
#include "Work.h"

#include <fmt/format.h>

#include <stdexcept>

using namespace updraft::bench;

namespace {
using Settings = std::vector<std::pair<std::string, std::string>>;
using Storage = std::vector<std::pair<std::string, std::string>>;

struct Optimizer {
  std::string work;
  std::string rule; // rules/RULE.upd
  Settings settings;
  std::string torchClass; // empty: not in torch
  std::string torchArguments;
  std::string chain = {}; // empty: the file's rule
};

const Optimizer adamW{"adamw", "adamw", {}, "AdamW", "{}"};

const std::vector<Optimizer> &flatOptimizers() {
  static const std::vector<Optimizer> optimizers{
      adamW,
      {"sgd-momentum", "sgd", {{"momentum", "0.9"}}, "SGD", R"({"lr":1e-3,"momentum":0.9})"},
      {"rmsprop", "rmsprop", {}, "RMSprop", "{}"},
      {"adagrad", "adagrad", {}, "Adagrad", "{}"},
      {"lion", "lion", {}, "", ""},
      {"sgd", "sgd", {}, "SGD", R"({"lr":1e-3})"},
      {"adam", "adam", {}, "Adam", "{}"},
      {"qhm", "qhm", {}, "", ""},
      {"adamax", "adamax", {}, "Adamax", "{}"},
      {"adadelta", "adadelta", {}, "Adadelta", "{}"},
      {"radam", "radam", {}, "RAdam", "{}"},
      {"nadam", "nadam", {}, "NAdam", "{}"},
      {"asgd", "asgd", {}, "ASGD", "{}"},
      {"rprop", "rprop", {}, "Rprop", "{}"},
      {"adabelief", "adabelief", {}, "", ""},
      {"yogi", "yogi", {}, "", ""},
      {"signum", "signum", {}, "", ""},
      {"qhadam", "qhadam", {}, "", ""},
      {"adan", "adan", {}, "", ""},
      {"ademamix", "ademamix", {}, "", ""},
      {"mars", "mars", {}, "", ""},
      {"lamb", "lamb", {}, "", ""},
      {"lars", "lars", {}, "", ""},
      {"novograd", "novograd", {}, "", ""},
      {"prodigy", "prodigy", {}, "", ""},
      {"adafactor", "adafactor", {}, "", ""},
      {"schedule-free-sgd", "schedule_free_sgd", {}, "", ""},
      {"schedule-free-adamw", "schedule_free_adamw", {}, "", ""},
      {"stable-adamw", "stable_adamw", {}, "", ""},
      {"adopt", "adopt", {}, "", ""},
      {"laprop", "laprop", {}, "", ""},
      {"grams", "grams", {}, "", ""},
      {"adamc", "adamc", {}, "", ""},
      {"gpa-adamw", "gpa_adamw", {}, "", ""},
      {"ftrl", "ftrl", {}, "", ""},
      {"came", "came", {}, "", ""},
      {"adam-mini", "adam_mini", {}, "", ""},
      {"muon", "muon", {}, "", ""},
      {"muonclip", "muonclip", {}, "", ""},
      {"normuon", "normuon", {}, "", ""},
      {"adamuon", "adamuon", {}, "", ""},
      {"scion", "scion", {}, "", ""},
      {"polargrad", "polargrad", {}, "", ""},
      {"dion2", "dion2", {}, "", ""},
      {"soap", "soap", {}, "", ""},
      {"shampoo", "shampoo", {}, "", ""},
      {"kl-shampoo", "kl_shampoo", {}, "", ""},
      {"psgd-pro", "psgd_pro", {}, "", ""},
      {"sophia", "sophia", {}, "", ""}};
  return optimizers;
}

StepSetup setupOf(const BenchOptions &options, const Optimizer &optimizer, int64_t tensors,
                  int64_t elements, Storage storage = {}, int64_t rows = 0) {
  return {{.file = options.rulesDir + "/" + optimizer.rule + ".upd",
           .rule = optimizer.chain,
           .settings = optimizer.settings,
           .storage = std::move(storage),
           .numerics = options.numerics},
          tensors,
          elements,
          rows};
}

Contestant stepOf(Stepper &stepper, std::string impl, std::string dtype) {
  return timed(std::move(impl), std::move(dtype), [&stepper] { stepper.step(); });
}

/// The limit of the sweeps over elements, on the same memory that the step uses.
Contestant limitOf(Stepper &stepper, std::string dtype) {
  return timed("limit", std::move(dtype),
               [sweeps = stepper.sweeps(), elements = stepper.elements()] {
                 for (const std::vector<LimitStream> &sweep : sweeps)
                   runLimitKernel(sweep, elements);
               });
}

void addTorch(const BenchOptions &options, const Optimizer &optimizer, const std::string &dtype,
              int64_t tensors, int64_t elements, std::vector<Contestant> &contestants) {
  if (!options.torch || optimizer.torchClass.empty())
    return;
  for (Contestant &peer : options.torch->torchContestants(
           {optimizer.torchClass, optimizer.torchArguments, dtype, tensors, elements}))
    contestants.push_back(std::move(peer));
}

std::vector<Row> finish(const BenchOptions &options, const std::string &work,
                        std::vector<Contestant> contestants) {
  auto rows = race(options.labelled(work), std::move(contestants), options.quick ? 3 : 21,
                   options.quick ? 1e-4 : 1e-2);
  if (options.torch)
    options.torch->drop();
  return rows;
}

/// One large tensor against the limit of its streams.
std::vector<Row> runFlat(const BenchOptions &options, const std::string &work,
                         const Optimizer &optimizer, const std::string &dtype, Storage storage,
                         bool withTorch) {
  int64_t elements = options.quick ? 100'000 : 50'000'000;
  Stepper stepper(setupOf(options, optimizer, 1, elements, std::move(storage)));
  std::vector<Contestant> contestants{stepOf(stepper, "updraft", dtype), limitOf(stepper, dtype)};
  if (withTorch)
    addTorch(options, optimizer, dtype, 1, elements, contestants);
  return finish(options, work, std::move(contestants));
}

/// Compares states in blocks of 8-bit codes with f32 states. The last column is the speed-up.
std::vector<Row> runBlocks(const BenchOptions &options, const std::string &work,
                           const Optimizer &optimizer, const std::string &dtype, Storage storage) {
  const int64_t elements = options.quick ? 100'000 : 50'000'000;
  Stepper blocks(setupOf(options, optimizer, 1, elements, std::move(storage)));
  Stepper whole(setupOf(options, optimizer, 1, elements));
  std::vector<Row> rows =
      finish(options, work, {stepOf(blocks, "updraft", dtype), stepOf(whole, "f32 states", "f32")});
  for (Row &row : rows)
    row.ratioToLimit = rows.back().medianMs / row.medianMs;
  return rows;
}

/// Compares many tensors with one of the same total size: "flat".
std::vector<Row> runMany(const BenchOptions &options, const std::string &work,
                         const Optimizer &optimizer, int64_t tensors, int64_t elements) {
  if (options.quick)
    tensors = std::min<int64_t>(tensors, 16);
  Stepper many(setupOf(options, optimizer, tensors, elements));
  Stepper flat(setupOf(options, optimizer, 1, tensors * elements));
  std::vector<Contestant> contestants{stepOf(many, "updraft", "f32"), stepOf(flat, "flat", "f32"),
                                      limitOf(flat, "f32")};
  addTorch(options, optimizer, "f32", tensors, elements, contestants);
  return finish(options, work, std::move(contestants));
}

/// Compares steps of matrices with the limit of the bytes that the sweeps move.
std::vector<Row> runMatrices(const BenchOptions &options, const std::string &work,
                             const Optimizer &optimizer) {
  const int64_t tensors = options.quick ? 2 : 160, rows = 400, elements = 160'000;
  Stepper stepper(setupOf(options, optimizer, tensors, elements, {}, rows));
  return finish(options, work, {stepOf(stepper, "updraft", "f32"), limitOf(stepper, "f32")});
}
} // namespace

std::vector<Work> updraft::bench::stepWorks() {
  std::vector<Work> works;
  for (const Optimizer &optimizer : flatOptimizers()) {
    std::string name = optimizer.work + "-1x50M";
    works.push_back({name, fmt::format("{}, one tensor of 50 M f32", optimizer.work),
                     [name, &optimizer](const BenchOptions &options) {
                       return runFlat(options, name, optimizer, "f32", {}, true);
                     }});
  }
  works.push_back({"adamw-bf16-1x50M", "adamw, bf16 param and grad, f32 states",
                   [](const BenchOptions &options) {
                     return runFlat(options, "adamw-bf16-1x50M", adamW, "bf16+f32",
                                    {{"param", "bf16"}, {"grad", "bf16"}, {"state", "f32"}}, false);
                   }});
  works.push_back(
      {"adamw-allbf16-1x50M", "adamw, everything bf16", [](const BenchOptions &options) {
         return runFlat(options, "adamw-allbf16-1x50M", adamW, "bf16",
                        {{"param", "bf16"}, {"grad", "bf16"}, {"state", "bf16"}}, true);
       }});
  works.push_back({"adamw-8bit-1x50M",
                   "adamw, states q8_linear and q8_companded; the last column is the speed-up over "
                   "f32 states",
                   [](const BenchOptions &options) {
                     return runBlocks(options, "adamw-8bit-1x50M", adamW, "f32+q8",
                                      {{"exp_avg", "q8_linear"}, {"exp_avg_sq", "q8_companded"}});
                   }});
  static const Optimizer clipped{
      "clip-adamw", "adamw", {}, "", "", "clip_by_global_norm(max_norm = 1) |> AdamW"};
  works.push_back({"clip-adamw-1x50M", "clip_by_global_norm |> adamw, one tensor of 50 M f32",
                   [](const BenchOptions &options) {
                     return runFlat(options, "clip-adamw-1x50M", clipped, "f32", {}, false);
                   }});
  static const std::vector<Optimizer> ofMatrices{{"lamb", "lamb", {}, "", ""},
                                                 {"lars", "lars", {}, "", ""},
                                                 {"adafactor", "adafactor", {}, "", ""}};
  for (const Optimizer &optimizer : ofMatrices) {
    std::string name = optimizer.work + "-160x160k";
    works.push_back({name, fmt::format("{}, 160 matrices of 400 x 400 f32", optimizer.work),
                     [name, &optimizer](const BenchOptions &options) {
                       return runMatrices(options, name, optimizer);
                     }});
  }
  auto addMany = [&](const Optimizer &optimizer, const std::string &size, int64_t tensors,
                     int64_t elements) {
    const std::string name = optimizer.work + "-" + size;
    works.push_back({name,
                     fmt::format("{}, {} tensors of {} f32", optimizer.work, tensors, elements),
                     [=, &optimizer](const BenchOptions &options) {
                       return runMany(options, name, optimizer, tensors, elements);
                     }});
  };
  addMany(adamW, "160x160k", 160, 160'000);
  addMany(adamW, "1000x1k", 1000, 1000);
  addMany(adamW, "10000x64", 10000, 64);
  addMany(ofMatrices[0], "10000x64", 10000, 64);
  addMany(ofMatrices[1], "10000x64", 10000, 64);
  return works;
}
