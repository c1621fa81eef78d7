//===- ProductCode.cpp - Code that the functions of a product consist of ----------------------===//

#include "ProductCode.h"

#include "../KernelMemory.h"
#include "../ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "updraft-c/kernel.h"

#include <cstddef>

using namespace mlir;

namespace updraft {

ProductCode::ProductCode(OpBuilder &builder, Location loc, Type compute, const ProductTiles &tiles,
                         ProductEpilogue epilogue, DotInstruction dot)
    : builder(builder), loc(loc), compute(compute), i64(builder.getI64Type()),
      pointer(LLVM::LLVMPointerType::get(builder.getContext())), tiles(tiles), epilogue(epilogue),
      dot(dot), hasPairs(dot != DotInstruction::None) {}

func::FuncOp ProductCode::startFunction(const Twine &name, TypeRange arguments,
                                        ArrayRef<StringRef> names, bool isPrivate) {
  auto function =
      func::FuncOp::create(builder, loc, name.str(), builder.getFunctionType(arguments, {}));
  if (isPrivate) {
    function.setPrivate();
    function->setAttr("llvm.linkage",
                      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
  }
  builder.setInsertionPointToStart(function.addEntryBlock());
  nameArguments(function, names);
  return function;
}

Value ProductCode::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}
Value ProductCode::add(Value left, Value right) {
  return arith::AddIOp::create(builder, loc, left, right);
}
Value ProductCode::subtract(Value left, Value right) {
  return arith::SubIOp::create(builder, loc, left, right);
}
Value ProductCode::multiply(Value left, Value right) {
  return arith::MulIOp::create(builder, loc, left, right);
}
Value ProductCode::smaller(Value left, Value right) {
  return arith::MinSIOp::create(builder, loc, left, right);
}
Value ProductCode::larger(Value left, Value right) {
  return arith::MaxSIOp::create(builder, loc, left, right);
}
Value ProductCode::isLess(Value left, Value right) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, left, right);
}
Value ProductCode::isEqual(Value left, Value right) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, left, right);
}
Value ProductCode::isAddress(Value pointer) {
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, pointer, null());
}
Value ProductCode::null() { return LLVM::ZeroOp::create(builder, loc, pointer); }
Value ProductCode::both(Value left, Value right) {
  return arith::AndIOp::create(builder, loc, left, right);
}
Value ProductCode::roundDown(Value value, int64_t unit) {
  return subtract(value, arith::RemUIOp::create(builder, loc, value, constant(unit)));
}

void ProductCode::loop(Value lower, Value upper, Value step, function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void ProductCode::loop(Value lower, Value upper, int64_t step, ValueRange addresses,
                       ValueRange distances, function_ref<void(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, constant(step), addresses);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar(), loop.getRegionIterArgs());
  SmallVector<Value> next;
  for (auto [address, distance] : llvm::zip_equal(loop.getRegionIterArgs(), distances))
    next.push_back(at(address, distance));
  scf::YieldOp::create(builder, loc, next);
}

void ProductCode::branch(Value condition, Body whenTrue, Body otherwise) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, loc, condition, static_cast<bool>(otherwise));
  builder.setInsertionPointToStart(branch.thenBlock());
  whenTrue();
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

// Addresses of loops may end up outside of an operand after the last iteration.
Value ProductCode::at(Value address, Value distance) {
  return shiftedPointer(builder, loc, compute, address, distance);
}
Value ProductCode::at(Value address, int64_t distance) {
  if (distance == 0)
    return address;
  return shiftedPointer(builder, loc, compute, address, static_cast<int32_t>(distance));
}

Value ProductCode::load(Value address, unsigned lanes, Value mask) {
  Type type = lanes == 1 ? compute : VectorType::get(lanes, compute);
  return loadElements(builder, loc, type, address, mask);
}
void ProductCode::store(Value value, Value address, Value mask) {
  storeElements(builder, loc, value, address, mask);
}

Value ProductCode::zero(unsigned lanes) {
  Type type = lanes == 1 ? compute : VectorType::get(lanes, compute);
  return arith::ConstantOp::create(builder, loc, type, builder.getZeroAttr(type));
}

Value ProductCode::firstLanes(Value count) {
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, tiles.lanes));
  Value lanes = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(numbers));
  Value narrow = arith::TruncIOp::create(builder, loc, builder.getI32Type(), count);
  Value limit = vector::BroadcastOp::create(builder, loc, lanes.getType(), narrow);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lanes, limit);
}

Value ProductCode::shuffle(Value left, Value right, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(builder, loc, left, right, lanes);
}

static_assert(offsetof(upd_product_sum, addend_row) - offsetof(upd_product_sum, addend) == 8 &&
              offsetof(upd_product_sum, scale) - offsetof(upd_product_sum, addend) == 16 &&
              offsetof(upd_product_sum, addend_scale) - offsetof(upd_product_sum, addend) == 24);
