//===- RuleFileTests.cpp - The shipped rules --------------------------------------------------===//
// Every rule under rules/, with every combination of its static flags and several storage types,
// becomes a valid updraft.rule; the standard library has no mistakes; wrong hyperparameters are
// refused with PyTorch's words.

#include "StandardLibrary.h"

#include "updraft/Frontend/Frontend.h"

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace updraft;

namespace {
struct RuleFile {
  std::string file;
  std::string rule;
  /// Settings tried in every combination; the empty one leaves the default.
  std::vector<std::vector<std::string>> alternatives;
  std::vector<std::string> defaults;
  /// A bad setting and the message.
  std::vector<std::pair<std::string, std::string>> refused;
};

const std::vector<std::string> maximize = {"", "maximize=true"};

const std::vector<RuleFile> &ruleFiles() {
  static const std::vector<RuleFile> files = {
      {"sgd",
       "SGD",
       {{"", "momentum=0.9"}, {"", "nesterov=true"}, maximize},
       {"lr=0.001", "momentum=0", "dampening=0", "weight_decay=0"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"momentum=-0.5", "Invalid momentum value: -0.5"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"},
        {"nesterov=true", "Nesterov momentum requires a momentum and zero dampening"}}},
      {"adam",
       "Adam",
       {{"", "amsgrad=true"}, {"", "decoupled_weight_decay=true"}, maximize},
       {"lr=0.001", "beta1=0.9", "beta2=0.999", "eps=1e-08", "weight_decay=0"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"eps=-1", "Invalid epsilon value: -1.0"},
        {"beta1=1", "Invalid beta parameter at index 0: 1.0"},
        {"beta2=-0.1", "Invalid beta parameter at index 1: -0.1"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"}}},
      {"adamw",
       "AdamW",
       {{"", "amsgrad=true"}, maximize},
       {"lr=0.001", "beta1=0.9", "beta2=0.999", "eps=1e-08", "weight_decay=0.01"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"eps=-1", "Invalid epsilon value: -1.0"},
        {"beta1=1", "Invalid beta parameter at index 0: 1.0"},
        {"beta2=1", "Invalid beta parameter at index 1: 1.0"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"}}},
      {"rmsprop",
       "RMSprop",
       {{"", "momentum=0.9"}, {"", "centered=true"}, maximize},
       {"lr=0.01", "alpha=0.99", "eps=1e-08", "weight_decay=0", "momentum=0"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"eps=-1", "Invalid epsilon value: -1.0"},
        {"momentum=-1", "Invalid momentum value: -1.0"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"},
        {"alpha=-1", "Invalid alpha value: -1.0"}}},
      {"adagrad",
       "Adagrad",
       {{"", "initial_accumulator_value=0.5"}, maximize},
       {"lr=0.01", "lr_decay=0", "weight_decay=0", "initial_accumulator_value=0", "eps=1e-10"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"lr_decay=-1", "Invalid lr_decay value: -1.0"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"},
        {"initial_accumulator_value=-1", "Invalid initial_accumulator_value value: -1.0"},
        {"eps=-1", "Invalid epsilon value: -1.0"}}},
      {"qhm",
       "QHM",
       {{"", "weight_decay_type=direct", "weight_decay_type=\"grad\""}, maximize},
       {"lr=0.001", "momentum=0.999", "nu=0.7", "weight_decay=0"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"momentum=-1", "Invalid momentum value: -1.0"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"},
        {"nu=2", "Invalid nu value: 2.0"},
        {"weight_decay_type=both", "Invalid weight_decay_type value: both"}}},
      {"lion",
       "Lion",
       {maximize},
       {"lr=0.0001", "beta1=0.9", "beta2=0.99", "weight_decay=0"},
       {{"lr=-1", "Invalid learning rate: -1.0"},
        {"beta1=1", "Invalid beta parameter at index 0: 1.0"},
        {"beta2=1", "Invalid beta parameter at index 1: 1.0"},
        {"weight_decay=-1", "Invalid weight_decay value: -1.0"}}},
  };
  return files;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

Settings::value_type split(llvm::StringRef setting) {
  auto [name, value] = setting.split('=');
  return {name.str(), value.str()};
}

class RuleFileTest : public testing::TestWithParam<RuleFile> {
protected:
  void SetUp() override {
    std::string path = std::string(UPDRAFT_RULES_DIR) + "/" + GetParam().file + ".upd";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(static_cast<bool>(buffer));
    DiagnosticEngine diagnostics;
    program = parseProgram((*buffer)->getBuffer(), path, diagnostics);
    ASSERT_TRUE(program) << diagnostics.render();
  }

  std::shared_ptr<const Program> program;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

TEST_P(RuleFileTest, ImportsWithEveryCombination) {
  std::vector<Settings> combinations{{}};
  for (const auto &axis : GetParam().alternatives) {
    std::vector<Settings> extended;
    for (const Settings &settings : combinations)
      for (const std::string &setting : axis) {
        extended.push_back(settings);
        if (!setting.empty())
          extended.back().push_back(split(setting));
      }
    combinations = std::move(extended);
  }
  for (upd_dtype param : {UPD_F32, UPD_F64, UPD_BF16, UPD_F16})
    for (upd_dtype grad : {UPD_F32, UPD_F64, UPD_BF16, UPD_F16})
      for (const Settings &settings : combinations) {
        DiagnosticEngine diagnostics;
        auto imported = importRule(context, *program,
                                   {"", settings, {{"param", param}, {"grad", grad}}}, diagnostics);
        // Nesterov without momentum is refused, as it should be.
        if (!imported &&
            llvm::StringRef(diagnostics.render()).contains("Nesterov momentum requires"))
          continue;
        ASSERT_TRUE(imported) << diagnostics.render();
        EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported->module)));
      }
}

TEST_P(RuleFileTest, HasItsDefaults) {
  DiagnosticEngine diagnostics;
  auto imported = importRule(context, *program, {}, diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();
  Settings defaults, expected;
  imported->module->walk([&](HyperOp op) {
    defaults.emplace_back(op->getAttrOfType<mlir::StringAttr>("name").str(),
                          llvm::formatv("{0}", op.getDefaultValue().convertToDouble()).str());
  });
  ASSERT_EQ(defaults.size(), GetParam().defaults.size());
  for (size_t i = 0; i < defaults.size(); ++i) {
    auto [name, value] = split(GetParam().defaults[i]);
    EXPECT_EQ(defaults[i].first, name);
    EXPECT_EQ(defaults[i].second, llvm::formatv("{0}", std::stod(value)).str());
  }
  imported->module->walk([&](RuleOp op) { EXPECT_EQ(op.getSymName(), GetParam().rule); });
}

TEST_P(RuleFileTest, RefusesBadValuesInTheWordsOfTorch) {
  for (const auto &[setting, message] : GetParam().refused) {
    DiagnosticEngine diagnostics;
    EXPECT_FALSE(importRule(context, *program, {"", {split(setting)}, {}}, diagnostics));
    ASSERT_EQ(diagnostics.diagnostics().size(), 1u) << diagnostics.render();
    EXPECT_EQ(diagnostics.diagnostics()[0].message, message);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleFileTest, testing::ValuesIn(ruleFiles()),
                         [](const auto &info) { return info.param.rule; });

TEST(StandardLibrary, HasNoMistakes) {
  EXPECT_EQ(standardLibraryDiagnostics().render(), "");
  for (const char *name : {"add", "addcdiv", "addcmul", "clamp", "lerp", "sign", "square"})
    EXPECT_TRUE(standardFunctions().contains(name)) << name;
}
} // namespace
