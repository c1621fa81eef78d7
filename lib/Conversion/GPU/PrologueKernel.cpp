//===- PrologueKernel.cpp - R_prologue0 on a GPU: a thread for each tensor --------------------===//

#include "../KernelMemory.h"
#include "../ScalarCode.h"
#include "../ValueNames.h"
#include "GPUKernels.h"
#include "Updraft/Transforms/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "updraft-c/gpu_kernel.h"

using namespace mlir;

namespace updraft {

Type globalPointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, globalMemory);
}

gpu::GPUFuncOp startKernel(OpBuilder &builder, const PlanInterface &interface, const Twine &suffix,
                           ArrayRef<std::pair<StringRef, Type>> arguments) {
  Location loc = unnamed(interface.plan.getLoc());
  SmallVector<Type> types = llvm::map_to_vector(arguments, [](auto &it) { return it.second; });
  auto kernel = gpu::GPUFuncOp::create(builder, loc, (interface.plan.getSymName() + suffix).str(),
                                       builder.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  kernel.setKnownBlockSizeAttr(builder.getDenseI32ArrayAttr({UPD_GPU_THREADS, 1, 1}));
  for (auto [argument, given] : llvm::zip(kernel.getArguments(), arguments))
    argument.setLoc(named(loc, given.first));
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return kernel;
}

ThreadPlace ThreadPlace::of(OpBuilder &builder, Location loc) {
  auto number = [&](StringRef name, Value index) -> Value {
    return arith::IndexCastOp::create(builder, named(loc, name), builder.getI64Type(), index);
  };
  return {number("thread", gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x)),
          number("block", gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x)),
          number("blocks", gpu::GridDimOp::create(builder, loc, gpu::Dimension::x))};
}

void buildPrologueKernel(OpBuilder &builder, const PlanInterface &interface, PrologueOp prologue,
                         unsigned index) {
  OpBuilder::InsertionGuard guard(builder);
  Type i64 = builder.getI64Type(), pointer = globalPointer(builder.getContext());
  auto kernel = startKernel(builder, interface, "_prologue" + Twine(index),
                            {{"tensors", pointer}, {"count", i64}});
  kernel->setAttr(flagBytesAttr, builder.getI64IntegerAttr(elementBytes(interface.compute)));
  Location loc = kernel.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  ThreadPlace place = ThreadPlace::of(builder, loc);
  Value threads = constant(UPD_GPU_THREADS);
  Value first = arith::AddIOp::create(
      builder, loc, arith::MulIOp::create(builder, loc, place.block, threads), place.thread);
  Value stride = arith::MulIOp::create(builder, loc, place.blocks, threads);
  auto loop = scf::ForOp::create(builder, loc, first, kernel.getArgument(1), stride);
  gpu::ReturnOp::create(builder, loc);

  builder.setInsertionPointToStart(loop.getBody());
  Value tensor = loop.getInductionVar();
  tensor.setLoc(named(loc, "t"));
  static_assert(sizeof(upd_gpu_tensor) % sizeof(void *) == 0);
  Value entry = elementPointer(
      builder, loc, pointer, kernel.getArgument(0),
      arith::MulIOp::create(builder, loc, tensor, constant(sizeof(upd_gpu_tensor) / sizeof(void *)))
          .getResult());
  auto load = [&](StringRef name, size_t offset) {
    auto field = static_cast<int32_t>(offset / sizeof(void *));
    return loadElements(builder, named(loc, name), pointer,
                        elementPointer(builder, loc, pointer, entry, field));
  };
  Value row = load("row", offsetof(upd_gpu_tensor, row));
  Value flag = loadElements(builder, named(loc, "skip"), interface.compute, row);
  Value isRun = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OEQ, flag,
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(interface.compute, 0)));
  auto ifRun = scf::IfOp::create(builder, loc, isRun, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(ifRun.thenBlock());
  ScalarCode(builder, interface,
             {load("hyper", offsetof(upd_gpu_tensor, hyper)),
              load("per_tensor", offsetof(upd_gpu_tensor, per_tensor)),
              load("reduced", offsetof(upd_gpu_tensor, reduced)),
              load("scalars", offsetof(upd_gpu_tensor, scalars)), row,
              load("next_scalars", offsetof(upd_gpu_tensor, next_scalars))})
      .runPrologue(prologue, index, /*lanes=*/1);
  unsigned count = 0;
  for (PrologueOp other : interface.plan.getBody().getOps<PrologueOp>())
    count += countElementaryFunctions(other);
  if (count <= maxInlineFunctions)
    expandFunctions(kernel);
}

} // namespace updraft
