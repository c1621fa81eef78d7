//===- JitProduct.h - The functions of a product, compiled into this process --------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_TARGET_JITPRODUCT_H
#define UPDRAFT_UNITTESTS_TARGET_JITPRODUCT_H

#include "updraft-c/kernel.h"
#include "updraft/Conversion/Product.h"
#include "updraft/Target/CPUTarget.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::test {

class JitModule;

/// A CPU, and the loops for another or the same one.
struct ProductShape {
  std::string name;
  CPUTarget cpu;
  ProductTarget loops;
};

/// This machine with its own loops, and with those of CPUs that have other vectors or registers;
/// and the named targets that can run here.
std::vector<ProductShape> productShapes();

class JitProduct {
public:
  /// Compiles the functions for f32, or f64 if `isDouble`. A failure fails the test, and makes the
  /// functions null. With `smallBlocks`, blocks have few tiles, and these are unrolled and cut
  /// differently.
  JitProduct(const ProductShape &shape, bool isDouble, bool smallBlocks = false,
             ProductEpilogue epilogue = {});
  ~JitProduct();

  upd_product_function product = nullptr;
  upd_product_function bf16 = nullptr; ///< for f32
  upd_mirror_function mirror = nullptr;
  ProductTiles tiles;

private:
  std::unique_ptr<JitModule> process;
};

} // namespace updraft::test

#endif // UPDRAFT_UNITTESTS_TARGET_JITPRODUCT_H
