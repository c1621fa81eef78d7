//===- Compiler.cpp - From text to machine code -----------------------------------------------===//

#include "updraft/Driver/Compiler.h"

#include "CUDATools.h"
#include "Dump.h"
#include "Explain.h"
#include "ExplainKernels.h"
#include "InterfaceJson.h"
#include "Reproducer.h"
#include "SecondHalf.h"
#include "SideTask.h"
#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Pipelines.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "updraft/Conversion/Passes.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Frontend.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/PTXEmitter.h"
#include "updraft/Target/Pipelines.h"
#include "updraft/Target/SplitModule.h"
#include "updraft/Target/TorchSource.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace updraft;

// Of a rule that takes long enough to compile that a second thread is worth its beginning.
static constexpr size_t minOperationsOfTwoThreads = 1000;

/// What outlives one compilation. The context is made when a rule is first compiled, so that a
/// process whose rules all come from the cache does without.
struct Compiler::Cached {
  Cached()
      : context(makeRegistry(), MLIRContext::Threading::DISABLED), toTorch(&context),
        toPlan(&context), toLLVM(&context), toLineTables(&context), toNVVM(&context),
        toEmulator(&context) {
    toTorch.addPass(createExpandStoragePass());
    toTorch.addPass(createSimplifyPass());
    buildSchedulePipeline(toPlan);
    buildLLVMDialectPipeline(toLLVM);
    toLineTables.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
    buildNVVMPipeline(toNVVM);
    buildEmulatorPipeline(toEmulator);
    for (PassManager *passes : {&toTorch, &toPlan, &toLLVM, &toLineTables, &toNVVM, &toEmulator})
      passes->addInstrumentation(std::make_unique<DumpAfterPasses>(dump));
    for (PassManager *passes : {&toLLVM, &toNVVM, &toEmulator})
      skipVerification(*passes);
  }

  /// What is made once for each target.
  struct ForTarget {
    ForTarget(MLIRContext &context, const CPUTarget &target) : toLoops(&context) {
      toLoops.addPass(createExpandMathPass());
      buildLoopsPipeline(toLoops, target);
    }
    PassManager toLoops;
    std::unique_ptr<CodeGenerator> generator;       // null until code is generated
    std::unique_ptr<CodeGenerator> secondGenerator; // null until two threads generate code
  };

  ForTarget &forTarget(const CPUTarget &target) {
    std::unique_ptr<ForTarget> &made = targets[target.key()];
    if (!made) {
      made = std::make_unique<ForTarget>(context, target);
      made->toLoops.addInstrumentation(std::make_unique<DumpAfterPasses>(dump));
      skipVerification(made->toLoops);
    }
    return *made;
  }

  // A plan is verified, and what comes out by LLVM. In between, what a pass breaks would be a
  // defect of it, which a build with assertions finds.
  static void skipVerification([[maybe_unused]] PassManager &passes) {
#ifdef NDEBUG
    passes.enableVerifier(false);
#endif
  }

  PassManager &forTarget(const GPUTarget &target) {
    std::unique_ptr<PassManager> &made = toKernels[target.name];
    if (!made) {
      made = std::make_unique<PassManager>(&context);
      if (!target.isEmulated)
        made->addPass(createApproximatePass());
      made->addPass(createExpandMathPass());
      buildKernelsPipeline(*made, target);
      made->addInstrumentation(std::make_unique<DumpAfterPasses>(dump));
      skipVerification(*made);
    }
    return *made;
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<UpdraftDialect>();
    registerTargetDialects(registry);
    return registry;
  }

  MLIRContext context; // threads would cost more than they save on modules of this size
  PassManager toTorch;
  PassManager toPlan;
  PassManager toLLVM;
  PassManager toLineTables;
  PassManager toNVVM;
  PassManager toEmulator;
  Dump *dump = nullptr; // of the rule that is being compiled
  llvm::StringMap<std::unique_ptr<ForTarget>> targets;
  llvm::StringMap<std::unique_ptr<PassManager>> toKernels; // by target
};

