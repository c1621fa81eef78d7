//===- CodeGenerator.cpp - From the LLVM dialect to machine code ------------------------------===//
// Translation, the choice of LLVM passes, and the options that preserve arithmetic.

#include "updraft/Target/CodeGenerator.h"

#include "OptimizeModule.h"
#include "RunPasses.h"
#include "TargetMachine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>
#include <utility>

namespace updraft {
namespace {

// Registers only the targets of `CPUTarget`: registering all of LLVM's takes milliseconds.
void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

} // namespace

static llvm::Error addEmission(llvm::TargetMachine &machine, llvm::legacy::PassManager &passes,
                               llvm::raw_pwrite_stream &stream, llvm::CodeGenFileType type) {
  if (machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr, type,
                                  /*DisableVerify=*/true))
    return llvm::createStringError("the target has no machine code emitter");
  return llvm::Error::success();
}

/// The passes of LLVM's code generator. Some take longer to set up than to run.
class CodeGenerator::ObjectEmitter {
public:
  static llvm::Expected<std::unique_ptr<ObjectEmitter>> create(llvm::TargetMachine &machine) {
    auto emitter = std::make_unique<ObjectEmitter>();
    if (llvm::Error error = addEmission(machine, emitter->passes, emitter->stream,
                                        llvm::CodeGenFileType::ObjectFile))
      return error;
    return emitter;
  }

  llvm::Expected<llvm::SmallVector<char, 0>> emit(llvm::Module &module) {
    llvm::Error error = runPasses(passes, module);
    llvm::SmallVector<char, 0> emitted = std::exchange(object, {});
    if (error)
      return error;
    return emitted;
  }

private:
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream{object};
  llvm::legacy::PassManager passes;
};

CodeGenerator::CodeGenerator(const CPUTarget &target, std::unique_ptr<llvm::TargetMachine> machine)
    : cpuTarget(target), machine(std::move(machine)) {}

CodeGenerator::~CodeGenerator() = default;

llvm::Expected<std::unique_ptr<CodeGenerator>> CodeGenerator::create(const CPUTarget &target) {
  initializeTargets();
  auto machine = makeTargetMachine(target.name, target.triple, target.cpu, target.features,
                                   llvm::CodeModel::Small);
  if (!machine)
    return machine.takeError();
  return std::unique_ptr<CodeGenerator>(new CodeGenerator(target, std::move(*machine)));
}

llvm::Error CodeGenerator::makeReady(std::unique_ptr<CodeGenerator> &generator,
                                     const CPUTarget &target) {
  if (generator)
    return llvm::Error::success();
  auto created = create(target);
  if (!created)
    return created.takeError();
  if (llvm::Error error = (*created)->prepareObjects())
    return error;
  generator = std::move(*created);
  return llvm::Error::success();
}

// MLIR's translation assumes that instructions are in functions.
static mlir::LogicalResult checkInstructionsAreInFunctions(mlir::ModuleOp module) {
  for (mlir::Operation &op : *module.getBody())
    if (!mlir::isa<mlir::SymbolOpInterface>(op))
      return op.emitOpError("cannot be translated to LLVM IR outside of a function; move it into "
                            "one");
  return mlir::success();
}

/// The length in bits that SVE vectors have on every machine that the target is for, or 0.
static unsigned fixedSVEBits(const CPUTarget &target) {
  return llvm::StringRef(target.name).starts_with("aarch64+sve") ? target.vectorBits : 0;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
CodeGenerator::translate(mlir::ModuleOp module, llvm::LLVMContext &context) const {
  std::unique_ptr<llvm::Module> result;
  if (succeeded(checkInstructionsAreInFunctions(module)))
    result = mlir::translateModuleToLLVMIR(module, context);
  if (!result)
    return llvm::createStringError("a module cannot be translated to LLVM IR");
  result->setTargetTriple(machine->getTargetTriple());
  result->setDataLayout(machine->createDataLayout());
  result->setPICLevel(llvm::PICLevel::BigPIC);
  std::string width = std::to_string(cpuTarget.vectorBits);
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // Without these, some CPUs split 512-bit vectors in two.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    if (const unsigned bits = fixedSVEBits(cpuTarget)) {
      constexpr unsigned granule = 128;
      function.addFnAttr(
          llvm::Attribute::getWithVScaleRangeArgs(context, bits / granule, bits / granule));
    }
  }
  return result;
}

void CodeGenerator::optimize(llvm::Module &module) { optimizeModule(module, *machine); }

llvm::Error CodeGenerator::prepareObjects() {
  if (objects)
    return llvm::Error::success();
  auto created = ObjectEmitter::create(*machine);
  if (!created)
    return created.takeError();
  objects = std::move(*created);
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<char, 0>> CodeGenerator::emitObject(llvm::Module &module) {
  if (llvm::Error error = prepareObjects())
    return error;
  return objects->emit(module);
}

llvm::Expected<std::string> CodeGenerator::emitAssembly(llvm::Module &module) {
  llvm::SmallString<0> assembly;
  llvm::raw_svector_ostream stream(assembly);
  llvm::legacy::PassManager passes;
  if (llvm::Error error =
          addEmission(*machine, passes, stream, llvm::CodeGenFileType::AssemblyFile))
    return error;
  if (llvm::Error error = runPasses(passes, module))
    return error;
  return assembly.str().str();
}

} // namespace updraft
