//===- RuleTable.cpp - The shipped rules and their test settings ------------------------------===//

#include "RuleTable.h"

#include "Sides.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cctype>
#include <filesystem>

using namespace updraft::differential;

namespace {

/// Settings that are tested in all combinations: one alternative from each axis. Settings are
/// separated by spaces.
using Axis = std::vector<std::string>;

struct RuleEntry {
  std::string file;
  std::vector<Axis> axes;
  std::vector<HyperChange> changes;
  bool allStorageTypes = false;
  int steps = 5;
};

const Axis maximize = {"maximize=false", "maximize=true"};
const Axis weightDecay = {"weight_decay=0", "weight_decay=0.05"};
const std::vector<HyperChange> adamChanges = {
    {2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "beta2", 0.99}, {5, "eps", 1e-4}};

const std::vector<RuleEntry> &table() {
  static const std::vector<RuleEntry> entries = {
      {"sgd",
       {{"momentum=0", "momentum=0.9", "momentum=0.9 dampening=0.3", "momentum=0.9 nesterov=true"},
        weightDecay,
        maximize},
       {{1, "lr", 0.1}, {3, "lr", 0.037}}},
      {"adam",
       {{"amsgrad=false", "amsgrad=true"},
        {"weight_decay=0", "weight_decay=0.05", "weight_decay=0.05 decoupled_weight_decay=true"},
        maximize},
       adamChanges},
      {"adamw", {{"amsgrad=false", "amsgrad=true"}, weightDecay, maximize}, adamChanges, true},
      {"rmsprop",
       {{"centered=false", "centered=true"}, {"momentum=0", "momentum=0.9"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "alpha", 0.9}, {4, "eps", 1e-4}}},
      {"adagrad",
       {{"lr_decay=0", "lr_decay=0.1"},
        {"initial_accumulator_value=0", "initial_accumulator_value=0.1"},
        weightDecay,
        maximize},
       {{2, "lr", 0.02}, {3, "eps", 1e-4}}},
      {"sparse_adam", {maximize}, adamChanges},
      {"rowwise_adagrad",
       {{"lr_decay=0", "lr_decay=0.1 initial_accumulator_value=0.1"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "eps", 1e-4}}},
      {"qhm",
       {{"weight_decay_type=grad", "weight_decay_type=direct"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "momentum", 0.8}, {4, "nu", 0.5}}},
      {"lion", {weightDecay, maximize}, {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "beta2", 0.9}}},
      {"adamax", {weightDecay, maximize}, adamChanges},
      {"adadelta", {weightDecay, maximize}, {{2, "lr", 0.5}, {3, "rho", 0.8}, {4, "eps", 1e-4}}},
      // Steps 1 to 5 are not rectified; with beta2 = 0.5, none is.
      {"radam",
       {{"weight_decay=0", "weight_decay=0.05", "weight_decay=0.05 decoupled_weight_decay=true"},
        {"beta2=0.999", "beta2=0.5"},
        maximize},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {5, "eps", 1e-4}},
       false,
       9},
      {"rprop",
       {maximize},
       {{2, "lr", 0.02}, {3, "etaplus", 1.5}, {4, "etaminus", 0.3}, {5, "step_size_max", 0.02}}},
      {"adabelief", {{"amsgrad=false", "amsgrad=true"}, weightDecay, maximize}, adamChanges},
      {"yogi",
       {{"bias_correction=false", "bias_correction=true"}, weightDecay, maximize},
       adamChanges},
      {"signum",
       {{"momentum=0", "momentum=0.9"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {4, "weight_decay", 0.1}}},
      {"qhadam",
       {{"weight_decay=0", "weight_decay=0.05", "weight_decay=0.05 decoupled_weight_decay=true"},
        {"nu2=1", "nu2=0.7"},
        maximize},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "nu1", 0.5}, {5, "eps", 1e-4}}},
      {"adan",
       {{"no_prox=false", "no_prox=true"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "beta2", 0.7}, {5, "beta3", 0.9}}},
      {"ademamix",
       {{"alpha_warmup=0 beta3_warmup=0", "alpha_warmup=4 beta3_warmup=3"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "alpha", 5}, {5, "beta3", 0.99}}},
      {"mars",
       {{"clipped=false", "clipped=true"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "gamma", 0.1}, {5, "eps", 1e-4}}},
      {"sophia",
       {{"weight_decay=0", "weight_decay=0.2"}, maximize},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "gamma", 0.1}, {5, "eps", 1e-4}}},
      {"nadam",
       {{"weight_decay=0", "weight_decay=0.05", "weight_decay=0.05 decoupled_weight_decay=true"},
        maximize},
       adamChanges},
      // With t0 = 2, averaging begins at the third step.
      {"asgd",
       {{"t0=2", "t0=1e6"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "lambd", 0.1}, {4, "alpha", 0.5}}},
      {"adafactor",
       {weightDecay, maximize},
       {{2, "lr", 0.5}, {3, "beta2_decay", -0.5}, {4, "eps2", 0.1}, {5, "d", 2}}},
      {"lamb", {weightDecay, maximize}, adamChanges},
      {"lars",
       {weightDecay, maximize},
       {{2, "lr", 1}, {3, "momentum", 0.5}, {4, "trust_coefficient", 0.02}}},
      {"novograd", {weightDecay, maximize}, adamChanges},
      {"schedule_free_sgd",
       {{"warmup_steps=0", "warmup_steps=3"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "momentum", 0.8}}},
      {"schedule_free_adamw",
       {{"warmup_steps=0", "warmup_steps=3"}, weightDecay, maximize},
       adamChanges},
      {"stable_adamw", {weightDecay, maximize}, adamChanges},
      {"adopt",
       {{"weight_decay=0", "weight_decay=0.05", "weight_decay=0.05 decoupled_weight_decay=true"},
        {"clipped=false", "clipped=true"},
        maximize},
       adamChanges},
      {"laprop", {{"amsgrad=false", "amsgrad=true"}, weightDecay, maximize}, adamChanges},
      {"grams",
       {{"bias_correction=false", "bias_correction=true"}, weightDecay, maximize},
       adamChanges},
      {"adamc",
       {{"normalized=false", "normalized=true"}, weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "max_lr", 0.1}, {4, "beta2", 0.99}, {5, "eps", 1e-4}}},
      {"gpa_adamw",
       {{"weight_decay=0", "weight_decay=0.05", "weight_decay=0.05 use_wd_on_y=true"}, maximize},
       {{2, "lr", 0.02},
        {3, "beta1", 0.8},
        {4, "train_interp_coeff", 0.9},
        {5, "eval_interp_coeff", 0.9}}},
      {"ftrl",
       {{"lr_power=-0.5", "lr_power=-0.6"},
        {"initial_accumulator_value=0.1", "initial_accumulator_value=0"},
        {"l1=0", "l1=0.5 l2=0.1"},
        maximize},
       {{2, "lr", 0.02}, {3, "l2", 0.5}, {4, "beta", 1}}},
      {"came",
       {weightDecay, maximize},
       {{2, "lr", 0.02}, {3, "clip_threshold", 0.5}, {4, "beta2", 0.99}, {5, "beta3", 0.9}}},
      {"adam_mini",
       {{"block=row", "block=batch", "block=tensor"}, weightDecay, maximize},
       adamChanges},
      {"muon",
       {{"ns_steps=1", "ns_set=cans ns_steps=3 accumulation=sum adjust_lr_fn=match_rms_adamw",
         "ns_set=aol ns_steps=2 accumulation=feedback nesterov=false"}},
       {{2, "lr", 0.02}, {3, "momentum", 0.5}, {4, "weight_decay", 0.05}}},
      {"muonclip",
       {{"ns_steps=1", "ns_set=cans ns_steps=3 accumulation=sum adjust_lr_fn=match_rms_adamw",
         "ns_set=aol ns_steps=2 accumulation=feedback nesterov=false"}},
       {{2, "lr", 0.02}, {3, "logit_threshold", 0.5}, {4, "clip_exponent", 1}}},
      {"normuon",
       {{"ns_steps=1", "ns_set=simple ns_steps=2 nesterov=true adjust_lr=rms_norm",
         "ns_set=aol ns_steps=1 cautious_wd=true adjust_lr=none"}},
       {{2, "lr", 0.02}, {3, "mu", 0.5}, {4, "muon_beta2", 0.5}, {5, "weight_decay", 0.05}}},
      {"adamuon",
       {{"ns_steps=1", "ns_steps=2 nesterov=false maximize=true",
         "ns_set=quintic ns_steps=1 sign_stabilized=false"}},
       {{2, "lr", 0.05}, {3, "momentum", 0.5}, {4, "eps", 1e-4}}},
      {"polargrad",
       {{"ns_steps=1", "ns_steps=2 nesterov=true maximize=true",
         "ns_set=simple ns_steps=1 polar_first=true"}},
       {{2, "lr", 0.02}, {3, "momentum", 0.5}, {4, "extra_scale_factor", 0.2}}},
      {"scion",
       {{"ns_steps=1", "norm=Spectral ns_steps=1 clamped=true unconstrained=true", "norm=Sign",
         "norm=ColNorm", "norm=ColNorm normalized=true transposed=true", "norm=RowNorm",
         "norm=BiasRMS maximize=true"}},
       {{2, "lr", 0.02}, {3, "momentum", 0.1}, {4, "scale", 3}}},
      {"dion2",
       {{"ns_steps=1", "ns_set=simple ns_steps=2 fraction=0.5 adjust_lr=rms_norm maximize=true",
         "ns_set=cans ns_steps=1 fraction=1 adjust_lr=none"}},
       {{2, "lr", 0.02}, {3, "ef_decay", 0.5}, {4, "weight_decay", 0.05}, {5, "epsilon", 1e-4}}},
      {"soap",
       {{"precondition_frequency=2", "precondition_frequency=1 shampoo_beta=0.8",
         "precondition_frequency=3 normalize_grads=true correct_bias=false maximize=true"}},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "shampoo_beta", 0.5}, {5, "eps", 1e-4}}},
      {"shampoo",
       {{"beta2=1", "precondition_frequency=2 grafting=none beta2=0.9",
         "root_inverse=coupled_newton max_iterations=4 epsilon=0.01",
         "precondition_frequency=2 use_bias_correction=false maximize=true"}},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "beta2", 0.5}, {5, "weight_decay", 0.05}}},
      {"kl_shampoo",
       {{"precondition_frequency=2", "precondition_frequency=1 using_clamping=false",
         "precondition_frequency=3 normalize_grads=true max_clamp_value=2 maximize=true"}},
       {{2, "lr", 0.02}, {3, "beta1", 0.8}, {4, "shampoo_beta", 0.5}, {5, "eps", 1e-4}}},
      {"psgd_pro",
       {{"momentum=0.9", "max_update_rms=0.5 maximize=true"}},
       {{2, "lr", 0.02}, {3, "momentum", 0.5}, {4, "precond_lr", 0.5}, {5, "max_update_rms", 0.1}}},
      {"prodigy",
       {{"d0=1e-6", "d0=1e-2"}, weightDecay, maximize},
       {{2, "lr", 0.5}, {3, "beta1", 0.8}, {4, "growth_rate", 1.5}, {5, "d_coef", 0.5}}},
  };
  return entries;
}