/// One rule on its way through the stages; each function goes one further.
class Compiler::Compilation {
public:
  Compilation(Cached &cached, const CompileRequest &request)
      : cached(cached), tools(cached.forTarget(request.target)), request(request),
        handler(&cached.context, [this](mlir::Diagnostic &diagnostic) {
          llvm::raw_string_ostream os(internalDiagnostics);
          os << diagnostic.getLocation() << ": " << diagnostic << "\n";
          return success();
        }) {}
  ~Compilation() { cached.dump = nullptr; }

  /// Begins to make what code is generated with, which takes milliseconds the first time, beside
  /// what comes before that.
  void prepareGenerator() {
    if (tools.generator)
      return;
    preparation.emplace([this] {
      // Who needs it says why there is none.
      if (llvm::Error error = makeGenerator())
        llvm::consumeError(std::move(error));
    });
  }

  /// Text to `updraft.rule`.
  llvm::Error import(const Program &program) {
    updraft::DiagnosticEngine diagnostics;
    std::optional<ImportedRule> found =
        importRule(cached.context, program, request.rule, diagnostics);
    if (!found)
      return makeError(UPD_COMPILE_ERROR, diagnostics.render());
    imported = std::move(*found);
    module = std::move(imported.module);
    source = &program;
    auto rules = module->getOps<RuleOp>();
    dump.emplace(
        dumpFolderOf(program, request, rules.empty() ? "" : (*rules.begin()).getSymName()));
    dump->write("import.mlir", *module);
    cached.dump = dump->isWanted() ? &*dump : nullptr;
    return llvm::Error::success();
  }

  /// To operations of torch, as text.
  llvm::Error printTorch(llvm::raw_ostream &os) {
    if (llvm::Error error = run(cached.toTorch, "torch"))
      return error;
    dropUnneededReductions(*module);
    std::string text, reason;
    llvm::raw_string_ostream textStream(text);
    if (failed(printTorchSource(*module, textStream, reason)))
      return makeError(UPD_UNSUPPORTED, "cannot write the rule with torch's operations: " + reason);
    os << text;
    return llvm::Error::success();
  }

  /// To `updraft.plan`.
  llvm::Error schedule() {
    if (llvm::Error error = run(cached.toPlan, "schedule"))
      return error;
    auto plans = module->getOps<PlanOp>();
    if (plans.empty())
      return internalError("schedule", "");
    ruleName = (*plans.begin()).getSymName().str();
    interface = interfaceJson(*plans.begin(), request.rule.numerics,
                              request.gpu ? request.gpu->name : "", imported);
    return llvm::Error::success();
  }

  llvm::Error lowerToLoops() {
    if (!request.gpu)
      return run(tools.toLoops, "loops");
    if (llvm::Error error = lowerToKernels())
      return error;
    return run(cached.toEmulator, "loops");
  }

  llvm::Error lowerToKernels() {
    PassManager &toKernels = cached.forTarget(*request.gpu);
    return run(toKernels, "gpu");
  }
  llvm::Error lowerToNVVM() { return run(cached.toNVVM, "nvvm"); }

  llvm::Expected<std::string> ptx() { return emitPTX(kernels(), *request.gpu); }
  llvm::Expected<std::string> cubin() {
    auto text = ptx();
    if (!text)
      return text.takeError();
    auto assembled = assemblePTX(*text, *request.gpu);
    if (!assembled)
      return assembled.takeError();
    return std::move(assembled->cubin);
  }
  llvm::Expected<std::string> sass() {
    auto bytes = cubin();
    if (!bytes)
      return bytes.takeError();
    return disassemble(*bytes);
  }

  /// Leaves what runs on the host; an object of that has the kernels as text.
  llvm::Error lowerToHost() {
    if (llvm::Error error = lowerToKernels())
      return error;
    if (llvm::Error error = lowerToNVVM())
      return error;
    auto text = ptx();
    if (!text)
      return text.takeError();
    kernelText = std::move(*text);
    kernels().erase();
    return llvm::Error::success();
  }

