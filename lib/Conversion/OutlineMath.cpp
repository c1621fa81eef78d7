//===- OutlineMath.cpp - Outlines elementary functions ----------------------------------------===//
// An elementary function expands to some hundred operations. Host functions compute few values and
// are not optimised, and a sweep with many elementary functions would take too long to compile.
// Their functions are therefore compiled once for each module, and called.

#include "Updraft/Transforms/ExpandMath.h"
#include "VectorBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "updraft/Conversion/Passes.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_OUTLINEMATHPASS
#include "updraft/Conversion/Passes.h.inc"

namespace {

/// The outlined functions of one module or `gpu.module`.
class OutlinedFunctions {
public:
  explicit OutlinedFunctions(Operation *module) : module(module), symbols(module) {}

  void replaceByCall(Operation *op) {
    OpBuilder builder(op);
    auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
    func::FuncOp &function = functions[{op->getName(), type}];
    if (!function)
      function = makeFunction(op, type);
    auto call = func::CallOp::create(builder, op->getLoc(), function, op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  }

private:
  func::FuncOp makeFunction(Operation *op, FunctionType type) {
    auto vector = dyn_cast<VectorType>(type.getResult(0));
    OpBuilder builder(op->getContext());
    std::string name;
    llvm::raw_string_ostream os(name);
    os << "updraft." << op->getName().stripDialect() << ".";
    if (vector)
      os << "v" << vector.getNumElements();
    os << getElementTypeOrSelf(type.getResult(0));
    auto function = func::FuncOp::create(builder, module->getLoc(), name, type);
    symbols.insert(function, module->getRegion(0).front().begin());
    function.setPrivate();
    // Scalar functions are called by host functions, which are not optimised either, and for the
    // last elements of a sweep.
    function->setAttr("passthrough", vector ? builder.getStrArrayAttr({"noinline"})
                                            : builder.getStrArrayAttr({"optnone", "noinline"}));
    function->setAttr("llvm.linkage",
                      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
    builder.setInsertionPointToStart(function.addEntryBlock());
    Operation *inner = builder.clone(*op);
    inner->setOperands(function.getArguments());
    inner->setLoc(module->getLoc());
    func::ReturnOp::create(builder, module->getLoc(), inner->getResults());
    if (vector)
      computeOnLanes(function, inner, static_cast<unsigned>(vector.getNumElements()));
    else if (auto power = dyn_cast<math::FPowIOp>(inner))
      expandPower(power);
    else
      expandFunctions(function);
    return function;
  }

  // Expansions work on scalars: expands a scalar function, then clones its body on vectors.
  void computeOnLanes(func::FuncOp function, Operation *inner, unsigned lanes) {
    OpBuilder builder(inner);
    SmallVector<Type> scalars(inner->getNumOperands(),
                              getElementTypeOrSelf(inner->getResult(0).getType()));
    OwningOpRef<func::FuncOp> scalar = func::FuncOp::create(
        function.getLoc(), "scalar", builder.getFunctionType(scalars, scalars.front()));
    Block *body = scalar->addEntryBlock();
    OpBuilder inBody = OpBuilder::atBlockBegin(body);
    Operation *one = inBody.clone(*inner);
    one->setOperands(body->getArguments());
    one->getResult(0).setType(scalars.front());
    func::ReturnOp::create(inBody, function.getLoc(), one->getResults());
    expandFunctions(*scalar);

    IRMapping map;
    map.map(body->getArguments(), function.getArguments());
    for (Operation &op : body->without_terminator())
      cloneOnLanes(builder, op, map, lanes);
    inner->getResult(0).replaceAllUsesWith(map.lookup(body->getTerminator()->getOperand(0)));
    inner->erase();
  }

  Operation *module;
  SymbolTable symbols;
  llvm::DenseMap<std::pair<OperationName, FunctionType>, func::FuncOp> functions;
};

struct OutlineMathPass : impl::OutlineMathPassBase<OutlineMathPass> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isOutlined(op))
        found.push_back(op);
    });
    llvm::DenseMap<Operation *, std::unique_ptr<OutlinedFunctions>> modules;
    for (Operation *op : found) {
      Operation *module = SymbolTable::getNearestSymbolTable(op);
      std::unique_ptr<OutlinedFunctions> &functions = modules[module];
      if (!functions)
        functions = std::make_unique<OutlinedFunctions>(module);
      functions->replaceByCall(op);
    }
    outlinedOperations += found.size();
  }

  static bool isOutlined(Operation *op) {
    if (isa<math::FPowIOp>(op))
      return isa<FloatType>(op->getResult(0).getType());
    if (!isElementaryFunction(op))
      return false;
    // Only vectors with one dimension of fixed size are outlined.
    auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
    return !vector || (vector.getRank() == 1 && !vector.isScalable());
  }
};

} // namespace
} // namespace updraft
