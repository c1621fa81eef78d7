//===- GPUToEmulator.cpp - From kernels to functions that emulate them ------------------------===//
// Turns a kernel into a function that one emulated thread runs, which asks the emulator for its
// indices. The matching function of updraft-c/kernel.h launches it in the emulator.

#include "../KernelMemory.h"
#include "../ToLLVM.h"
#include "GPUKernels.h"
#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "updraft-c/gpu_kernel.h"
#include "updraft/Conversion/Passes.h"
#include "updraft/Conversion/StorageConversion.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_CONVERTGPUTOEMULATORPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// One module, and the functions of the emulator that it calls.
class EmulatedModule {
public:
  explicit EmulatedModule(ModuleOp module)
      : module(module), context(module.getContext()), builder(context),
        pointer(LLVM::LLVMPointerType::get(context)), i32(builder.getI32Type()),
        i64(builder.getI64Type()) {}

  LogicalResult convert(gpu::GPUFuncOp kernel);

private:
  func::FuncOp emulator(StringRef name, TypeRange inputs, TypeRange results);
  FailureOr<func::FuncOp> threadFunction(gpu::GPUFuncOp kernel);
  LogicalResult replaceGPUOperations(func::FuncOp function);
  void checkAccesses(func::FuncOp function);
  LogicalResult launchFunction(gpu::GPUFuncOp kernel, func::FuncOp function);
  Value constants(gpu::GPUFuncOp kernel, StringRef suffix, ArrayRef<int64_t> numbers);
  Value constantI64(int64_t value) {
    return arith::ConstantOp::create(builder, loc(), builder.getI64IntegerAttr(value));
  }
  Value constantI32(int32_t value) {
    return arith::ConstantOp::create(builder, loc(), builder.getI32IntegerAttr(value));
  }
  Location loc() { return module.getLoc(); }

  ModuleOp module;
  MLIRContext *context;
  OpBuilder builder;
  Type pointer, i32, i64;
};

} // namespace

func::FuncOp EmulatedModule::emulator(StringRef name, TypeRange inputs, TypeRange results) {
  std::string symbol = ("updraft_emulator_" + name).str();
  if (auto known = module.lookupSymbol<func::FuncOp>(symbol))
    return known;
  OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      func::FuncOp::create(atStart, loc(), symbol, builder.getFunctionType(inputs, results));
  function.setPrivate();
  return function;
}

// Turns the kernel's body into a function that takes the addresses of its arguments.
FailureOr<func::FuncOp> EmulatedModule::threadFunction(gpu::GPUFuncOp kernel) {
  for (Type type : kernel.getArgumentTypes())
    if (!isa<LLVM::LLVMPointerType>(type) && !ElementsType::isElement(type))
      return kernel.emitOpError() << "has an argument of type " << type
                                  << ", must be a pointer, an integer or a float";
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, kernel.getLoc(), (kernel.getName() + "_kernel").str(),
                           builder.getFunctionType({pointer}, {}));
  function.getBody().takeBody(kernel.getBody());
  Block &body = function.getBody().front();
  Value arguments = body.insertArgument(0u, pointer, kernel.getLoc());
  builder.setInsertionPointToStart(&body);
  for (int32_t index = 0; body.getNumArguments() > 1; ++index) {
    BlockArgument argument = body.getArgument(1);
    Value address =
        loadElements(builder, kernel.getLoc(), pointer,
                     elementPointer(builder, kernel.getLoc(), pointer, arguments, index));
    argument.replaceAllUsesWith(
        loadElements(builder, argument.getLoc(), argument.getType(), address));
    body.eraseArgument(1);
  }
  return function;
}

