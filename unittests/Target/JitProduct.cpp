//===- JitProduct.cpp - The functions of a product, compiled into this process ----------------===//

#include "JitProduct.h"

#include "JitModule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "updraft/Target/Pipelines.h"

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
  for (const char *name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+bf16"}) {
    const CPUTarget target = llvm::cantFail(CPUTarget::named(name));
    if (target.vectorBits <= host.vectorBits && target.multipliesBF16 <= host.multipliesBF16)
      shapes.push_back({"v" + std::to_string(shapes.size() - 5), target, productTargetOf(target)});
  }
  return shapes;
}

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

JitProduct::JitProduct(const ProductShape &shape, bool isDouble, bool smallBlocks,
                       ProductEpilogue epilogue) {
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
  buildProductFunctions(builder, builder.getUnknownLoc(), "R", compute, tiles, epilogue);
  if (!isDouble)
    buildBF16ProductFunctions(builder, builder.getUnknownLoc(), "R", compute, tiles,
                              shape.loops.dot, epilogue);

  auto linked = JitModule::link(*module, shape.cpu);
  if (!linked) {
    ADD_FAILURE() << llvm::toString(linked.takeError()) << " for " << shape.name;
    return;
  }
  process = std::move(*linked);
  product = process->find<upd_product_function>("R_product");
  mirror = process->find<upd_mirror_function>("R_mirror");
  if (!isDouble)
    bf16 = process->find<upd_product_function>("R_bf16_product");
  EXPECT_TRUE(product && mirror && (isDouble || bf16)) << "for " << shape.name;
}

JitProduct::~JitProduct() = default;

} // namespace updraft::test
