//===- Compilation.cpp - Takes one rule through the stages ------------------------------------===//

#include "Compilation.h"

#include "CUDATools.h"
#include "LinkRecord.h"
#include "MemoryCheck.h"
#include "PlanSize.h"
#include "Reproducer.h"
#include "RuleDescription.h"
#include "SecondHalf.h"
#include "TypedHeader.h"
#include "Updraft/IR/Locations.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "runtime/base/RuleChecks.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Limits.h"
#include "updraft/Target/SplitModule.h"
#include "updraft/Target/TorchSource.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace updraft;

// The smallest rule whose compilation is worth starting a second thread.
static constexpr size_t minOperationsOfTwoThreads = 1000;

Compilation::Compilation(Toolchain &toolchain, const CompileRequest &request, Recorder *recorder)
    : toolchain(toolchain), tools(toolchain.forTarget(request.target)), request(request),
      recorder(recorder), handler(&toolchain.context, [this](mlir::Diagnostic &diagnostic) {
        llvm::raw_string_ostream os(internalDiagnostics);
        os << diagnostic.getLocation() << ": " << diagnostic << "\n";
        return success();
      }) {}

void Compilation::prepareGenerator() {
  if (tools.generator)
    return;
  preparation.emplace([this] {
    // Errors are ignored here: the code that needs the generator reports them.
    if (llvm::Error error = makeGenerator())
      llvm::consumeError(std::move(error));
  });
}

llvm::Error Compilation::makeGenerator() {
  if (tools.generator)
    return llvm::Error::success();
  return CodeGenerator::makeReady(tools.generator, request.target);
}

llvm::Error Compilation::import(const Program &program) {
  if (recorder)
    recorder->enter(Stage::Updraft);
  updraft::DiagnosticEngine diagnostics;
  std::optional<ImportedRule> found =
      importRule(toolchain.context, program, request.rule, diagnostics);
  if (!found)
    return makeError(UPD_COMPILE_ERROR, diagnostics.render());
  module = std::move(found->module);
  facts = std::move(*found);
  source = &program;
  llvm::SmallVector<RuleOp> rules = formsIn<RuleOp>(*module);
  dump.emplace(dumpFolderOf(program, request, rules.empty() ? "" : rules[0].getSymName()));
  dump->write("import.mlir", *module);
  toolchain.observers.clear();
  if (dump->isWanted())
    toolchain.observers.push_back(&*dump);
  if (recorder) {
    toolchain.observers.push_back(recorder);
    recorder->afterPass("import", /*failed=*/false, *module);
  }
  return llvm::Error::success();
}

llvm::Error Compilation::printTorch(llvm::raw_ostream &os) {
  if (llvm::Error error = run(toolchain.toTorch, Stage::Torch))
    return error;
  dropUnneededReductions(*module);
  std::string text, reason;
  llvm::raw_string_ostream textStream(text);
  if (failed(printTorchSource(*module, textStream, reason)))
    return makeError(UPD_UNSUPPORTED, "cannot write the rule with torch's operations: " + reason);
  os << text;
  return llvm::Error::success();
}

llvm::Error Compilation::schedule() {
  if (llvm::Error error =
          run(request.gpu ? toolchain.toPlan : toolchain.toCPUPlan, Stage::Schedule))
    return error;
  llvm::SmallVector<PlanOp> plans = getPlans();
  if (plans.empty())
    return internalError(Stage::Schedule, "");
  ruleName = plans[0].getSymName().str();
  const size_t size = sizeOfPlans(*module);
  if (size > maxPlannedOperations) {
    updraft::DiagnosticEngine diagnostics;
    diagnostics.report(DiagnosticKind::PlanTooLarge, facts.name, size, maxPlannedOperations,
                       operationsOfFunction, operationsOfReduction);
    return makeError(UPD_COMPILE_ERROR, diagnostics.render());
  }
  if (llvm::Error error = requireMemory(bytesToCompile + bytesPerOperation * size))
    return error;
  auto description =
      describeRule(plans[0], request.rule.numerics, request.gpu ? request.gpu->name : "", facts);
  if (failed(description) || !runtime::problemOf(*description).empty())
    return internalError(Stage::Schedule, "");
  descriptor = description->write();
  return llvm::Error::success();
}

llvm::Error Compilation::printHeader(llvm::raw_ostream &os) {
  runtime::RuleInterface rule;
  if (!runtime::RuleInterface::read(descriptor, rule).ok())
    return internalError(Stage::Header, "");
  os << typedHeader(rule, request.link);
  return llvm::Error::success();
}

llvm::Error Compilation::lowerToLoops() {
  if (!request.gpu)
    return run(tools.toLoops, Stage::Loops);
  if (llvm::Error error = lowerToKernels())
    return error;
  return run(toolchain.toEmulator, Stage::Loops);
}

llvm::Error Compilation::lowerToKernels() {
  return run(toolchain.forTarget(*request.gpu), Stage::Kernels);
}

