//===- GradientContext.cpp - The gradients that clients push for a step -----------------------===//

#include "runtime/server/GradientContext.h"

#include "runtime/base/DType.h"
#include "runtime/dist/Waiting.h"
#include "runtime/server/Refusal.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <utility>

using namespace updraft::server;
using updraft::runtime::loadExact;
using updraft::runtime::sizeOf;
using updraft::runtime::storeRounded;

namespace {

/// A sum of tensors with the same type. Adds in f32, or in f64 for f64, and rounds once, at the
/// end.
class Sum {
public:
  Sum(upd_dtype dtype, Shape shape, Budget &budget)
      : dtype(dtype), total(dtype == UPD_F64 ? UPD_F64 : UPD_F32, std::move(shape), budget,
                            "a sum of gradients") {
    // -0 + x is x, also for x = -0.
    if (dtype == UPD_F64)
      std::fill_n(as<double>(total.data()), total.elements(), -0.0);
    else
      std::fill_n(as<float>(total.data()), total.elements(), -0.0F);
  }

  /// Adds `count` elements to those from `offset` on.
  void add(const char *elements, size_t offset, size_t count) {
    if (dtype == UPD_F64)
      addPlain<double>(elements, offset, count);
    else if (dtype == UPD_F32)
      addPlain<float>(elements, offset, count);
    else
      for (size_t i = 0; i < count; ++i)
        as<float>(total.data())[offset + i] +=
            static_cast<float>(loadExact(dtype, elements + i * sizeOf(dtype)));
  }

  Tensor rounded(Budget &budget) && {
    if (total.dtype() == dtype)
      return std::move(total);
    Tensor result(dtype, total.shape(), budget, "a sum of gradients");
    for (int64_t i = 0; i < total.elements(); ++i)
      storeRounded(dtype, static_cast<double>(as<float>(total.data())[i]),
                   result.data() + static_cast<size_t>(i) * sizeOf(dtype));
    return result;
  }

private:
  template <typename T> static T *as(char *data) { return reinterpret_cast<T *>(data); }
  template <typename T> void addPlain(const char *elements, size_t offset, size_t count) {
    T *to = as<T>(total.data()) + offset;
    const T *from = reinterpret_cast<const T *>(elements);
    for (size_t i = 0; i < count; ++i)
      to[i] += from[i];
  }

  upd_dtype dtype;
  Tensor total;
};

using Gradients = std::vector<const Gradient *>;

bool isAscending(const std::vector<int64_t> &rows) {
  return std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
}

/// Adds a gradient of rows. `placeOf` returns where a row is in the sum.
template <typename PlaceOf>
void addRows(Sum &sum, const Gradient &gradient, const PlaceOf &placeOf) {
  const size_t count = gradient.rows->size();
  if (count == 0)
    return;
  const size_t perRow = static_cast<size_t>(gradient.values.elements()) / count;
  const size_t bytes = perRow * sizeOf(gradient.values.dtype());
  for (size_t i = 0; i < count; ++i)
    sum.add(gradient.values.data() + i * bytes, placeOf((*gradient.rows)[i]) * perRow, perRow);
}

size_t rowsIn(const Gradients &given) {
  size_t result = 0;
  for (const Gradient *gradient : given)
    result += gradient->rows->size();
  return result;
}

/// The sum of gradients of rows: each row once, in ascending order.
Tensor sumRows(const Gradients &given, Budget &budget, std::vector<int64_t> &rows) {
  for (const Gradient *gradient : given)
    rows.insert(rows.end(), gradient->rows->begin(), gradient->rows->end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  Shape shape = given.front()->values.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  Sum sum(given.front()->values.dtype(), shape, budget);
  for (const Gradient *gradient : given)
    addRows(sum, *gradient, [&](int64_t row) {
      return static_cast<size_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
    });
  return std::move(sum).rounded(budget);
}

/// The sum of gradients of which at least one is whole.
Tensor sumWhole(const Gradients &given, Budget &budget) {
  const Tensor &whole =
      (*std::find_if(given.begin(), given.end(), [](auto *one) { return !one->rows; }))->values;
  Sum sum(whole.dtype(), whole.shape(), budget);
  for (const Gradient *gradient : given)
    if (gradient->rows)
      addRows(sum, *gradient, [](int64_t row) { return static_cast<size_t>(row); });
    else
      sum.add(gradient->values.data(), 0, static_cast<size_t>(gradient->values.elements()));
  return std::move(sum).rounded(budget);
}

} // namespace

void GradientContext::add(const RequestKey &request, std::vector<Gradient> gradients) {
  const std::lock_guard guard(mutex);
  if (gradients.empty() || requests.contains(request))
    return;
  if (applied)
    throw Refusal(Reason::FailedPrecondition,
                  "the context has been stepped, and takes no more gradients; open another");
  if (!latest.expired())
    throw Refusal(Reason::Unavailable, "a step of the context is under way; try again");
  for (const Gradient &gradient : gradients)
    size += gradient.values.bytes();
  requests.emplace(request, std::move(gradients));
}

void GradientContext::close() {
  const auto guard = dist::lockPatiently(mutex);
  applied = latest.lock();
}

std::shared_ptr<const SummedGradients> GradientContext::sum(Budget &budget) {
  const auto guard = dist::lockPatiently(mutex);
  if (std::shared_ptr<const SummedGradients> known = latest.lock())
    return known;
  std::map<size_t, Gradients> byParam;
  for (const auto &[request, gradients] : requests)
    for (const Gradient &gradient : gradients)
      byParam[gradient.param].push_back(&gradient);
  auto result = std::make_shared<SummedGradients>();
  for (const auto &[param, given] : byParam) {
    SummedGradient &one = result->byParam[param];
    one.isWhole = std::any_of(given.begin(), given.end(), [](auto *each) { return !each->rows; });
    if (!one.isWhole)
      result->rows.add(
          budget.reserve(rowsIn(given) * sizeof(int64_t), "the list of rows of a sum"));
    // The values of a single gradient are used where they are.
    if (const Gradient &only = *given.front();
        given.size() == 1 && (!only.rows || isAscending(*only.rows))) {
      one.rows = only.rows.value_or(std::vector<int64_t>());
      one.view = only.values.view();
      continue;
    }
    result->memory.push_back(one.isWhole ? sumWhole(given, budget)
                                         : sumRows(given, budget, one.rows));
    one.view = result->memory.back().view();
  }
  // A tensor's shape moves with it, so views stay valid when `memory` grows.
  latest = result;
  return result;
}
