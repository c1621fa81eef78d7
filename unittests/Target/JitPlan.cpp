//===- JitPlan.cpp - A plan's functions, compiled into this process ---------------------------===//
// Runs each stage like the driver, then LLVM's just-in-time linker.

#include "JitPlan.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

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

struct JitPlan::Process {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

static mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registerTargetDialects(registry);
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return context;
}

static llvm::Expected<llvm::SmallVector<char, 0>> compile(llvm::StringRef text,
                                                          const CPUTarget &target) {
  mlir::MLIRContext &context = sharedContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("the plan does not parse");
  mlir::PassManager passes(&context);
  buildLoopsPipeline(passes, target);
  buildLLVMDialectPipeline(passes);
  if (failed(passes.run(*module)))
    return llvm::createStringError("the plan cannot be lowered");
  auto generator = CodeGenerator::create(target);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext llvmContext;
  auto translated = (*generator)->translate(*module, llvmContext);
  if (!translated)
    return translated.takeError();
  (*generator)->optimize(**translated);
  return (*generator)->emitObject(**translated);
}

JitPlan::JitPlan(llvm::StringRef text, const CPUTarget &target)
    : process(std::make_unique<Process>()) {
  auto link = [&]() -> llvm::Error {
    auto object = compile(text, target);
    if (!object)
      return object.takeError();
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit)
      return jit.takeError();
    process->jit = std::move(*jit);
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy({object->data(), object->size()}, "R.o");
    if (llvm::Error error = process->jit->addObjectFile(std::move(buffer)))
      return error;
    auto lookUp = [&](const std::string &name, auto &function) {
      auto address = process->jit->lookup(name);
      if (address)
        function = address->toPtr<std::remove_reference_t<decltype(function)>>();
      else
        llvm::consumeError(address.takeError());
      return function != nullptr;
    };
    lookUp("R_initial", initial);
    lookUp("R_validate", validate);
    for (upd_prologue_function next = nullptr;
         lookUp("R_prologue" + std::to_string(prologues.size()), next); next = nullptr)
      prologues.push_back(next);
    for (upd_sweep_function next = nullptr; lookUp("R_sweep" + std::to_string(sweeps.size()), next);
         next = nullptr)
      sweeps.push_back(next);
    prologue = prologues.empty() ? nullptr : prologues.front();
    sweep = sweeps.empty() ? nullptr : sweeps.front();
    return llvm::Error::success();
  };
  if (llvm::Error error = link())
    ADD_FAILURE() << llvm::toString(std::move(error)) << " for " << target.key() << " in\n"
                  << text.str();
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