LogicalResult EmulatedModule::replaceGPUOperations(func::FuncOp function) {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    if (isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) || isa<NVVM::SyncWarpOp>(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    builder.setInsertionPoint(op);
    auto call = [&](StringRef name, ValueRange operands, Type result) -> Value {
      return func::CallOp::create(builder, op->getLoc(),
                                  emulator(name, operands.getTypes(), result), operands)
          .getResult(0);
    };
    auto place = [&](StringRef name) {
      op->replaceAllUsesWith(ValueRange(arith::IndexCastOp::create(
          builder, op->getLoc(), builder.getIndexType(), call(name, {}, i64))));
    };
    if (isa<gpu::ReturnOp>(op)) {
      func::ReturnOp::create(builder, op->getLoc());
    } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op);
               shuffle && shuffle.getMode() == gpu::ShuffleMode::XOR &&
               shuffle.getValue().getType() == i32 && shuffle.getValid().use_empty()) {
      Value other = call("exchange", {shuffle.getValue(), shuffle.getOffset()}, i32);
      shuffle.getShuffleResult().replaceAllUsesWith(other);
    } else if (isa<NVVM::SyncWarpOp>(op)) {
      // Exchanges an unused value with every thread.
      Value value = constantI32(0);
      for (int32_t distance = 1; distance < UPD_GPU_WARP_THREADS; distance *= 2)
        value = call("exchange", {value, constantI32(distance)}, i32);
    } else if (isa<gpu::ThreadIdOp>(op)) {
      place("thread");
    } else if (isa<gpu::BlockIdOp>(op)) {
      place("block");
    } else if (isa<gpu::GridDimOp>(op)) {
      place("blocks");
    } else {
      return op->emitOpError("is not emulated");
    }
    op->erase();
  }
  return success();
}

// Every load and store must access memory that was registered for the launch.
void EmulatedModule::checkAccesses(func::FuncOp function) {
  function.walk([&](Operation *op) {
    Value address, mask;
    Type type;
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      address = load.getAddr(), type = load.getType();
    else if (auto store = dyn_cast<LLVM::StoreOp>(op))
      address = store.getAddr(), type = store.getValue().getType();
    else if (auto masked = dyn_cast<LLVM::MaskedLoadOp>(op))
      address = masked.getData(), type = masked.getType(), mask = masked.getMask();
    else if (auto masked = dyn_cast<LLVM::MaskedStoreOp>(op))
      address = masked.getData(), type = masked.getValue().getType(), mask = masked.getMask();
    if (!address || address.getType() != globalPointer(context))
      return;
    builder.setInsertionPoint(op);
    auto vector = dyn_cast<VectorType>(type);
    Value bytes = constantI64(elementBytes(type) * (vector && !mask ? vector.getNumElements() : 1));
    if (mask) {
      // Masks cover the first lanes.
      Type counts = VectorType::get(vector.getShape(), i64);
      Value lanes = vector::ReductionOp::create(
          builder, op->getLoc(), vector::CombiningKind::ADD,
          arith::ExtUIOp::create(builder, op->getLoc(), counts, mask).getResult());
      bytes = arith::MulIOp::create(builder, op->getLoc(), bytes, lanes);
    }
    func::CallOp::create(builder, op->getLoc(),
                         emulator("check", {address.getType(), i64}, TypeRange()),
                         ValueRange{address, bytes});
  });
}

Value EmulatedModule::constants(gpu::GPUFuncOp kernel, StringRef suffix,
                                ArrayRef<int64_t> numbers) {
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  auto type = LLVM::LLVMArrayType::get(i64, numbers.size());
  auto values = DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(numbers.size())}, i64), numbers);
  auto global =
      LLVM::GlobalOp::create(atEnd, kernel.getLoc(), type, /*isConstant=*/true,
                             LLVM::Linkage::Internal, (kernel.getName() + suffix).str(), values);
  return LLVM::AddressOfOp::create(builder, kernel.getLoc(), global);
}