  /// To LLVM IR.
  llvm::Error lowerToLLVM() {
    if (llvm::Error error = lowerToLLVMDialect())
      return error;
    return translate();
  }

  /// From loops to machine code: of a large rule to two objects in an archive, made by two threads.
  llvm::Expected<std::string> generate() {
    if (llvm::Error error = lowerToLLVMDialect())
      return error;
    // Who looks at the code finds it in one module.
    OwningOpRef<ModuleOp> part;
    if (!dump->isWanted() && !request.inspection.lineTables)
      part = splitModule(*module, minOperationsOfTwoThreads);
    if (!part) {
      if (llvm::Error error = translate())
        return error;
      return object();
    }
    auto second = SecondHalf::start(*part, *tools.generator, tools.secondGenerator);
    if (!second)
      return second.takeError();
    if (llvm::Error error = translate())
      return error;
    auto first = tools.generator->emitObject(*llvmModule);
    if (!first)
      return first.takeError();
    auto rest = (*second)->take();
    if (!rest)
      return rest.takeError();
    return archiveOf(*first, *rest);
  }

  llvm::Expected<std::string> object() {
    auto bytes = tools.generator->emitObject(*llvmModule);
    if (!bytes)
      return bytes.takeError();
    return std::string(bytes->begin(), bytes->end());
  }
  llvm::Expected<std::string> assembly() { return tools.generator->emitAssembly(*llvmModule); }

  void printModule(llvm::raw_ostream &os) {
    module->print(os, printingFlags(request.inspection.printLocations));
    os << "\n";
  }
  void printLLVM(llvm::raw_ostream &os) { llvmModule->print(os, nullptr); }

  /// Whether the dump, if one is wanted, could be written.
  llvm::Error checkDump() { return dump->takeError(); }

  gpu::GPUModuleOp kernels() { return *module->getOps<gpu::GPUModuleOp>().begin(); }
  auto getPlans() { return module->getOps<PlanOp>(); }
  std::string takeInterface() { return std::move(interface); }

private:
  llvm::Error lowerToLLVMDialect() {
    if (llvm::Error error = run(cached.toLLVM, "llvm"))
      return error;
    if (request.inspection.lineTables)
      if (llvm::Error error = run(cached.toLineTables, "llvm"))
        return error;
    preparation.reset();
    return makeGenerator();
  }

  llvm::Error makeGenerator() { return CodeGenerator::makeReady(tools.generator, request.target); }

  llvm::Error translate() {
    auto translated = tools.generator->translate(*module, llvmContext);
    if (!translated)
      return translated.takeError();
    llvmModule = std::move(*translated);
    addTexts();
    dump->write("translate.ll", [this](auto &os) { printLLVM(os); });
    tools.generator->optimize(*llvmModule);
    dump->write("optimize.ll", [this](auto &os) { printLLVM(os); });
    return dumpAssembly();
  }

  llvm::Error run(PassManager &passes, llvm::StringRef stage) {
    if (failed(passes.run(*module)))
      return internalError(stage, reproducer(passes));
    completed.push_back(&passes);
    return llvm::Error::success();
  }

  /// Writes what `passes` failed on. They have changed it since, so it is made again, which costs
  /// nothing as long as all goes well.
  std::string reproducer(PassManager &passes) {
    cached.dump = nullptr;
    std::string shown = internalDiagnostics;
    updraft::DiagnosticEngine known;
    std::optional<ImportedRule> again = importRule(cached.context, *source, request.rule, known);
    bool isReady = again && llvm::all_of(completed, [&](PassManager *done) {
                     return succeeded(done->run(*again->module));
                   });
    internalDiagnostics = std::move(shown);
    return isReady
               ? writeReproducer(*again->module, passes, dumpFolderOf(*source, request, ruleName))
               : "";
  }

