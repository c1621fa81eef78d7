//===- Addends.h - How products add a third matrix ----------------------------------*- C++ -*-===//

#ifndef UPDRAFT_CONVERSION_ADDENDS_H
#define UPDRAFT_CONVERSION_ADDENDS_H

namespace updraft {

/// How products add a third matrix (upd_product_sum).
enum class Addends {
  None,
  Rounded, ///< scale * product + addend_scale * addend
  Fused    ///< fma(addend_scale, addend, scale * product)
};

} // namespace updraft

#endif // UPDRAFT_CONVERSION_ADDENDS_H
