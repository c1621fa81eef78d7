//===- ProductEpilogue.h - How products add other matrices --------------------------*- C++ -*-===//

#ifndef UPDRAFT_CONVERSION_PRODUCTEPILOGUE_H
#define UPDRAFT_CONVERSION_PRODUCTEPILOGUE_H

namespace updraft {

/// How products add an addend (upd_product_sum), and then a target (upd_product_update). The
/// formulas are those of the addend.
enum class Addends {
  None,
  Rounded, ///< scale * product + addend_scale * addend
  Fused    ///< fma(addend_scale, addend, scale * product)
};

/// The operations that the products of an object may end with.
struct ProductEpilogue {
  Addends addends = Addends::None;
  bool hasTargets = false; ///< some update a target (upd_product_update); only with addends
};

} // namespace updraft

#endif // UPDRAFT_CONVERSION_PRODUCTEPILOGUE_H
