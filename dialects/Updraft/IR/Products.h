//===- Products.h - Matrices of rules and plans -------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_PRODUCTS_H
#define UPDRAFT_IR_PRODUCTS_H

#include "mlir/IR/Operation.h"

namespace updraft {

class ProductOp;

/// Whether `value` of a rule is a matrix that has the same bits as its transpose: a symmetric
/// product, an identity, or arithmetic on such matrices and scalars.
bool isSymmetric(mlir::Value value);

/// The same for a stream of a plan: a symmetric product, or a matrix that a sweep makes of such
/// matrices and of values per batch.
bool isSymmetricStream(mlir::Value stream);

/// Returns the streams of a plan that the operation writes, a sweep or a product.
mlir::ValueRange writtenBy(mlir::Operation *operation);

/// Whether the elements c_ij and c_ji of a product are one, or the same chain of operations.
bool hasSymmetricResult(ProductOp product);

} // namespace updraft

#endif // UPDRAFT_IR_PRODUCTS_H
