//===- CompiledFunction.h - Compiles an expression of the language ------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_MATH_COMPILEDFUNCTION_H
#define UPDRAFT_UNITTESTS_MATH_COMPILEDFUNCTION_H

#include "updraft-c/compiler.h"
#include "updraft-c/optimizer.h"

#include <memory>
#include <string>
#include <vector>

namespace updraft::math {

template <typename Real> constexpr upd_dtype dtypeOf = sizeof(Real) == 4 ? UPD_F32 : UPD_F64;

/// A rule that replaces each element `param` with an expression of it and of `grad`.
template <typename Real> class CompiledFunction {
public:
  /// `numerics` as in upd_compile_options.
  explicit CompiledFunction(const std::string &expression, const char *numerics = nullptr);

  /// Replaces `x[i]` with the expression's value for `x[i]` and `y[i]`. The sizes must equal those
  /// of the first call.
  void apply(std::vector<Real> &x, const std::vector<Real> &y);
  /// The value for one element.
  Real operator()(Real x, Real y);

private:
  struct Release {
    void operator()(upd_rule *rule) const { upd_rule_release(rule); }
    void operator()(upd_optimizer *optimizer) const { upd_optimizer_release(optimizer); }
  };
  std::unique_ptr<upd_rule, Release> rule;
  std::unique_ptr<upd_optimizer, Release> optimizer;
  std::vector<Real> params;
};

} // namespace updraft::math

#endif // UPDRAFT_UNITTESTS_MATH_COMPILEDFUNCTION_H
