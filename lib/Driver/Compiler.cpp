//===- Compiler.cpp - From text to machine code -----------------------------------------------===//

#include "updraft/Driver/Compiler.h"

#include "Explain.h"
#include "InterfaceJson.h"
#include "Updraft/IR/UpdraftDialect.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Pipelines.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Frontend.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace updraft;

/// What outlives one compilation. The context is made when a rule is first compiled, so that a
/// process whose rules all come from the cache does without.
struct Compiler::Cached {
  Cached()
      : context(makeRegistry(), MLIRContext::Threading::DISABLED), toPlan(&context),
        toLLVM(&context) {
    buildSchedulePipeline(toPlan);
    buildLLVMDialectPipeline(toLLVM);
  }

  /// What is made once for each target.
  struct ForTarget {
    ForTarget(MLIRContext &context, const CPUTarget &target) : toLoops(&context) {
      toLoops.addPass(createExpandMathPass());
      buildLoopsPipeline(toLoops, target);
    }
    PassManager toLoops;
    std::unique_ptr<CodeGenerator> generator; // null until code is generated
  };

  ForTarget &forTarget(const CPUTarget &target) {
    std::unique_ptr<ForTarget> &made = targets[target.key()];
    if (!made)
      made = std::make_unique<ForTarget>(context, target);
    return *made;
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registry.insert<UpdraftDialect>();
    registerTargetDialects(registry);
    return registry;
  }

  MLIRContext context; // threads would cost more than they save on modules of this size
  PassManager toPlan;
  PassManager toLLVM;
  llvm::StringMap<std::unique_ptr<ForTarget>> targets;
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

  /// Text to `updraft.rule`.
  llvm::Error import(const Program &program) {
    updraft::DiagnosticEngine diagnostics;
    std::optional<ImportedRule> imported =
        importRule(cached.context, program, request.rule, diagnostics);
    if (!imported)
      return makeError(UPD_COMPILE_ERROR, diagnostics.render());
    module = std::move(imported->module);
    statics = std::move(imported->statics);
    return llvm::Error::success();
  }

  /// To `updraft.plan`.
  llvm::Error schedule() {
    if (llvm::Error error = run(cached.toPlan, "schedule"))
      return error;
    auto plans = module->getOps<PlanOp>();
    if (plans.empty())
      return internalError("schedule");
    ruleName = (*plans.begin()).getSymName().str();
    interface = interfaceJson(*plans.begin(), request.numerics, statics);
    return llvm::Error::success();
  }

  llvm::Error lowerToLoops() { return run(tools.toLoops, "loops"); }

  llvm::Error lowerToLLVM() {
    if (llvm::Error error = run(cached.toLLVM, "llvm"))
      return error;
    if (!tools.generator) {
      auto created = CodeGenerator::create(request.target);
      if (!created)
        return created.takeError();
      tools.generator = std::move(*created);
    }
    auto translated = tools.generator->translate(*module, llvmContext);
    if (!translated)
      return translated.takeError();
    llvmModule = std::move(*translated);
    addInterface();
    tools.generator->optimize(*llvmModule);
    return llvm::Error::success();
  }

  llvm::Expected<std::string> object() {
    auto bytes = tools.generator->emitObject(*llvmModule);
    if (!bytes)
      return bytes.takeError();
    return std::string(bytes->begin(), bytes->end());
  }
  llvm::Expected<std::string> assembly() { return tools.generator->emitAssembly(*llvmModule); }

  /// Prints the MLIR module, its values called as in the source.
  void printModule(llvm::raw_ostream &os) {
    module->print(os, OpPrintingFlags().printNameLocAsPrefix());
    os << "\n";
  }
  void printLLVM(llvm::raw_ostream &os) { llvmModule->print(os, nullptr); }

  PlanOp getPlan() { return *module->getOps<PlanOp>().begin(); }
  std::string takeInterface() { return std::move(interface); }

private:
  llvm::Error run(PassManager &passes, llvm::StringRef stage) {
    return failed(passes.run(*module)) ? internalError(stage) : llvm::Error::success();
  }

  /// The description travels in the object too, for those who link it by hand.
  void addInterface() {
    llvm::Constant *text = llvm::ConstantDataArray::getString(llvmContext, interface);
    new llvm::GlobalVariable(*llvmModule, text->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, text, ruleName + "_interface");
  }

  llvm::Error internalError(llvm::StringRef stage) {
    return makeError(UPD_INTERNAL_ERROR,
                     ("cannot lower the rule to the stage `" + stage +
                      "`; this is a defect of Updraft, please report it\n" + internalDiagnostics)
                         .str());
  }

  Cached &cached;
  Cached::ForTarget &tools;
  const CompileRequest &request;
  std::string internalDiagnostics;
  ScopedDiagnosticHandler handler;
  std::vector<std::pair<std::string, std::string>> statics;
  OwningOpRef<ModuleOp> module;
  std::string ruleName;
  std::string interface;
  llvm::LLVMContext llvmContext; // outlives the module
  std::unique_ptr<llvm::Module> llvmModule;
};

Compiler::Compiler() = default;
Compiler::~Compiler() = default;

Compiler::Cached &Compiler::getCached() {
  if (!cached)
    cached = std::make_unique<Cached>();
  return *cached;
}

llvm::Expected<std::shared_ptr<const Program>> Compiler::parse(const CompileRequest &request) {
  if (request.numerics != "ieee")
    return makeError(UPD_INVALID_ARGUMENT,
                     "unknown numerics mode `" + request.numerics + "`; the modes are `ieee`");
  updraft::DiagnosticEngine diagnostics;
  auto program = parseProgram(request.source, request.filename, diagnostics);
  if (!program)
    return makeError(UPD_COMPILE_ERROR, diagnostics.render());
  return program;
}

llvm::Expected<CompiledRule> Compiler::compile(const Program &program,
                                               const CompileRequest &request) {
  Compilation compilation(getCached(), request);
  if (llvm::Error error = compilation.import(program))
    return error;
  if (llvm::Error error = compilation.schedule())
    return error;
  if (llvm::Error error = compilation.lowerToLoops())
    return error;
  if (llvm::Error error = compilation.lowerToLLVM())
    return error;
  auto object = compilation.object();
  if (!object)
    return object.takeError();
  return CompiledRule{compilation.takeInterface(), std::move(*object)};
}

llvm::Error Compiler::emit(const CompileRequest &request, Stage stage, llvm::raw_ostream &os) {
  auto program = parse(request);
  if (!program)
    return program.takeError();
  if (stage == Stage::Ast) {
    printAst(**program, os);
    return llvm::Error::success();
  }
  Compilation compilation(getCached(), request);
  using Step = llvm::Error (Compilation::*)();
  if (llvm::Error error = compilation.import(**program))
    return error;
  const std::pair<Stage, Step> steps[] = {{Stage::Schedule, &Compilation::schedule},
                                          {Stage::Loops, &Compilation::lowerToLoops},
                                          {Stage::LLVM, &Compilation::lowerToLLVM}};
  for (auto [reached, step] : steps)
    if (reached <= stage)
      if (llvm::Error error = (compilation.*step)())
        return error;
  if (stage < Stage::LLVM) {
    compilation.printModule(os);
    return llvm::Error::success();
  }
  if (stage == Stage::LLVM) {
    compilation.printLLVM(os);
    return llvm::Error::success();
  }
  auto bytes = stage == Stage::Asm ? compilation.assembly() : compilation.object();
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
  explainPlan(compilation.getPlan(), os);
  return llvm::Error::success();
}
