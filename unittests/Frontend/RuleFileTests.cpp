//===- RuleFileTests.cpp - The shipped rules --------------------------------------------------===//
// Every rule under rules/, with every combination of its static flags and several storage types,
// becomes a valid updraft.rule. The standard library has no errors. Invalid hyperparameters are
// refused with PyTorch's messages.

#include "RuleFileTable.h"
#include "StandardLibrary.h"

#include "updraft/Frontend/Frontend.h"

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

#include <filesystem>

using namespace updraft;

namespace {
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
  for (StorageType param :
       {StorageType::F32, StorageType::F64, StorageType::BF16, StorageType::F16})
    for (StorageType grad :
         {StorageType::F32, StorageType::F64, StorageType::BF16, StorageType::F16})
      for (const Settings &settings : combinations) {
        DiagnosticEngine diagnostics;
        auto imported = importRule(context, *program,
                                   {"", settings, {{"param", param}, {"grad", grad}}}, diagnostics);
        // Nesterov without momentum is correctly refused.
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
  // The rule for matrices, if any, has the same declarations.
  RuleOp rule = formsIn<RuleOp>(*imported->module)[0];
  rule.walk([&](HyperOp op) {
    defaults.emplace_back(op->getAttrOfType<mlir::StringAttr>("name").str(),
                          llvm::formatv("{0}", op.getDefaultValue().convertToDouble()).str());
  });
  ASSERT_EQ(defaults.size(), GetParam().defaults.size());
  for (size_t i = 0; i < defaults.size(); ++i) {
    auto [name, value] = split(GetParam().defaults[i]);
    EXPECT_EQ(defaults[i].first, name);
    EXPECT_EQ(defaults[i].second, llvm::formatv("{0}", std::stod(value)).str());
  }
  EXPECT_EQ(rule.getSymName(), GetParam().rule);
}

TEST_P(RuleFileTest, RefusesBadValuesInTheWordsOfTorch) {
  for (const auto &[texts, message] : GetParam().refused) {
    Settings settings;
    for (llvm::StringRef setting : llvm::split(texts, ' '))
      settings.push_back(split(setting));
    DiagnosticEngine diagnostics;
    EXPECT_FALSE(importRule(context, *program, {"", settings, {}}, diagnostics));
    ASSERT_EQ(diagnostics.diagnostics().size(), 1u) << diagnostics.render();
    EXPECT_EQ(diagnostics.diagnostics()[0].message, message);
  }
}

TEST_P(RuleFileTest, HasABadValueForEveryRequirement) {
  for (const Requirement &requirement : program->main().rules.front().requirements) {
    // Up to the first value in it.
    std::string start = stringValue(*requirement.message);
    start = start.substr(0, start.find('{'));
    EXPECT_TRUE(llvm::any_of(GetParam().refused, [&](const auto &refusal) {
      return llvm::StringRef(refusal.second).starts_with(start);
    })) << start;
  }
}

TEST(RuleFileTable, HasEveryShippedRule) {
  for (const auto &file : std::filesystem::directory_iterator(UPDRAFT_RULES_DIR))
    if (file.path().extension() == ".upd")
      EXPECT_TRUE(llvm::any_of(ruleFiles(), [&](const RuleFile &entry) {
        return entry.file == file.path().stem().string();
      })) << file.path();
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleFileTest, testing::ValuesIn(ruleFiles()),
                         [](const auto &info) { return info.param.rule; });

TEST(StandardLibrary, HasNoMistakes) {
  EXPECT_EQ(standardLibraryDiagnostics().render(), "");
  for (const char *name : {"add", "addcdiv", "addcmul", "clamp", "lerp", "sign", "square"})
    EXPECT_TRUE(standardFunctions().contains(name)) << name;
}
} // namespace
