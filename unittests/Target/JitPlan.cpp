//===- JitPlan.cpp - A plan's functions, compiled into this process ---------------------------===//
// Runs each stage like the driver, then LLVM's just-in-time linker.

#include "JitPlan.h"

#include "JitModule.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/Pipelines.h"

#include <gtest/gtest.h>

namespace updraft::test {

std::vector<CPUTarget> runnableTargets() {
  CPUTarget target = CPUTarget::host();
  std::vector<CPUTarget> targets{target};
  for (unsigned bits = target.vectorBits / (target.maskRemainder ? 1 : 2); bits >= 128; bits /= 2) {
    target.vectorBits = bits;
    target.maskRemainder = false;
    targets.push_back(target);
  }
  return targets;
}

std::vector<CPUTarget> allLoopShapes() {
  std::vector<CPUTarget> targets;
  for (unsigned bits : {128, 256, 512})
    for (bool mask : {false, true}) {
      CPUTarget target = CPUTarget::host();
      target.vectorBits = bits;
      target.maskRemainder = mask;
      targets.push_back(target);
    }
  return targets;
}

static mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registerTargetDialects(registry);
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return context;
}

static llvm::Expected<std::unique_ptr<JitModule>> compile(llvm::StringRef text,
                                                          const CPUTarget &target) {
  mlir::MLIRContext &context = sharedContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("the plan does not parse");
  mlir::PassManager passes(&context);
  buildLoopsPipeline(passes, target);
  if (failed(passes.run(*module)))
    return llvm::createStringError("the plan cannot be lowered");
  return JitModule::link(*module, target);
}

JitPlan::JitPlan(llvm::StringRef text, const CPUTarget &target) {
  auto linked = compile(text, target);
  if (!linked) {
    ADD_FAILURE() << llvm::toString(linked.takeError()) << " for " << target.key() << " in\n"
                  << text.str();
    return;
  }
  process = std::move(*linked);
  initial = process->find<upd_initial_function>("R_initial");
  validate = process->find<upd_validate_function>("R_validate");
  auto findAll = [&](const std::string &stem, auto &functions) {
    using Function = typename std::remove_reference_t<decltype(functions)>::value_type;
    while (auto next = process->find<Function>(stem + std::to_string(functions.size())))
      functions.push_back(next);
  };
  findAll("R_prologue", prologues);
  findAll("R_sweep", sweeps);
  prologue = prologues.empty() ? nullptr : prologues.front();
  sweep = sweeps.empty() ? nullptr : sweeps.front();
}

JitPlan::~JitPlan() = default;

std::string substitute(std::string text,
                       const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size(), value);
  return text;
}

std::string loweringError(llvm::StringRef text) {
  mlir::MLIRContext &context = sharedContext();
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return messages;
  mlir::PassManager passes(&context);
  buildLoopsPipeline(passes, CPUTarget::host());
  buildLLVMDialectPipeline(passes);
  EXPECT_TRUE(failed(passes.run(*module)));
  return messages;
}

} // namespace updraft::test