llvm::Error Compilation::lowerToHost() {
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

llvm::Error Compilation::lowerToLLVM() {
  if (llvm::Error error = lowerToLLVMDialect())
    return error;
  return translate();
}

llvm::Error Compilation::lowerToLLVMDialect() {
  if (llvm::Error error = run(toolchain.toLLVM, Stage::LLVM))
    return error;
  if (recorder)
    if (llvm::Error error = addLineDirectives())
      return error;
  if (request.inspection.lineTables) {
    module->walk([](Operation *op) { op->setLoc(forDebugger(op->getLoc())); });
    if (llvm::Error error = run(toolchain.toLineTables, Stage::LLVM))
      return error;
  }
  preparation.reset();
  return makeGenerator();
}

llvm::Expected<std::string> Compilation::generate() {
  if (llvm::Error error = lowerToLLVMDialect())
    return error;
  // With a dump or line tables, all code stays in one module for inspection.
  OwningOpRef<ModuleOp> part;
  if (!dump->isWanted() && !request.inspection.lineTables && !request.inOneObject)
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

llvm::Error Compilation::translate() {
  auto translated = tools.generator->translate(*module, llvmContext);
  if (!translated)
    return translated.takeError();
  llvmModule = std::move(*translated);
  addData();
  dump->write("translate.ll", [this](auto &os) { printLLVM(os); });
  if (recorder)
    recorder->add("translate", *llvmModule);
  tools.generator->optimize(*llvmModule);
  dump->write("optimize.ll", [this](auto &os) { printLLVM(os); });
  if (recorder)
    recorder->add("optimize", *llvmModule);
  return dumpAssembly();
}

llvm::Expected<std::string> Compilation::object() {
  if (!request.link.name.empty())
    addLinkRecord(*llvmModule, request.link.name, request.target.name, descriptor);
  auto bytes = tools.generator->emitObject(*llvmModule);
  if (!bytes)
    return bytes.takeError();
  return std::string(bytes->begin(), bytes->end());
}

llvm::Expected<std::string> Compilation::assembly() {
  if (recorder)
    recorder->enter(Stage::Asm);
  auto text = tools.generator->emitAssembly(*llvmModule);
  if (text && recorder)
    recorder->addAssembly("code", *text);
  return text;
}

llvm::Error Compilation::lowerToNVVM() {
  if (llvm::Error error = run(toolchain.toNVVM, Stage::NVVM))
    return error;
  return recorder ? addLineDirectives() : llvm::Error::success();
}

llvm::Expected<std::string> Compilation::ptx() {
  if (recorder)
    recorder->enter(Stage::PTX);
  auto text = emitPTX(kernels(), *request.gpu);
  if (text && recorder)
    recorder->addAssembly("code", *text);
  return text;
}

llvm::Expected<std::string> Compilation::cubin() {
  auto text = ptx();
  if (!text)
    return text.takeError();
  auto assembled = assemblePTX(*text, *request.gpu);
  if (!assembled)
    return assembled.takeError();
  return std::move(assembled->cubin);
}

llvm::Expected<std::string> Compilation::sass() {
  auto bytes = cubin();
  if (!bytes)
    return bytes.takeError();
  return disassemble(*bytes);
}

void Compilation::printModule(llvm::raw_ostream &os) {
  module->print(os, printingFlags(request.inspection.printLocations));
  os << "\n";
}

// The places of lines become debug information, which the translation and LLVM keep.
llvm::Error Compilation::addLineDirectives() {
  toolchain.observers.clear();
  recorder->numberPlaces(*module);
  return run(toolchain.toLineDirectives, Stage::LLVM);
}

llvm::Error Compilation::run(PassManager &passes, Stage stage) {
  if (recorder)
    recorder->enter(stage);
  if (failed(passes.run(*module)))
    return internalError(stage, reproducer(passes));
  completed.push_back(&passes);
  return llvm::Error::success();
}

/// Writes the input on which `passes` failed. The passes have changed it, so it is created again,
/// which costs nothing if compilations succeed.
std::string Compilation::reproducer(PassManager &passes) {
  toolchain.observers.clear();
  std::string shown = internalDiagnostics;
  updraft::DiagnosticEngine known;
  std::optional<ImportedRule> again = importRule(toolchain.context, *source, request.rule, known);
  bool isReady = again && llvm::all_of(completed, [&](PassManager *done) {
                   return succeeded(done->run(*again->module));
                 });
  internalDiagnostics = std::move(shown);
  return isReady ? writeReproducer(*again->module, passes, dumpFolderOf(*source, request, ruleName))
                 : "";
}

llvm::Error Compilation::dumpAssembly() {
  if (!dump->isWanted())
    return llvm::Error::success();
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*llvmModule);
  auto text = tools.generator->emitAssembly(*copy);
  if (!text)
    return text.takeError();
  dump->write("code.s", [&](auto &os) { os << *text; });
  return dump->takeError();
}

/// Adds the descriptor and the kernels to the object, for programs that link it manually.
void Compilation::addData() {
  addData("_descriptor", llvm::ConstantDataArray::getString(llvmContext, descriptor,
                                                            /*AddNull=*/false));
  if (!kernelText.empty())
    addData("_ptx", llvm::ConstantDataArray::getString(llvmContext, kernelText));
}

void Compilation::addData(const char *suffix, llvm::Constant *value) {
  auto *variable =
      new llvm::GlobalVariable(*llvmModule, value->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::ExternalLinkage, value, ruleName + suffix);
  variable->setAlignment(llvm::Align(8));
}

llvm::Error Compilation::internalError(Stage stage, const std::string &reproducer) {
  std::string message = ("cannot lower the rule to the stage `" + nameOf(stage) +
                         "`; this is a defect of Updraft, please report it")
                            .str();
  if (!reproducer.empty())
    message += " with the file `" + reproducer +
               "`, which shows it: updraft-opt --run-reproducer " + reproducer;
  return makeError(UPD_INTERNAL_ERROR, message + "\n" + internalDiagnostics);
}
