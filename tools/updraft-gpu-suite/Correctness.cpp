//===- Correctness.cpp - Compares steps on the device with the CPU ----------------------------===//

#include "Approximations.h"
#include "Parts.h"
#include "RuleCases.h"
#include "Side.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace updraft::harness;
using namespace updraft::suite;
using json = nlohmann::ordered_json;

namespace {
std::vector<TensorShape> shapesFor(const Options &options) {
  std::vector<TensorShape> shapes = {{{0}},    {{1}},        {{31}, 1},    {{257}, 3},
                                     {{5, 7}}, {{66, 9}, 1}, {{2, 3, 17}}, {{}}};
  if (!options.quick)
    for (const TensorShape &shape : {TensorShape{{8191}},
                                     {{8193}, 1},
                                     {{100003}, 2},
                                     {{513, 1027}, 1},
                                     {{3, 200, 130}},
                                     {{64, 64, 3, 3}},
                                     {{1 << 20}}})
      shapes.push_back(shape);
  return shapes;
}

/// A CPU side and a device side that do the same.
struct Pair {
  Pair(Device &device, const RuleRequest &request, const std::vector<TensorShape> &shapes,
       size_t groups = 1)
      : cpu(nullptr, request, shapes, groups), device(&device, request, shapes, groups) {}

  template <typename Body> void both(Body body) {
    body(cpu);
    body(device);
  }
  void step(uint64_t seed, const std::string &when, const std::set<size_t> &absent = {}) {
    both([&](Side &side) {
      side.makeGradients(seed, absent);
      side.step();
    });
    compare(cpu, device, when);
  }

