//===- ProductCode.h - Code that the functions of a product consist of --------------*- C++ -*-===//
// Each function of the object is built by a function declared here.

#ifndef UPDRAFT_LIB_CONVERSION_PRODUCT_PRODUCTCODE_H
#define UPDRAFT_LIB_CONVERSION_PRODUCT_PRODUCTCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "updraft/Conversion/Product.h"

namespace updraft {

/// Creates operations on sizes, addresses and vectors of the compute type. With an instruction for
/// bf16, panels have pairs: two elements of bf16 that are adjacent in depth, in the place of one
/// f32. Such a panel ends after half of its memory.
class ProductCode {
public:
  using Body = llvm::function_ref<void()>;

  ProductCode(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type compute,
              const ProductTiles &tiles, ProductEpilogue epilogue,
              DotInstruction dot = DotInstruction::None);

  /// Creates a function without results and moves to its start. A private function is local to the
  /// object.
  mlir::func::FuncOp startFunction(const llvm::Twine &name, mlir::TypeRange arguments,
                                   llvm::ArrayRef<llvm::StringRef> names, bool isPrivate = true);

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value left, mlir::Value right);
  mlir::Value subtract(mlir::Value left, mlir::Value right);
  mlir::Value multiply(mlir::Value left, mlir::Value right);
  mlir::Value smaller(mlir::Value left, mlir::Value right);
  mlir::Value larger(mlir::Value left, mlir::Value right);
  mlir::Value isLess(mlir::Value left, mlir::Value right);
  mlir::Value isEqual(mlir::Value left, mlir::Value right);
  mlir::Value isAddress(mlir::Value pointer); ///< whether it isn't null
  mlir::Value both(mlir::Value left, mlir::Value right);
  /// Rounds a value that isn't negative down to a multiple of `unit`.
  mlir::Value roundDown(mlir::Value value, int64_t unit);

  /// Runs the body for each number from `lower` to before `upper`.
  void loop(mlir::Value lower, mlir::Value upper, mlir::Value step,
            llvm::function_ref<void(mlir::Value)> body);
  /// The same with addresses, which each iteration moves on by a number of elements.
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange addresses,
            mlir::ValueRange distances,
            llvm::function_ref<void(mlir::Value, mlir::ValueRange)> body);
  void branch(mlir::Value condition, Body whenTrue, Body otherwise = {});

  /// Returns the address of the element `distance` elements after `address`.
  mlir::Value at(mlir::Value address, mlir::Value distance);
  mlir::Value at(mlir::Value address, int64_t distance);
  /// Loads a vector, or an element if `lanes` is 1.
  mlir::Value load(mlir::Value address, unsigned lanes, mlir::Value mask = {});
  void store(mlir::Value value, mlir::Value address, mlir::Value mask = {});
  mlir::Value zero(unsigned lanes);
  mlir::Value null();
  /// Returns the mask of a vector's first lanes.
  mlir::Value firstLanes(mlir::Value count);
  mlir::Value shuffle(mlir::Value left, mlir::Value right, llvm::ArrayRef<int64_t> lanes);

  /// The addend or the target, and what it and the value before it are multiplied by. Scales are
  /// elements.
  struct Term {
    mlir::Value row, valueScale, scale;
  };
  /// Returns the address of the members of a term, of which the first is at `member` in a
  /// upd_product_update.
  mlir::Value termOf(mlir::Value sum, size_t member);
  /// Loads a term whose matrix isn't null.
  Term loadTerm(mlir::Value members);
  /// Adds a vector or an element of the term's matrix to a value.
  mlir::Value addTo(mlir::Value value, mlir::Value element, const Term &term);

  /// Returns the parts, with powers of two lanes, of `count` elements that are accessed as vectors:
  /// the first element and the number of each.
  llvm::SmallVector<std::pair<int64_t, unsigned>> parts(unsigned count) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type compute, i64, pointer;
  const ProductTiles &tiles;
  const ProductEpilogue epilogue;
  const DotInstruction dot;
  const bool hasPairs; ///< in panels

  bool hasAddends() const { return epilogue.addends != Addends::None; }
};

/// NAME_tileN(lhs, rhs, depth, result, result_row, continues), with N the number of `rows`:
/// computes the first rows of a tile from a panel of each operand. Starts from the partial result
/// in memory if `continues`, else from 0. With addends there are more arguments: `addend`, and with
/// targets `target`, are the addresses of the tile's parts of these matrices, or null, and `sum` is
/// the upd_product_sum.
mlir::func::FuncOp buildTileFunction(ProductCode &code, llvm::StringRef name, unsigned rows);

/// NAME_transpose(from, from_row, to, to_row, rows, blocks): transposes `blocks` square blocks next
/// to each other, with as many rows as a vector has lanes, into blocks below each other. If there
/// are fewer `rows`, the columns of the result that have none are unspecified, but stored. Columns
/// are stored in order, so they may overlap.
mlir::func::FuncOp buildTransposeFunction(ProductCode &code, llvm::StringRef name);

/// NAME(from, distance, depth_distance, count, depth, to): copies `count` rows of lhs, or columns
/// of rhs, to panels of `width`. `distance` is from one of them to the next, and `depth_distance`
/// from an element to the next in its row or column. May also change the elements of one vector
/// after the panels.
mlir::func::FuncOp buildPackFunction(ProductCode &code, const llvm::Twine &name, unsigned width,
                                     mlir::func::FuncOp transpose);

/// NAME_copy(from, from_row, to, to_row, rows, columns): copies a part of a tile. If it `adds`,
/// NAME_add(from, from_row, to, to_row, rows, columns, matrix, term): also adds the matrix of a
/// term.
mlir::func::FuncOp buildCopyFunction(ProductCode &code, llvm::StringRef name, bool adds);

/// NAME_product itself, which calls the functions above.
struct ProductParts {
  mlir::func::FuncOp tile, edgeTile, packLhs, packRhs, copy;
  mlir::func::FuncOp add; ///< null without addends
};
void buildProductFunction(ProductCode &code, llvm::StringRef name, ProductParts parts);

/// The function NAME.
void buildMirrorFunction(ProductCode &code, llvm::StringRef name, mlir::func::FuncOp transpose);

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_PRODUCT_PRODUCTCODE_H
