//===- CompiledFunction.cpp - Compiles an expression of the language --------------------------===//

#include "CompiledFunction.h"

#include "updraft-c/compiler.h"
#include "gtest/gtest.h"

namespace updraft::math {
namespace {

template <typename Real> upd_tensor tensorOf(const Real *data, const int64_t *count) {
  upd_tensor tensor = {};
  tensor.data = const_cast<Real *>(data);
  tensor.shape = count;
  tensor.rank = 1;
  tensor.dtype = dtypeOf<Real>;
  tensor.device = UPD_CPU;
  return tensor;
}

} // namespace

template <typename Real>
CompiledFunction<Real>::CompiledFunction(const std::string &expression, const char *numerics) {
  const std::string source =
      "rule F(lr = 1) { update(param, grad) { next param = " + expression + " } }";
  const char *const type = sizeof(Real) == 4 ? "f32" : "f64";
  const upd_storage storage[] = {{"param", type}, {"grad", type}};
  upd_compile_options options = {};
  options.struct_size = sizeof(options);
  options.storage = storage;
  options.storage_count = 2;
  options.numerics = numerics;
  options.cache_dir = "";
  upd_rule *compiled = nullptr;
  if (upd_compile(source.data(), source.size(), "f.upd", &options, &compiled) != UPD_OK)
    ADD_FAILURE() << upd_last_error();
  rule.reset(compiled);
}

template <typename Real>
void CompiledFunction<Real>::apply(std::vector<Real> &x, const std::vector<Real> &y) {
  const auto count = static_cast<int64_t>(x.size());
  if (params.size() != x.size()) {
    params.assign(x.size(), 0);
    const upd_tensor tensor = tensorOf(params.data(), &count);
    upd_group group = {};
    group.params = &tensor;
    group.param_count = 1;
    upd_optimizer *created = nullptr;
    if (upd_optimizer_create(rule.get(), &group, 1, nullptr, &created) != UPD_OK)
      ADD_FAILURE() << upd_last_error();
    optimizer.reset(created);
  }
  const upd_tensor grad = tensorOf(y.data(), &count);
  std::copy(x.begin(), x.end(), params.begin());
  if (upd_optimizer_step(optimizer.get(), &grad, 1) != UPD_OK)
    ADD_FAILURE() << upd_last_error();
  std::copy(params.begin(), params.end(), x.begin());
}

template <typename Real> Real CompiledFunction<Real>::operator()(Real x, Real y) {
  std::vector<Real> values(1, x);
  apply(values, {y});
  return values[0];
}

template class CompiledFunction<float>;
template class CompiledFunction<double>;

} // namespace updraft::math
