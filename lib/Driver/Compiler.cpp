//===- Compiler.cpp - From text to machine code -----------------------------------------------===//

#include "updraft/Driver/Compiler.h"

#include "Compilation.h"
#include "Explain.h"
#include "ExplainKernels.h"
#include "MemoryCheck.h"
#include "Toolchain.h"
#include "updraft/Driver/ForkDelay.h"
#include "updraft/Driver/LinkNames.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Frontend.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace updraft;

Compiler::Compiler() = default;
Compiler::~Compiler() = default;

Toolchain &Compiler::getToolchain() {
  if (!toolchain)
    toolchain = std::make_unique<Toolchain>();
  return *toolchain;
}

llvm::Expected<std::shared_ptr<const Program>> Compiler::parse(const CompileRequest &request) {
  if (llvm::Error error = requireMemory(bytesToParse))
    return error;
  ForkDelay delay;
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
  if (llvm::Error error = requireMemory(bytesToCompile))
    return error;
  ForkDelay delay;
  Compilation compilation(getToolchain(), request);
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
  return CompiledRule{compilation.takeDescriptor(), std::move(*object)};
}

/// Returns the stages after Stage::Schedule, in order.
static llvm::ArrayRef<Stage> stagesOf(const GPUTarget &gpu) {
  static constexpr Stage ofEmulator[] = {Stage::Kernels, Stage::Loops, Stage::LLVM, Stage::Asm,
                                         Stage::Obj};
  static constexpr Stage ofGPU[] = {Stage::Kernels, Stage::NVVM, Stage::PTX, Stage::Cubin,
                                    Stage::SASS};
  return gpu.isEmulated ? llvm::ArrayRef(ofEmulator) : llvm::ArrayRef(ofGPU);
}

llvm::Error updraft::checkStage(const CompileRequest &request, Stage stage,
                                llvm::function_ref<bool(Stage)> isOffered) {
  auto quoted = [](Stage named) { return "`" + nameOf(named).str() + "`"; };
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
  ForkDelay delay;
  if (llvm::Error error = checkStage(request, stage, [](Stage) { return true; }))
    return error;
  if (stage == Stage::Header || !request.link.name.empty())
    if (llvm::Error error = checkLink(request))
      return error;
  auto program = parse(request);
  if (!program)
    return program.takeError();
  if (stage == Stage::Ast) {
    printAst(**program, os, request.inspection.printLocations);
    return llvm::Error::success();
  }
  if (llvm::Error error = requireMemory(bytesToCompile))
    return error;
  Compilation compilation(getToolchain(), request);
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
  if (stage == Stage::Header)
    return compilation.printHeader(os);
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
  ForkDelay delay;
  auto program = parse(request);
  if (!program)
    return program.takeError();
  if (llvm::Error error = requireMemory(bytesToCompile))
    return error;
  Compilation compilation(getToolchain(), request);
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

llvm::Error Compiler::record(const Program &program, const CompileRequest &request,
                             Recording &recording,
                             llvm::function_ref<llvm::Error(const Recorded &)> observe) {
  ForkDelay delay;
  if (llvm::Error error = requireMemory(bytesToCompile))
    return error;
  Recorder recorder(recording);
  Compilation compilation(getToolchain(), request, &recorder);
  auto tell = [&](Stage stage) {
    return observe({stage, compilation.getModule(), compilation.getFacts(),
                    [&](Location loc) { return recorder.placeOf(loc); }});
  };
  if (llvm::Error error = compilation.import(program))
    return error;
  if (llvm::Error error = tell(Stage::Updraft))
    return error;
  if (llvm::Error error = compilation.schedule())
    return error;
  if (llvm::Error error = tell(Stage::Schedule))
    return error;
  const bool isForGPU = request.gpu && !request.gpu->isEmulated;
  if (isForGPU) {
    if (llvm::Error error = compilation.lowerToKernels())
      return error;
    if (llvm::Error error = compilation.lowerToNVVM())
      return error;
    return compilation.ptx().takeError();
  }
  if (llvm::Error error = compilation.lowerToLoops())
    return error;
  if (llvm::Error error = compilation.lowerToLLVM())
    return error;
  return compilation.assembly().takeError();
}
