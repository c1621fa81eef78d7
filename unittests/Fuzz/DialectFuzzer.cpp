//===- DialectFuzzer.cpp - The dialect and the passes on any module ---------------------------===//
// If the parser and the verifiers accept a module, its text and bytecode must read back the same,
// and each pass must produce a valid module or a diagnostic.

#include "FuzzTarget.h"
#include "SourceFiles.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/Transforms/Pipelines.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;
using namespace updraft;
using namespace updraft::fuzz;

namespace {

/// A context with its passes, reused for several inputs, because a context never frees attributes.
struct Workshop {
  Workshop() : context(registry(), MLIRContext::Threading::DISABLED), toPlan(&context) {
    context.printOpOnDiagnostic(false);
    buildCPUPlanPipeline(toPlan);
    toPlan.enableVerifier(false); // would hide the pass with the error
    for (const char *name : {"x86-64-v3", "x86-64-v4"}) {
      const CPUTarget target = llvm::cantFail(CPUTarget::named(name));
      generators.push_back(llvm::cantFail(CodeGenerator::create(target)));
      PassManager &loops = *toLoops.emplace_back(std::make_unique<PassManager>(&context));
      buildLoopsPipeline(loops, target);
      loops.enableVerifier(false);
      PassManager &llvm = *toLLVM.emplace_back(std::make_unique<PassManager>(&context));
      buildLLVMDialectPipeline(llvm);
      llvm.enableVerifier(false);
    }
  }

  static DialectRegistry registry() {
    DialectRegistry result;
    registerTargetDialects(result);
    return result;
  }

  static Workshop &get() {
    static std::unique_ptr<Workshop> current;
    static unsigned uses = 0;
    if (uses++ % 500 == 0)
      current = std::make_unique<Workshop>();
    return *current;
  }

  MLIRContext context;
  PassManager toPlan;
  std::vector<std::unique_ptr<PassManager>> toLoops, toLLVM; // by target
  std::vector<std::unique_ptr<CodeGenerator>> generators;
};

/// Collects diagnostics during its lifetime.
struct Listener {
  explicit Listener(MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          llvm::raw_string_ostream(said) << diagnostic << "\n";
        }) {}
  std::string said;
  ScopedDiagnosticHandler handler;
};

std::string textOf(ModuleOp module, bool generic = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, generic ? OpPrintingFlags().printGenericOpForm() : OpPrintingFlags());
  return text;
}

void checkRoundTrips(MLIRContext &context, ModuleOp module) {
  const std::string text = textOf(module);
  std::string bytecode;
  llvm::raw_string_ostream os(bytecode);
  if (failed(writeBytecodeToFile(module, os)))
    finding("no bytecode for a valid module:\n" + text);
  for (const std::string &form : {text, textOf(module, /*generic=*/true), bytecode}) {
    Listener listener(context);
    auto again = parseSourceString<ModuleOp>(form, &context);
    if (!again)
      finding("a printed module is refused: " + listener.said + "\n" + text);
    if (textOf(*again) != text)
      finding("a printed module reads back as another:\n" + text + "\nand\n" + textOf(*again));
  }
}

/// Returns false if the passes refuse the module with a reason.
bool runPasses(PassManager &passes, ModuleOp module, const char *stage) {
  Listener listener(*module.getContext());
  if (failed(passes.run(module))) {
    if (listener.said.empty())
      finding(std::string("refused without a message on the way to ") + stage);
    return false;
  }
  if (failed(verify(module)))
    finding(std::string("an invalid module on the way to ") + stage + ": " + listener.said);
  return true;
}

void lower(Workshop &workshop, ModuleOp plan, size_t target) {
  OwningOpRef<ModuleOp> module(plan.clone());
  if (!runPasses(*workshop.toLoops[target], *module, "loops") ||
      !runPasses(*workshop.toLLVM[target], *module, "the LLVM dialect"))
    return;
  // A module without plans or rules may still use other dialects.
  Listener listener(workshop.context);
  llvm::LLVMContext llvmContext;
  auto translated = workshop.generators[target]->translate(*module, llvmContext);
  if (!translated) {
    llvm::consumeError(translated.takeError());
    if (listener.said.empty())
      finding("not translated, without a message");
    return;
  }
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(**translated, &os))
    finding("invalid LLVM IR: " + problem);
}

void fuzzDialect(std::string_view input) {
  Workshop &workshop = Workshop::get();
  const std::string text(input); // MLIR's lexer needs a null character at the end
  OwningOpRef<ModuleOp> module;
  {
    Listener listener(workshop.context);
    module = parseSourceString<ModuleOp>(text, &workshop.context);
    if (!module) {
      if (listener.said.empty())
        finding("refused without a message");
      return;
    }
  }
  checkRoundTrips(workshop.context, *module);
  if (!runPasses(workshop.toPlan, *module, "a plan"))
    return;
  checkRoundTrips(workshop.context, *module);
  for (size_t target = 0; target < workshop.toLoops.size(); ++target)
    lower(workshop, *module, target);
}

std::vector<Seed> dialectSeeds() {
  std::vector<Seed> seeds = splitAt("// -----", filesBelow("test", ".mlir"));
  llvm::append_range(seeds, documentationExamples("mlir"));
  return seeds;
}

std::vector<std::string> dialectWords() {
  MLIRContext &context = Workshop::get().context;
  context.loadAllAvailableDialects();
  std::vector<std::string> words = {
      "f32",   "f64",   "bf16", "f16",        "i1",     "!updraft.stream<f32>",
      "^bb0(", "%arg0", "-> ",  "loc(\"x\")", "dense<", "0x7FC00000"};
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() != "llvm" && name.getDialectNamespace() != "vector")
      words.push_back(name.getStringRef().str());
  return words;
}

} // namespace

const FuzzTarget updraft::fuzz::dialectTarget = {"dialect", fuzzDialect, dialectSeeds,
                                                 dialectWords};
