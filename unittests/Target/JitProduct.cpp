//===- JitProduct.cpp - The functions of a product, compiled into this process ----------------===//

#include "JitProduct.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

namespace updraft::test {

std::vector<ProductShape> productShapes() {
  const CPUTarget host = CPUTarget::host();
  std::vector<ProductShape> shapes{{"host", host, productTargetOf(host)}};
  for (unsigned bits : {128, 256, 512})
    for (unsigned registers : {16, 32}) {
      CPUTarget cpu = host;
      cpu.vectorBits = bits;
      ProductTarget loops;
      loops.vectorBits = bits;
      loops.vectorRegisters = registers;
      loops.interleaveBits = registers == 32 ? bits : 128;
      shapes.push_back(
          {"bits" + std::to_string(bits) + "registers" + std::to_string(registers), cpu, loops});
    }
  if (!llvm::StringRef(host.triple).starts_with("x86_64"))
    return shapes;
  for (const char *name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const CPUTarget target = llvm::cantFail(CPUTarget::named(name));
    if (target.vectorBits <= host.vectorBits)
      shapes.push_back({"v" + std::to_string(shapes.size() - 5), target, productTargetOf(target)});
  }
  return shapes;
}

struct JitProduct::Process {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

static ProductTiles tilesOf(const ProductShape &shape, mlir::Type compute, bool smallBlocks) {
  ProductTiles tiles = ProductTiles::choose(compute, shape.loops);
  if (smallBlocks) {
    tiles.edgeRows = 2;
    tiles.unroll = 2;
    tiles.rowBlock = 2 * tiles.rows;
    tiles.colBlock = 2 * tiles.columns;
    tiles.depthBlock = 2 * tiles.unroll;
  }
  return tiles;
}

static llvm::Expected<llvm::SmallVector<char, 0>> compile(mlir::ModuleOp module,
                                                          const CPUTarget &target) {
  mlir::PassManager passes(module.getContext());
  buildLLVMDialectPipeline(passes);
  if (failed(passes.run(module)))
    return llvm::createStringError("the functions cannot be lowered");
  auto generator = CodeGenerator::create(target);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  auto translated = (*generator)->translate(module, context);
  if (!translated)
    return translated.takeError();
  (*generator)->optimize(**translated);
  return (*generator)->emitObject(**translated);
}

JitProduct::JitProduct(const ProductShape &shape, bool isDouble, bool smallBlocks)
    : process(std::make_unique<Process>()) {
  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(builder.getUnknownLoc()));
  builder.setInsertionPointToStart(module->getBody());
  mlir::Type compute = builder.getF32Type();
  if (isDouble)
    compute = builder.getF64Type();
  tiles = tilesOf(shape, compute, smallBlocks);
  buildProductFunctions(builder, builder.getUnknownLoc(), "R", compute, tiles);

  auto link = [&]() -> llvm::Error {
    auto object = compile(*module, shape.cpu);
    if (!object)
      return object.takeError();
    auto jit = llvm::orc::LLJITBuilder().create();
    if (!jit)
      return jit.takeError();
    process->jit = std::move(*jit);
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy({object->data(), object->size()}, "R.o");
    if (llvm::Error error = process->jit->addObjectFile(std::move(buffer)))
      return error;
    auto productAddress = process->jit->lookup("R_product");
    if (!productAddress)
      return productAddress.takeError();
    auto mirrorAddress = process->jit->lookup("R_mirror");
    if (!mirrorAddress)
      return mirrorAddress.takeError();
    product = productAddress->toPtr<upd_product_function>();
    mirror = mirrorAddress->toPtr<upd_mirror_function>();
    return llvm::Error::success();
  };
  if (llvm::Error error = link())
    ADD_FAILURE() << llvm::toString(std::move(error)) << " for " << shape.name;
}

JitProduct::~JitProduct() = default;

} // namespace updraft::test
