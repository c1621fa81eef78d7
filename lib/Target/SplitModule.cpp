//===- SplitModule.cpp - Splits a module for two threads --------------------------------------===//

#include "updraft/Target/SplitModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace updraft {
namespace {

struct Weighed {
  LLVM::LLVMFuncOp function;
  size_t weight; ///< proportional to its compile time
};

bool isOptimized(LLVM::LLVMFuncOp function) {
  auto attributes = function.getPassthroughAttr();
  return !attributes || !llvm::is_contained(attributes.getAsRange<Attribute>(),
                                            StringAttr::get(function.getContext(), "optnone"));
}

size_t countOperations(LLVM::LLVMFuncOp function) {
  size_t count = 0;
  function.walk([&](Operation *) { ++count; });
  return count;
}

llvm::StringMap<LLVM::LLVMFuncOp> calledFunctions(ModuleOp module) {
  llvm::StringMap<LLVM::LLVMFuncOp> called;
  module.walk([&](LLVM::CallOp call) {
    if (auto name = call.getCallee())
      called[*name] = module.lookupSymbol<LLVM::LLVMFuncOp>(*name);
  });
  return called;
}

// Declares the functions of `module` that the functions of `part` call.
void declareCalled(ModuleOp part, const llvm::StringMap<LLVM::LLVMFuncOp> &called) {
  llvm::StringMap<bool> declared;
  part.walk([&](LLVM::CallOp call) {
    auto name = call.getCallee();
    if (!name || !declared.try_emplace(*name, true).second)
      return;
    LLVM::LLVMFuncOp function = called.lookup(*name);
    if (function.getLinkage() == LLVM::Linkage::Internal) {
      function.setLinkage(LLVM::Linkage::External);
      function.setVisibility_(LLVM::Visibility::Hidden);
      function.setDsoLocal(true);
    }
    part.push_back(function->cloneWithoutRegions());
  });
}

} // namespace

OwningOpRef<ModuleOp> splitModule(ModuleOp module, size_t minOperations) {
  llvm::StringMap<LLVM::LLVMFuncOp> called = calledFunctions(module);
  SmallVector<Weighed> movable;
  size_t weights[] = {0, 0}, operations = 0;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function)
      return {};
    size_t count = countOperations(function);
    operations += count;
    // Functions without optimisation compile in half the time.
    size_t weight = isOptimized(function) ? 2 * count : count;
    if (function.isExternal() || called.contains(function.getName()))
      weights[0] += weight;
    else
      movable.push_back({function, weight});
  }
  if (operations < minOperations)
    return {};
  // Assigns functions in order of decreasing weight, each to the lighter part.
  llvm::stable_sort(movable,
                    [](const Weighed &a, const Weighed &b) { return a.weight > b.weight; });
  OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
  for (auto [function, weight] : movable) {
    bool moves = weights[1] < weights[0];
    weights[moves] += weight;
    if (moves) {
      function->remove();
      part->push_back(function);
    }
  }
  declareCalled(*part, called);
  return part;
}

} // namespace updraft
