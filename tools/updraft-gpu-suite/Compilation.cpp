//===- Compilation.cpp - Time from a rule to its first step -----------------------------------===//

#include "Parts.h"
#include "RuleCases.h"
#include "Stepper.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

using namespace updraft::harness;
using namespace updraft::suite;
using json = nlohmann::ordered_json;

static double msOf(const std::function<void()> &body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Compiles to PTX for an architecture, without the driver. The library then has the PTX in memory,
/// so the rest of the first step is mostly the driver's compilation.
static json fromRuleToStep(Device &device, const RuleRequest &request, double &ptxMs) {
  ptxMs = msOf([&] { compile(request, device.architecture(), ""); });
  const double firstMs = msOf([&] { Stepper(device, request, {{{4096}}}); });
  const double againMs = msOf([&] { Stepper(device, request, {{{4096}}}); });
  return {{"ptx_ms", ptxMs}, {"ptx_to_step_ms", firstMs}, {"again_ms", againMs}};
}

void updraft::suite::runCompilation(Device &device, const Options &options, Recorder &recorder) {
  // Excludes one-time work of the library and the driver from the first rule.
  recorder.run("the process's first step", [&] {
    return json{{"first_step_ms",
                 msOf([&] { Stepper(device, {fileOf(options, "adagrad")}, {{{4096}}}); })}};
  });
  std::vector<double> all;
  for (const RuleCase &ruleCase : ruleCases(options)) {
    if (!ruleCase.name.ends_with(" f32"))
      continue;
    double ptxMs = 0;
    recorder.run(ruleCase.name, [&] { return fromRuleToStep(device, ruleCase.request, ptxMs); });
    if (ptxMs != 0)
      all.push_back(ptxMs);
    if (ptxMs != 0 && ruleCase.name == "adamw f32")
      recorder.figureAtMost("PTX of AdamW in ms", ptxMs, 30);
  }
  if (all.empty())
    return;
  std::sort(all.begin(), all.end());
  recorder.figureAtMost("PTX of a rule in ms, median", all[all.size() / 2], 30);
  recorder.figureAtMost("PTX of a rule in ms, most", all.back(), 30);
}
