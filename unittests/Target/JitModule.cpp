//===- JitModule.cpp - The functions of a module, compiled into this process ------------------===//

#include "JitModule.h"

#include "mlir/Pass/PassManager.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace updraft;
using namespace updraft::test;

static llvm::Expected<llvm::SmallVector<char, 0>> compile(mlir::ModuleOp functions,
                                                          const CPUTarget &target) {
  mlir::PassManager passes(functions.getContext());
  buildLLVMDialectPipeline(passes);
  if (failed(passes.run(functions)))
    return llvm::createStringError("the functions cannot be lowered");
  auto generator = CodeGenerator::create(target);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  auto translated = (*generator)->translate(functions, context);
  if (!translated)
    return translated.takeError();
  (*generator)->optimize(**translated);
  return (*generator)->emitObject(**translated);
}

llvm::Expected<std::unique_ptr<JitModule>> JitModule::link(mlir::ModuleOp functions,
                                                           const CPUTarget &target) {
  auto object = compile(functions, target);
  if (!object)
    return object.takeError();
  auto module = std::make_unique<JitModule>();
  if (llvm::Error error = llvm::orc::LLJITBuilder().create().moveInto(module->jit))
    return error;
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy({object->data(), object->size()}, "R.o");
  if (llvm::Error error = module->jit->addObjectFile(std::move(buffer)))
    return error;
  return module;
}
