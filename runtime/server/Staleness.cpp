//===- Staleness.cpp - Gradients of old parameters --------------------------------------------===//

#include "runtime/server/Staleness.h"

#include "runtime/base/DType.h"
#include "runtime/server/Refusal.h"

#include <cstdint>
#include <fmt/format.h>
#include <utility>

using namespace updraft;
using namespace updraft::server;

/// Multiplies in f64 and rounds once.
static Tensor scaledBy(double factor, const upd_tensor &view, Budget &budget) {
  Tensor result(view.dtype, Shape(view.shape, view.shape + view.rank), budget,
                "a gradient that is scaled");
  const size_t bytes = runtime::sizeOf(view.dtype);
  const char *from = static_cast<const char *>(view.data);
  for (size_t i = 0; i < static_cast<size_t>(result.elements()); ++i)
    runtime::storeRounded(view.dtype, factor * runtime::loadExact(view.dtype, from + i * bytes),
                          result.data() + i * bytes);
  return result;
}

LimitedGradients::LimitedGradients(const std::map<size_t, SummedGradient> &gradients,
                                   const Parameters &parameters,
                                   const worker::v1::Staleness &staleness, Budget &budget)
    : given(gradients) {
  if (staleness.versions().empty()) // then the parameters' names needn't be read
    return;
  for (const auto &[param, gradient] : gradients) {
    const Parameter &parameter = *parameters[param];
    const auto read = staleness.versions().find(parameter.name);
    if (read == staleness.versions().end())
      continue;
    if (read->second > parameter.version)
      throw Refusal(Reason::Stale,
                    fmt::format("the gradient of `{}` is of version {}, and the parameter has "
                                "version {}: the worker was started again, and has lost the later "
                                "ones; get the parameters",
                                parameter.name, read->second, parameter.version.load()));
    const uint64_t age = parameter.version - read->second;
    if (age <= staleness.most())
      continue;
    if (staleness.late() != worker::v1::Staleness::SCALE)
      throw Refusal(Reason::Stale,
                    fmt::format("the gradient of `{}` is of version {}, and the parameter has "
                                "version {}; at most {} versions may be between them",
                                parameter.name, read->second, parameter.version.load(),
                                staleness.most()));
    if (scaled.empty()) {
      for (const auto &[each, listed] : gradients)
        rows.add(
            budget.reserve(listed.rows.size() * sizeof(int64_t), "the list of rows of a gradient"));
      all = gradients;
    }
    const double factor = (double(staleness.most()) + 1) / (double(age) + 1);
    scaled.push_back(scaledBy(factor, gradient.view, budget));
    // The shape stays that of the given gradient, which stays where it is.
    all[param].view.data = scaled.back().data();
  }
}