  llvm::Error dumpAssembly() {
    if (!dump->isWanted())
      return llvm::Error::success();
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*llvmModule);
    auto text = tools.generator->emitAssembly(*copy);
    if (!text)
      return text.takeError();
    dump->write("code.s", [&](auto &os) { os << *text; });
    return dump->takeError();
  }

  /// The description travels in the object too, for those who link it by hand; so do kernels.
  void addTexts() {
    addText("_interface", interface);
    if (!kernelText.empty())
      addText("_ptx", kernelText);
  }
  void addText(const char *suffix, const std::string &text) {
    llvm::Constant *value = llvm::ConstantDataArray::getString(llvmContext, text);
    new llvm::GlobalVariable(*llvmModule, value->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, value, ruleName + suffix);
  }

  llvm::Error internalError(llvm::StringRef stage, const std::string &reproducer) {
    std::string message = ("cannot lower the rule to the stage `" + stage +
                           "`; this is a defect of Updraft, please report it")
                              .str();
    if (!reproducer.empty())
      message += " with the file `" + reproducer +
                 "`, which shows it: updraft-opt --run-reproducer " + reproducer;
    return makeError(UPD_INTERNAL_ERROR, message + "\n" + internalDiagnostics);
  }

  Cached &cached;
  Cached::ForTarget &tools;
  const CompileRequest &request;
  const Program *source = nullptr;
  std::optional<Dump> dump;
  std::vector<PassManager *> completed;
  std::string internalDiagnostics;
  ScopedDiagnosticHandler handler;
  ImportedRule imported; // without its module, which is the next one
  OwningOpRef<ModuleOp> module;
  std::string ruleName;
  std::string interface;
  std::string kernelText;        // PTX
  llvm::LLVMContext llvmContext; // outlives the module
  std::unique_ptr<llvm::Module> llvmModule;
  std::optional<SideTask> preparation; // of the generator; waited for before the rest goes
};

Compiler::Compiler() = default;
Compiler::~Compiler() = default;

Compiler::Cached &Compiler::getCached() {
  if (!cached)
    cached = std::make_unique<Cached>();
  return *cached;
}

llvm::Expected<std::shared_ptr<const Program>> Compiler::parse(const CompileRequest &request) {
  if (!llvm::is_contained(numericsModes(), request.rule.numerics))
    return makeError(UPD_INVALID_ARGUMENT, "unknown numerics mode `" + request.rule.numerics +
                                               "`; the modes are `" +
                                               llvm::join(numericsModes(), "`, `") + "`");
  updraft::DiagnosticEngine diagnostics;
  auto program = parseProgram(SourceFile::create(request.filename, request.source, request.origins),
                              diagnostics);
  if (!program)
    return makeError(UPD_COMPILE_ERROR, diagnostics.render());
  return program;
}

llvm::Expected<CompiledRule> Compiler::compile(const Program &program,
                                               const CompileRequest &request) {
  Compilation compilation(getCached(), request);
  compilation.prepareGenerator();
  if (llvm::Error error = compilation.import(program))
    return error;
  if (llvm::Error error = compilation.schedule())
    return error;
  const bool isForGPU = request.gpu && !request.gpu->isEmulated;
  if (llvm::Error error = isForGPU ? compilation.lowerToHost() : compilation.lowerToLoops())
    return error;
  auto object = compilation.generate();
  if (!object)
    return object.takeError();
  return CompiledRule{compilation.takeInterface(), std::move(*object)};
}

/// Those behind Stage::Schedule, in their order.
static llvm::ArrayRef<Stage> stagesOf(const GPUTarget &gpu) {
  static constexpr Stage ofEmulator[] = {Stage::Kernels, Stage::Loops, Stage::LLVM, Stage::Asm,
                                         Stage::Obj};
  static constexpr Stage ofGPU[] = {Stage::Kernels, Stage::NVVM, Stage::PTX, Stage::Cubin,
                                    Stage::SASS};
  return gpu.isEmulated ? llvm::ArrayRef(ofEmulator) : llvm::ArrayRef(ofGPU);
}

