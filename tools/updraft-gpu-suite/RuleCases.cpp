//===- RuleCases.cpp - The rules to compare ---------------------------------------------------===//

#include "RuleCases.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

using namespace updraft::suite;

namespace {
/// Options that a rule is compiled with. The settings are separated by spaces.
struct Variant {
  const char *file;
  const char *settings;
  const char *chain = "";
};

constexpr Variant variants[] = {
    {"sgd", "momentum=0.9"},
    {"sgd", "momentum=0.9 nesterov=true weight_decay=0.05 maximize=true"},
    {"adam", "amsgrad=true weight_decay=0.05"},
    {"adamw", "amsgrad=true maximize=true"},
    {"rmsprop", "centered=true momentum=0.9 weight_decay=0.05"},
    {"adagrad", "lr_decay=0.1 initial_accumulator_value=0.1"},
    {"qhm", "weight_decay_type=direct weight_decay=0.05"},
    {"radam", "beta2=0.5 weight_decay=0.05 decoupled_weight_decay=true"},
    {"adabelief", "amsgrad=true"},
    {"yogi", "bias_correction=true"},
    {"signum", "momentum=0.9"},
    {"adan", "no_prox=true weight_decay=0.05"},
    {"ademamix", "alpha_warmup=4 beta3_warmup=3"},
    {"mars", "clipped=true"},
    {"asgd", "t0=2"},
    {"schedule_free_sgd", "warmup_steps=3"},
    {"schedule_free_adamw", "warmup_steps=3"},
    {"adopt", "weight_decay=0.05 decoupled_weight_decay=true"},
    {"laprop", "amsgrad=true"},
    {"adamc", "normalized=false"},
    {"gpa_adamw", "weight_decay=0.05 eval_interp_coeff=0.9"},
    {"ftrl", "lr_power=-0.6 l1=0.5"},
    {"adam_mini", "block=batch"},
    {"adam_mini", "block=tensor"},
    {"muon", "ns_set=aol ns_steps=2 accumulation=feedback nesterov=false"},
    {"muon", "products=bf16"},
    {"muon", "products=f16"},
    {"polargrad", "ns_set=simple ns_steps=1 polar_first=true"},
    {"scion", "norm=Spectral clamped=true"},
    {"scion", "products=bf16"},
    {"adamw", "", "clip_by_global_norm(max_norm = 1) |> AdamW"},
    {"sgd", "momentum=0.9", "add_noise |> SGD"},
    {"adamw", "", "accumulate(every = 2) |> AdamW"},
    {"adamw", "", "centralize |> AdamW |> cautious"},
    {"adamw", "", "AdamW |> ema_of_weights"},
};

struct Storage {
  const char *name;
  const char *param, *grad, *state;
  bool isQuick;
};

constexpr Storage storages[] = {
    {"f32", "f32", "f32", "f32", true},
    {"bf16", "bf16", "bf16", "bf16", false},
    {"bf16+f32", "bf16", "bf16", "f32", true},
    {"f32+bf16", "f32", "bf16", "bf16", false},
    {"f16", "f16", "f16", "f32", false},
    {"f64", "f64", "f64", "f64", false},
    {"bf16_stochastic", "bf16_stochastic", "bf16", "bf16_stochastic", false},
    {"bf16_corrected", "bf16_corrected", "bf16", "f32", false},
    {"q8_linear", "f32", "f32", "q8_linear", false},
    {"bf16+q8_companded", "bf16", "bf16", "q8_companded", false},
};

bool isAsked(const Options &options, const std::string &rule) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), rule) != options.only.end();
}
} // namespace

std::string updraft::suite::fileOf(const Options &options, const std::string &rule) {
  return options.rulesFolder + "/" + rule + ".upd";
}

static std::vector<std::pair<std::string, std::string>> settingsOf(const Variant &variant) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream words(variant.settings);
  for (std::string word; words >> word;)
    settings.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  return settings;
}

static void addCases(const Options &options, const Variant &variant, std::vector<RuleCase> &cases) {
  if (!isAsked(options, variant.file))
    return;
  for (const Storage &storage : storages) {
    if (options.quick && !storage.isQuick)
      continue;
    std::string name = *variant.chain ? variant.chain : variant.file;
    for (const char *part : {variant.settings, storage.name})
      if (*part)
        name += fmt::format(" {}", part);
    cases.push_back(
        {name,
         {fileOf(options, variant.file),
          variant.chain,
          settingsOf(variant),
          {{"param", storage.param}, {"grad", storage.grad}, {"state", storage.state}}}});
  }
}

std::vector<std::string> updraft::suite::shippedRules(const Options &options) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(options.rulesFolder))
    if (entry.path().extension() == ".upd")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<RuleCase> updraft::suite::ruleCases(const Options &options) {
  std::vector<RuleCase> cases;
  for (const std::string &file : shippedRules(options))
    addCases(options, {file.c_str(), ""}, cases);
  for (const Variant &variant : variants)
    addCases(options, variant, cases);
  if (isAsked(options, "adamw"))
    cases.push_back({"adamw q8",
                     {fileOf(options, "adamw"),
                      "",
                      {},
                      {{"exp_avg", "q8_linear"}, {"exp_avg_sq", "q8_companded"}}}});
  return cases;
}