// Builds R_prologue0 or R_sweep0 with the arguments that they have on a CPU.
LogicalResult EmulatedModule::launchFunction(gpu::GPUFuncOp kernel, func::FuncOp function) {
  auto streams = kernel->getAttrOfType<DenseI64ArrayAttr>(streamBytesAttr);
  auto extents = kernel->getAttrOfType<DenseI64ArrayAttr>(streamExtentsAttr);
  auto loop = kernel->getAttrOfType<IntegerAttr>(loopAttr);
  auto rowBytes = kernel->getAttrOfType<IntegerAttr>(rowBytesAttr);
  auto partials = kernel->getAttrOfType<IntegerAttr>(partialCountAttr);
  auto flagBytes = kernel->getAttrOfType<IntegerAttr>(flagBytesAttr);
  SmallVector<Type> inputs(6, pointer);
  if (streams)
    inputs[3] = i64;
  // The first prologue may be a function of the host, too.
  if (auto ofHost = module.lookupSymbol<func::FuncOp>(kernel.getName()))
    ofHost.erase();
  builder.setInsertionPointToEnd(module.getBody());
  auto launch = func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(),
                                     builder.getFunctionType(inputs, {}));
  builder.setInsertionPointToStart(launch.addEntryBlock());
  SmallVector<Value> operands{func::ConstantOp::create(
      builder, kernel.getLoc(), function.getFunctionType(), function.getName())};
  if (streams) {
    if (!extents || extents.size() != streams.size() || !loop || !rowBytes || !partials)
      return kernel.emitOpError("does not say what its streams, rows and partial results are");
    operands.append({constants(kernel, "_stream_bytes", streams),
                     constants(kernel, "_stream_extents", extents), constantI64(streams.size()),
                     constantI64(loop.getInt()), constantI64(rowBytes.getInt()),
                     constantI64(partials.getInt())});
  } else if (flagBytes) {
    operands.push_back(constantI64(flagBytes.getInt()));
  } else {
    return kernel.emitOpError("does not say how long the flag of a row is");
  }
  llvm::append_range(operands, launch.getArguments());
  func::CallOp::create(
      builder, kernel.getLoc(),
      emulator(streams ? "sweep" : "prologue", ValueRange(operands).getTypes(), TypeRange()),
      operands);
  func::ReturnOp::create(builder, kernel.getLoc());
  return success();
}

LogicalResult EmulatedModule::convert(gpu::GPUFuncOp kernel) {
  FailureOr<func::FuncOp> function = threadFunction(kernel);
  if (failed(function) || failed(replaceGPUOperations(*function)))
    return failure();
  checkAccesses(*function);
  return launchFunction(kernel, *function);
}

namespace {
// The host has no instruction that rounds to bf16 like those of GPUs.
LogicalResult roundToBFloat16(arith::TruncFOp op, PatternRewriter &rewriter) {
  Type bf16 = rewriter.getBF16Type();
  if (getElementTypeOrSelf(op.getType()) != bf16)
    return failure();
  Value bits = StorageConversion::find(bf16)->narrow(rewriter, op.getLoc(), op.getIn());
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), bits);
  return success();
}

// Moves functions that kernels call to the host module.
LogicalResult takeFunctions(gpu::GPUModuleOp kernels) {
  auto module = kernels->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  for (auto function : llvm::make_early_inc_range(kernels.getOps<func::FuncOp>())) {
    StringAttr before = function.getSymNameAttr();
    function->remove();
    StringAttr name = symbols.insert(function, module.getBody()->begin());
    if (failed(SymbolTable::replaceAllSymbolUses(before, name, kernels)))
      return failure();
  }
  return success();
}

struct ConvertGPUToEmulatorPass : impl::ConvertGPUToEmulatorPassBase<ConvertGPUToEmulatorPass> {
  using ConvertGPUToEmulatorPassBase::ConvertGPUToEmulatorPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateGpuLowerSubgroupReduceToShufflePatterns(set, UPD_GPU_WARP_THREADS);
    set.add(roundToBFloat16);
    forHosts = FrozenRewritePatternSet(std::move(set));
    converter = std::make_shared<LLVMTypeConverter>(context);
    RewritePatternSet ofAccesses(context);
    populateAccessToLLVMPatterns(*converter, ofAccesses);
    accesses = FrozenRewritePatternSet(std::move(ofAccesses));
    return success();
  }

  // Addresses must be known before they are checked. Elements must not cross regions or functions.
  LogicalResult convertAccesses(gpu::GPUModuleOp kernels) {
    ConversionTarget target(getContext());
    target.addIllegalDialect<UpdraftDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *op) {
      auto function = dyn_cast<FunctionOpInterface>(op);
      return llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ElementsType>) &&
             llvm::none_of(op->getResultTypes(), llvm::IsaPred<ElementsType>) &&
             !(function && llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<ElementsType>));
    });
    return applyPartialConversion(kernels, target, accesses);
  }

  void runOnOperation() override {
    EmulatedModule emulated(getOperation());
    for (auto kernels : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      walkAndApplyPatterns(kernels, forHosts);
      if (failed(convertAccesses(kernels)))
        return signalPassFailure();
      if (failed(takeFunctions(kernels)))
        return signalPassFailure();
      for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
        if (failed(emulated.convert(kernel)))
          return signalPassFailure();
      kernels.erase();
    }
  }

  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet forHosts, accesses;
};
} // namespace

} // namespace updraft