static_assert(
    offsetof(upd_product_update, target_row) - offsetof(upd_product_update, target) == 8 &&
    offsetof(upd_product_update, sum_scale) - offsetof(upd_product_update, target) == 16 &&
    offsetof(upd_product_update, target_scale) - offsetof(upd_product_update, target) == 24);

Value ProductCode::termOf(Value sum, size_t member) {
  return elementPointer(builder, loc, i64, sum, static_cast<int32_t>(member / sizeof(int64_t)));
}

ProductCode::Term ProductCode::loadTerm(Value members) {
  auto member = [&](int32_t index, Type type) {
    return loadElements(builder, loc, type, elementPointer(builder, loc, i64, members, index));
  };
  Value row = member(1, i64);
  return {row, load(member(2, pointer), 1), load(member(3, pointer), 1)};
}

Value ProductCode::addTo(Value value, Value element, const Term &term) {
  auto times = [&](Value scale, Value factor) -> Value {
    return arith::MulFOp::create(builder, loc, scale, factor);
  };
  auto spread = [&](Value scale) -> Value {
    if (!isa<VectorType>(value.getType()))
      return scale;
    return vector::BroadcastOp::create(builder, loc, value.getType(), scale);
  };
  Value scaled = times(spread(term.valueScale), value), scale = spread(term.scale);
  if (epilogue.addends == Addends::Fused)
    return math::FmaOp::create(builder, loc, scale, element, scaled);
  return arith::AddFOp::create(builder, loc, scaled, times(scale, element));
}

SmallVector<std::pair<int64_t, unsigned>> ProductCode::parts(unsigned count) const {
  SmallVector<std::pair<int64_t, unsigned>> result;
  for (unsigned first = 0; first < count;) {
    const unsigned lanes = std::min(tiles.lanes, llvm::bit_floor(count - first));
    result.emplace_back(first, lanes);
    first += lanes;
  }
  return result;
}

/// Builds a function, and moves to its end.
static auto build(ProductCode &code, auto function) {
  OpBuilder::InsertionGuard guard(code.builder);
  return function();
}

/// Builds a product with its own tiles and panels.
static void buildProduct(ProductCode &code, const std::string &name, func::FuncOp transpose,
                         func::FuncOp copy, func::FuncOp add) {
  const ProductTiles &tiles = code.tiles;
  auto tileOf = [&](unsigned rows) {
    return build(code, [&] { return buildTileFunction(code, name, rows); });
  };
  auto packOf = [&](const char *operand, unsigned width) {
    return build(code,
                 [&] { return buildPackFunction(code, name + "_" + operand, width, transpose); });
  };
  ProductParts parts;
  parts.tile = tileOf(tiles.rows);
  parts.edgeTile = tiles.edgeRows == tiles.rows ? parts.tile : tileOf(tiles.edgeRows);
  parts.packLhs = packOf("lhs", tiles.rows);
  parts.packRhs = packOf("rhs", tiles.columns);
  parts.copy = copy;
  parts.add = add;
  build(code, [&] { buildProductFunction(code, name, parts); });
}

void buildProductFunctions(OpBuilder &builder, Location loc, StringRef name, Type compute,
                           const ProductTiles &tiles, ProductEpilogue epilogue) {
  OpBuilder::InsertionGuard guard(builder);
  ProductCode code(builder, loc, compute, tiles, epilogue);
  const std::string product = (name + "_product").str();
  func::FuncOp transpose = build(code, [&] { return buildTransposeFunction(code, product); });
  func::FuncOp copy = build(code, [&] { return buildCopyFunction(code, product, /*adds=*/false); });
  func::FuncOp add;
  if (code.hasAddends())
    add = build(code, [&] { return buildCopyFunction(code, product, /*adds=*/true); });
  buildProduct(code, product, transpose, copy, add);
  build(code, [&] { buildMirrorFunction(code, (name + "_mirror").str(), transpose); });
}

void buildBF16ProductFunctions(OpBuilder &builder, Location loc, StringRef name, Type compute,
                               const ProductTiles &tiles, DotInstruction dot,
                               ProductEpilogue epilogue) {
  OpBuilder::InsertionGuard guard(builder);
  if (vectorBitsOf(dot) != tiles.lanes * compute.getIntOrFloatBitWidth())
    dot = DotInstruction::None;
  ProductCode code(builder, loc, compute, tiles, epilogue, dot);
  auto module = cast<ModuleOp>(builder.getBlock()->getParentOp());
  auto made = [&](const char *suffix) {
    return module.lookupSymbol<func::FuncOp>((name + "_product" + suffix).str());
  };
  const std::string product = (name + "_bf16_product").str();
  if (code.hasPairs)
    return buildProduct(code, product, made("_transpose"), made("_copy"), made("_add"));
  auto function = code.startFunction(product, code.pointer, {"product"}, /*isPrivate=*/false);
  func::CallOp::create(builder, loc, made(""), function.getArgument(0));
  func::ReturnOp::create(builder, loc);
}

} // namespace updraft