llvm::Error updraft::checkStage(const CompileRequest &request, Stage stage,
                                llvm::function_ref<bool(Stage)> isOffered) {
  auto quoted = [](Stage named) {
    return "`" + stageNames()[static_cast<size_t>(named)].str() + "`";
  };
  if (isOfGPU(stage) && !request.gpu)
    return makeError(UPD_INVALID_ARGUMENT,
                     "the stage " + quoted(stage) +
                         " is one of GPUs, and the target is a CPU; give a GPU as the target, such "
                         "as `nvptx:sm_90`");
  if (!request.gpu || stage <= Stage::Schedule || llvm::is_contained(stagesOf(*request.gpu), stage))
    return llvm::Error::success();
  auto offered = llvm::to_vector(
      llvm::map_range(llvm::make_filter_range(stagesOf(*request.gpu), isOffered), quoted));
  std::string last = offered.pop_back_val();
  return makeError(UPD_INVALID_ARGUMENT, "the target `" + request.gpu->name + "` has no stage " +
                                             quoted(stage) + "; from `schedule` on it has " +
                                             llvm::join(offered, ", ") + " and " + last);
}

llvm::Error Compiler::emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os) {
  if (llvm::Error error = checkStage(request, stage, [](Stage) { return true; }))
    return error;
  auto program = parse(request);
  if (!program)
    return program.takeError();
  if (stage == Stage::Ast) {
    printAst(**program, os, request.inspection.printLocations);
    return llvm::Error::success();
  }
  Compilation compilation(getCached(), request);
  if (llvm::Error error = compilation.import(**program))
    return error;
  if (stage == Stage::Torch)
    return compilation.printTorch(os);
  using Step = llvm::Error (Compilation::*)();
  static const std::pair<Stage, Step> ofCPU[] = {{Stage::Schedule, &Compilation::schedule},
                                                 {Stage::Loops, &Compilation::lowerToLoops},
                                                 {Stage::LLVM, &Compilation::lowerToLLVM}};
  static const std::pair<Stage, Step> ofGPU[] = {{Stage::Schedule, &Compilation::schedule},
                                                 {Stage::Kernels, &Compilation::lowerToKernels},
                                                 {Stage::NVVM, &Compilation::lowerToNVVM}};
  for (auto [reached, step] : isOfGPU(stage) ? llvm::ArrayRef(ofGPU) : llvm::ArrayRef(ofCPU))
    if (reached <= stage)
      if (llvm::Error error = (compilation.*step)())
        return error;
  if (llvm::Error error = compilation.checkDump())
    return error;
  if (stage < Stage::LLVM || stage == Stage::Kernels || stage == Stage::NVVM) {
    compilation.printModule(os);
    return llvm::Error::success();
  }
  if (stage == Stage::LLVM) {
    compilation.printLLVM(os);
    return llvm::Error::success();
  }
  auto bytes = stage == Stage::PTX     ? compilation.ptx()
               : stage == Stage::Cubin ? compilation.cubin()
               : stage == Stage::SASS  ? compilation.sass()
               : stage == Stage::Asm   ? compilation.assembly()
                                       : compilation.object();
  if (!bytes)
    return bytes.takeError();
  os << *bytes;
  return llvm::Error::success();
}

llvm::Error Compiler::explain(const CompileRequest &request, llvm::raw_ostream &os) {
  auto program = parse(request);
  if (!program)
    return program.takeError();
  Compilation compilation(getCached(), request);
  if (llvm::Error error = compilation.import(**program))
    return error;
  if (llvm::Error error = compilation.schedule())
    return error;
  for (PlanOp plan : compilation.getPlans())
    explainPlan(plan, request.rule.numerics, request.gpu ? request.gpu->name : "", os);
  if (!request.gpu || request.gpu->isEmulated)
    return llvm::Error::success();
  if (llvm::Error error = compilation.lowerToKernels())
    return error;
  if (llvm::Error error = compilation.lowerToNVVM())
    return error;
  return explainKernels(compilation.kernels(), *request.gpu, os);
}
