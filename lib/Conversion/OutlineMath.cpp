//===- OutlineMath.cpp - Functions that host functions call for elementary functions ----------===//
// An elementary function is some hundred operations of arithmetic. Host functions compute few
// values and are not optimised: what they use is compiled once for each module, and called.

#include "Updraft/Transforms/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_OUTLINEMATHPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

struct OutlineMathPass : impl::OutlineMathPassBase<OutlineMathPass> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isElementaryFunction(op))
        found.push_back(op);
    });
    if (found.empty())
      return;
    SymbolTable symbols(getOperation());
    llvm::DenseMap<std::pair<OperationName, FunctionType>, func::FuncOp> functions;
    for (Operation *op : found) {
      OpBuilder builder(op);
      auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
      func::FuncOp &function = functions[{op->getName(), type}];
      if (!function)
        function = makeFunction(op, type, symbols);
      auto call = func::CallOp::create(builder, op->getLoc(), function, op->getOperands());
      op->replaceAllUsesWith(call);
      op->erase();
    }
    outlinedOperations += found.size();
  }

  // The operation of its arguments, expanded.
  func::FuncOp makeFunction(Operation *op, FunctionType type, SymbolTable &symbols) {
    OpBuilder builder(op->getContext());
    Location loc = getOperation().getLoc();
    std::string name;
    llvm::raw_string_ostream(name)
        << "updraft." << op->getName().stripDialect() << "." << type.getResult(0);
    auto function = func::FuncOp::create(builder, loc, name, type);
    symbols.insert(function, getOperation().getBody()->begin());
    function.setPrivate();
    function->setAttr("passthrough", builder.getStrArrayAttr({"optnone", "noinline"}));
    function->setAttr("llvm.linkage",
                      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
    builder.setInsertionPointToStart(function.addEntryBlock());
    Operation *inner = builder.clone(*op);
    inner->setOperands(function.getArguments());
    inner->setLoc(loc);
    func::ReturnOp::create(builder, loc, inner->getResults());
    expandFunctions(function);
    return function;
  }
};

} // namespace
} // namespace updraft