const std::string rulesFolder = UPDRAFT_RULES_DIR;

} // namespace

std::vector<std::string> updraft::differential::ruleFiles() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(UPDRAFT_RULES_DIR))
    if (entry.path().extension() == ".upd")
      files.push_back(entry.path().stem());
  llvm::sort(files);
  return files;
}

std::string RuleVariant::name() const {
  std::string text = file + "_";
  for (const std::string &setting : settings)
    for (char c : "_" + setting)
      text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

RuleCase RuleVariant::instantiate(StorageChoice storage) const {
  RuleCase ruleCase;
  ruleCase.filename = rulesFolder + "/" + file + ".upd";
  if (auto buffer = llvm::MemoryBuffer::getFile(ruleCase.filename))
    ruleCase.source = (*buffer)->getBuffer().str();
  for (llvm::StringRef setting : settings)
    ruleCase.settings.emplace_back(setting.split('=').first.str(), setting.split('=').second.str());
  ruleCase.storage = std::move(storage);
  ruleCase.changes = changes;
  ruleCase.steps = steps;
  ruleCase.seed = 1000 * index + 1;
  return ruleCase;
}

std::vector<RuleVariant> updraft::differential::allVariants() {
  std::vector<RuleVariant> all;
  for (const std::string &file : ruleFiles())
    llvm::append_range(all, variantsOf(file));
  return all;
}

std::vector<RuleVariant> updraft::differential::variantsOf(const std::string &file) {
  std::vector<RuleVariant> variants;
  for (const RuleEntry &entry : table()) {
    if (entry.file != file)
      continue;
    variants.push_back({file, {}, entry.changes, entry.allStorageTypes, entry.steps});
    for (const Axis &axis : entry.axes) {
      std::vector<RuleVariant> extended;
      for (const RuleVariant &variant : variants)
        for (llvm::StringRef alternative : axis) {
          RuleVariant &next = extended.emplace_back(variant);
          while (!alternative.empty()) {
            auto [setting, rest] = alternative.split(' ');
            next.settings.push_back(setting.str());
            alternative = rest;
          }
        }
      variants = std::move(extended);
    }
  }
  for (size_t i = 0; i < variants.size(); ++i)
    variants[i].index = i;
  return variants;
}

std::vector<StorageChoice> updraft::differential::storageChoices(const RuleVariant &variant) {
  constexpr StorageType types[] = {StorageType::F32, StorageType::F64, StorageType::BF16,
                                   StorageType::F16};
  std::vector<StorageChoice> choices;
  for (int param = 0; param < 4; ++param)
    for (int grad = 0; grad < 4; ++grad)
      for (int state = 0; state < 4; ++state)
        // A Latin square of states: each pair of types occurs once.
        if (variant.allStorageTypes || state == (param + grad) % 4)
          choices.push_back(
              {{"param", types[param]}, {"grad", types[grad]}, {"state", types[state]}});
  const StorageType stochastic = StorageType::BF16Stochastic,
                    corrected = StorageType::BF16Corrected;
  choices.push_back({{"param", stochastic}, {"grad", StorageType::BF16}, {"state", stochastic}});
  choices.push_back(
      {{"param", corrected}, {"grad", StorageType::BF16}, {"state", StorageType::F32}});
  choices.push_back(
      {{"param", StorageType::F32}, {"grad", StorageType::F32}, {"state", stochastic}});
  choices.push_back({{"param", corrected}, {"grad", StorageType::F64}, {"state", stochastic}});
  choices.push_back({{"param", stochastic}, {"grad", StorageType::F16}, {"state", corrected}});
  return choices;
}

std::vector<StorageChoice> updraft::differential::mixedStorage(const RuleVariant &variant,
                                                               llvm::ArrayRef<std::string> states) {
  constexpr StorageType floats[] = {StorageType::F32, StorageType::BF16, StorageType::F16,
                                    StorageType::F64};
  constexpr StorageType all[] = {StorageType::F32,          StorageType::BF16Stochastic,
                                 StorageType::Q8Linear,     StorageType::BF16,
                                 StorageType::Q8Companded,  StorageType::F16,
                                 StorageType::BF16Corrected};
  constexpr StorageType params[] = {StorageType::F32, StorageType::BF16,
                                    StorageType::BF16Stochastic, StorageType::BF16Corrected};
  const size_t index = variant.index;
  StorageChoice ofFloats = {{"param", floats[index / 2 % 4]}, {"grad", floats[index / 3 % 4]}};
  StorageChoice ofAll = {{"param", params[index % 4]}, {"grad", floats[index / 4 % 2]}};
  for (auto [i, state] : llvm::enumerate(states)) {
    ofFloats.emplace_back(state, floats[(index + i) % 4]);
    ofAll.emplace_back(state, all[(3 * index + i) % 7]);
  }
  return {ofFloats, ofAll};
}
