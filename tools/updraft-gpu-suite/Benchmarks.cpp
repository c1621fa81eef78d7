//===- Benchmarks.cpp - Time of steps beside the memory limit ---------------------------------===//

#include "Parts.h"
#include "RuleCases.h"
#include "Stepper.h"
#include "tools/harness/Turns.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

using namespace updraft::harness;
using namespace updraft::suite;
using json = nlohmann::ordered_json;

namespace {
using Body = std::function<void()>;

struct Times {
  double median, min, max; // ms
};

/// Contestants take turns. The times are per call.
std::vector<Times> race(Device &device, const std::vector<Body> &contestants, bool quick) {
  std::vector<TimedWork> works;
  for (const Body &body : contestants)
    works.push_back([&device, &body](int calls) {
      return device.timeMs([&] {
        for (int i = 0; i < calls; ++i)
          body();
      }) / calls;
    });
  std::vector<Times> result;
  for (const std::vector<double> &of : timeInTurn(
           works, {.rounds = quick ? 3 : 21, .least = quick ? 0.01 : 10, .mostRepeats = 2000}))
    result.push_back({median(of), std::ranges::min(of), std::ranges::max(of)});
  return result;
}

void put(json &values, const std::string &prefix, const Times &times) {
  values[prefix + "median_ms"] = times.median;
  values[prefix + "min_ms"] = times.min;
  values[prefix + "max_ms"] = times.max;
}

/// Adds one contestant per way to divide the limit's work.
void addLimits(Device &device, Stepper &stepper, std::vector<Body> &contestants) {
  for (int shape = 0; shape < Device::touchShapes; ++shape)
    contestants.push_back(
        [&device, shape, streams = stepper.streams(), elements = stepper.elements()] {
          device.touch(streams, elements, shape);
        });
}

/// The fastest contestant from index `first` on.
Times limitOf(const std::vector<Times> &times, size_t first) {
  return *std::min_element(times.begin() + static_cast<ptrdiff_t>(first), times.end(),
                           [](const Times &a, const Times &b) { return a.median < b.median; });
}

struct Work {
  std::string name;
  RuleRequest request;
  bool isRequired = false; // must be near the limit
};

/// The median in µs of the call alone. The device is idle often enough that its queue doesn't fill.
double hostCostUs(Device &device, Stepper &stepper, bool quick) {
  std::vector<double> times;
  for (int i = 0; i < (quick ? 10 : 400); ++i) {
    const auto start = std::chrono::steady_clock::now();
    stepper.step();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
    if (i % 8 == 7)
      device.wait();
  }
  return median(std::move(times));
}

class Benchmarks {
public:
  Benchmarks(Device &device, const Options &options, Recorder &recorder)
      : device(device), options(options), recorder(recorder) {}