  Side cpu, device;
};

json stepsAgree(Device &device, const RuleRequest &request,
                const std::vector<TensorShape> &shapes) {
  Pair pair(device, request, shapes);
  pair.step(1, "step 1");
  pair.step(2, "step 2, in which tensor 3 has no gradient", {3});
  const bool hasLr = pair.cpu.hasHyper("lr");
  const double lr = hasLr ? pair.cpu.defaultOf("lr") : 0;
  pair.both([&](Side &side) {
    if (hasLr)
      side.setHyper(0, "lr", lr / 2);
    side.setFoundInf(0);
  });
  pair.step(3, "step 3, with another lr");
  pair.both([&](Side &side) { side.setFoundInf(1); });
  pair.step(4, "step 4, which found_inf says to skip");
  pair.both([&](Side &side) {
    side.setFoundInf(0);
    if (hasLr)
      side.bindHyper("lr", static_cast<float>(lr / 3));
  });
  pair.step(5, "step 5, with lr in memory");
  return json::object();
}

/// Many small tensors in two groups.
json manyTensors(Device &device, const RuleRequest &request, int64_t count) {
  std::vector<TensorShape> shapes;
  for (int64_t i = 0; i < count; ++i)
    shapes.push_back({{1 + i * 7 % 61}, i % 3});
  Pair pair(device, request, shapes, 2);
  pair.step(1, "step 1");
  pair.both([](Side &side) { side.setHyper(1, "lr", 0.01); });
  pair.step(2, "step 2, with another lr in group 1");
  return {{"tensors", count}};
}

std::string contentsOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Both sides must save the same file. Each side then loads it over its current states.
json filesAgree(Device &device, const RuleRequest &request,
                const std::vector<TensorShape> &shapes) {
  const std::string prefix =
      (std::filesystem::temp_directory_path() / fmt::format("updraft-gpu-suite-{}-", getpid()));
  const std::string ofCpu = prefix + "cpu.safetensors", ofDevice = prefix + "device.safetensors";
  Pair pair(device, request, shapes);
  pair.step(1, "step 1");
  pair.step(2, "step 2, in which tensor 3 has no gradient", {3});
  pair.cpu.save(ofCpu);
  pair.device.save(ofDevice);
  const std::string saved = contentsOf(ofCpu), savedOfDevice = contentsOf(ofDevice);
  pair.step(3, "step 3");
  pair.device.load(ofCpu);
  pair.cpu.load(ofDevice);
  std::filesystem::remove(ofCpu);
  std::filesystem::remove(ofDevice);
  if (saved != savedOfDevice)
    throw std::runtime_error(fmt::format("the CPU's file of {} bytes and the device's of {} differ",
                                         saved.size(), savedOfDevice.size()));
  compare(pair.cpu, pair.device, "what was loaded");
  pair.step(4, "the step after loading");
  return {{"bytes", saved.size()}};
}

/// Launches a captured step several times, with new gradients, lr and found_inf in the same memory.
json graphReplays(Device &device, const RuleRequest &request,
                  const std::vector<TensorShape> &shapes) {
  Pair pair(device, request, shapes);
  pair.device.bindStep(1);
  pair.both([](Side &side) {
    side.setFoundInf(0);
    side.bindHyper("lr", 0.01F);
  });
  pair.step(1, "the step before the capture");
  std::unique_ptr<Graph> graph = device.capture([&] { pair.device.step(); });
  const struct {
    float lr, foundInf;
  } replays[] = {{0.01F, 0}, {0.003F, 0}, {0.1F, 1}, {0.02F, 0}};
  uint64_t number = 1;
  for (const auto &[lr, foundInf] : replays) {
    ++number;
    pair.both([&, lr = lr, foundInf = foundInf](Side &side) {
      side.setRead(lr);
      side.setFoundInf(foundInf);
      side.makeGradients(number);
    });
    pair.cpu.step();
    graph->launch();
    device.wait();
    compare(pair.cpu, pair.device, fmt::format("replay {} of the graph", number - 1));
  }
  const auto steps = static_cast<double>(pair.cpu.steps()[1]);
  if (pair.device.boundStep() != steps)
    throw std::runtime_error(
        fmt::format("the step count in memory is {}, not {}", pair.device.boundStep(), steps));
  return json::object();
}

json rowsAgree(Device &device, const RuleRequest &request, const std::vector<TensorShape> &shapes) {
  Pair pair(device, request, shapes);
  for (uint64_t number = 1; number < 6; ++number) {
    const bool isSkipped = number == 3;
    pair.both([&](Side &side) {
      side.setFoundInf(isSkipped ? 1 : 0);
      side.makeRowGradients(number);
      side.stepRows();
    });
    compare(pair.cpu, pair.device,
            fmt::format("step {} of some rows{}", number,
                        isSkipped ? ", which found_inf says to skip" : ""));
  }
  return json::object();
}

struct Test {
  std::string name;
  std::function<json()> body;
};

bool hasBlocks(const RuleRequest &request) {
  return std::any_of(request.storage.begin(), request.storage.end(), [](const auto &entry) {
    return entry.second == "q8_linear" || entry.second == "q8_companded";
  });
}

bool drawsRandomNumbers(const RuleRequest &request) {
  return std::any_of(request.storage.begin(), request.storage.end(),
                     [](const auto &entry) { return entry.second == "bf16_stochastic"; });
}

/// Tests of the mode `fast`, in which a device may approximate. They exclude states in blocks: near
/// the middle between two codes, an error of one unit in the last place changes the code.
void addFastTests(Device &device, const Options &options, std::vector<Test> &tests) {
  for (const Approximation &approximation : approximations())
    tests.push_back(
        {fmt::format("fast {}", approximation.name), [&device, &options, &approximation] {
           return isWithinBound(device, approximation, options.quick ? 1 << 14 : 1 << 22);
         }});
  Options few = options;
  few.quick = true;
  for (const RuleCase &ruleCase : ruleCases(few))
    if (!hasBlocks(ruleCase.request))
      tests.push_back({fmt::format("fast {}", ruleCase.name), [&device, few, ruleCase] {
                         return fastStepsAgree(device, ruleCase.request, shapesFor(few));
                       }});
}

/// Tests of rules that can step single rows.
void addRowTests(Device &device, const Options &options, std::vector<Test> &tests) {
  std::vector<TensorShape> matrices = {{{40, 64}}, {{70, 1}, 1}, {{33, 129}, 3}, {{2, 8200}}};
  if (!options.quick)
    matrices.insert(matrices.end(), {{{100003, 64}}, {{5000, 768}, 1}, {{3, 200000}}});
  std::vector<TensorShape> any = matrices;
  any.insert(any.end(), {{{300}, 1}, {{20, 3, 50}}, {{}}});
  for (const RuleCase &ruleCase : ruleCases(options)) {
    const std::string rule = ruleCase.name.substr(0, ruleCase.name.find(' '));
    const bool ofMatrices = rule == "rowwise_adagrad";
    const bool isTaken = ofMatrices || rule == "sgd" || rule == "adagrad" || rule == "adamw" ||
                         rule == "sparse_adam";
    if (!isTaken || hasBlocks(ruleCase.request) || drawsRandomNumbers(ruleCase.request))
      continue;
    tests.push_back({fmt::format("{}, some rows", ruleCase.name),
                     [&device, shapes = ofMatrices ? matrices : any, ruleCase] {
                       return rowsAgree(device, ruleCase.request, shapes);
                     }});
  }
}

/// Runs each test on the next free thread.
void runAll(Device &device, const std::vector<Test> &tests, int jobs, Recorder &recorder) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < tests.size(); i = next++)
      recorder.run(tests[i].name, tests[i].body);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < jobs; ++i)
    threads.emplace_back([&] {
      device.enterThread();
      work();
    });
  work();
  for (std::thread &thread : threads)
    thread.join();
}
} // namespace

void updraft::suite::runCorrectness(Device &device, const Options &options, Recorder &recorder) {
  const std::vector<TensorShape> shapes = shapesFor(options);
  std::vector<Test> tests;
  for (const RuleCase &ruleCase : ruleCases(options))
    tests.push_back({ruleCase.name, [&device, &shapes, ruleCase] {
                       return stepsAgree(device, ruleCase.request, shapes);
                     }});
  addRowTests(device, options, tests);
  addFastTests(device, options, tests);
  runAll(device, tests, options.jobs, recorder);

  const std::string file = fileOf(options, "adamw");
  const RuleRequest adamW{file}, clipped{file, "clip_by_global_norm(max_norm = 1) |> AdamW"};
  const int64_t count = options.quick ? 300 : 21'000;
  for (const auto &[name, request] : {std::pair{"adamw", adamW}, {"clip |> adamw", clipped}}) {
    recorder.run(fmt::format("{}, {} tensors", name, count),
                 [&, &request = request] { return manyTensors(device, request, count); });
    recorder.run(fmt::format("{}, saved and loaded", name),
                 [&, &request = request] { return filesAgree(device, request, shapes); });
    recorder.run(fmt::format("{}, replays of a graph", name),
                 [&, &request = request] { return graphReplays(device, request, shapes); });
  }
  recorder.run("muon, replays of a graph",
               [&] { return graphReplays(device, {fileOf(options, "muon")}, shapes); });
}