  void run() {
    const std::vector<int64_t> sizes = options.quick
                                           ? std::vector<int64_t>{4096}
                                           : std::vector<int64_t>{1 << 20, 1 << 26, 1'000'000'000};
    recorder.run("empty launch", [&] { return emptyLaunch(); });
    for (int64_t size : sizes)
      for (const Work &work : works())
        flat(work, size, size == sizes.back());
    const auto resnet = options.quick ? smallTensors(20) : resnet50();
    const auto small = smallTensors(options.quick ? 100 : 21'000);
    const RuleRequest adamW = works()[0].request, momentum = works()[2].request;
    many("ResNet-50", "adamw f32", adamW, resnet);
    many("ResNet-50", "sgd momentum f32", momentum, resnet);
    many(fmt::format("{} tensors", small.size()), "adamw f32", adamW, small);
    hostCost("one tensor", adamW, {{{1 << 16}}});
    hostCost("ResNet-50", adamW, resnet);
    hostCost(fmt::format("{} tensors", small.size()), adamW, small);
  }

private:
  std::vector<Work> works() const {
    const auto storage = [](const char *param, const char *state) {
      return std::vector<std::pair<std::string, std::string>>{
          {"param", param}, {"grad", param}, {"state", state}};
    };
    const std::string adamW = fileOf(options, "adamw");
    // Clipping reads the gradient twice. Its limit is that of the step without clipping.
    return {{"adamw f32", {adamW}, true},
            {"adamw bf16", {adamW, "", {}, storage("bf16", "bf16")}, true},
            {"sgd momentum f32", {fileOf(options, "sgd"), "", {{"momentum", "0.9"}}}, true},
            {"lion f32", {fileOf(options, "lion")}, true},
            {"adamw bf16+f32", {adamW, "", {}, storage("bf16", "f32")}},
            {"adamw f32+q8",
             {adamW, "", {}, {{"exp_avg", "q8_linear"}, {"exp_avg_sq", "q8_companded"}}}},
            {"adamw bf16_stochastic",
             {adamW,
              "",
              {},
              {{"param", "bf16_stochastic"}, {"grad", "bf16"}, {"state", "bf16_stochastic"}}}},
            {"clip |> adamw f32", {adamW, "clip_by_global_norm(max_norm = 1) |> AdamW"}}};
  }

  json emptyLaunch() {
    const Times times = race(device, {[&] { device.launchNothing(); }}, options.quick)[0];
    launchMs = times.median;
    json values;
    put(values, "", times);
    return values;
  }

  /// Measures one tensor.
  void flat(const Work &work, int64_t elements, bool isLargest) {
    double ofLimit = 0;
    recorder.run(fmt::format("{}, {} elements", work.name, elements), [&] {
      Stepper stepper(device, work.request, {{{elements}}});
      std::vector<Body> contestants{[&] { stepper.step(); }};
      addLimits(device, stepper, contestants);
      const std::vector<Times> times = race(device, contestants, options.quick);
      const Times limit = limitOf(times, 1);
      json values{{"elements", elements}};
      put(values, "", times[0]);
      put(values, "limit_", limit);
      values["of_limit"] = ofLimit = limit.median / times[0].median;
      const auto bytes = static_cast<double>(elements * stepper.bytesPerElement());
      values["gb_per_s"] = bytes / times[0].median * 1e-6;
      values["limit_gb_per_s"] = bytes / limit.median * 1e-6;
      // Small tensors stay in the cache, so the limit doesn't apply.
      if (elements >= 1 << 26 || options.quick)
        bytesPerMs = std::max(bytesPerMs, bytes / limit.median);
      return values;
    });
    if (isLargest && ofLimit != 0 && work.isRequired)
      recorder.figureAtLeast(fmt::format("{}, {} elements, of the limit", work.name, elements),
                             ofLimit, 0.9);
  }

  /// Measures many tensors, beside one tensor of the same total size.
  void many(const std::string &name, const std::string &rule, const RuleRequest &request,
            const std::vector<TensorShape> &shapes) {
    double ofBound = 0;
    recorder.run(fmt::format("{}, {}", rule, name), [&] {
      Stepper stepper(device, request, shapes);
      Stepper whole(device, request, {{{stepper.elements()}}});
      const std::unique_ptr<Graph> graph = device.capture([&] { stepper.step(); });
      std::vector<Body> contestants{[&] { stepper.step(); }, [&] { whole.step(); },
                                    [&] { graph->launch(); }};
      const size_t first = contestants.size();
      addLimits(device, whole, contestants);
      const std::vector<Times> times = race(device, contestants, options.quick);
      json values{{"tensors", shapes.size()}, {"elements", stepper.elements()}};
      put(values, "", times[0]);
      put(values, "one_tensor_", times[1]);
      put(values, "graph_", times[2]);
      put(values, "limit_", limitOf(times, first));
      // The time of the memory traffic at full bandwidth, plus one launch.
      const double boundMs =
          static_cast<double>(stepper.elements() * stepper.bytesPerElement()) / bytesPerMs +
          launchMs;
      values["bandwidth_and_launch_ms"] = boundMs;
      values["of_bound"] = ofBound = times[0].median / boundMs;
      return values;
    });
    if (ofBound != 0 && name == "ResNet-50")
      recorder.figureAtMost(fmt::format("{}, {}, of bandwidth time plus one launch", rule, name),
                            ofBound, 1.3);
  }

  void hostCost(const std::string &name, const RuleRequest &request,
                const std::vector<TensorShape> &shapes) {
    double us = 0;
    recorder.run(fmt::format("host cost of a step, {}", name), [&] {
      Stepper stepper(device, request, shapes);
      us = hostCostUs(device, stepper, options.quick);
      return json{{"tensors", shapes.size()}, {"median_us", us}};
    });
    if (us != 0 && shapes.size() < 1000)
      recorder.figureAtMost(fmt::format("host cost of a step in us, {}", name), us, 10);
  }

  Device &device;
  const Options &options;
  Recorder &recorder;
  double launchMs = 0, bytesPerMs = 0;
};
} // namespace

void updraft::suite::runBenchmarks(Device &device, const Options &options, Recorder &recorder) {
  Benchmarks(device, options, recorder).run();
}
