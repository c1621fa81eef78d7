//===- GradientContext.cpp - The gradients that clients push for a step -----------------------===//

#include "runtime/server/GradientContext.h"

#include "runtime/base/DType.h"
#include "runtime/server/Refusal.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

using namespace updraft::server;
using updraft::runtime::loadExact;
using updraft::runtime::sizeOf;
using updraft::runtime::storeRounded;

namespace {

/// Adds in f32 or f64 and rounds once, at the end.
class Sum {
public:
  Sum(upd_dtype dtype, size_t elements) : dtype(dtype), values(elements) {}

  /// Adds `count` elements to those from `offset` on.
  void add(const char *elements, size_t offset, size_t count) {
    const size_t size = sizeOf(dtype);
    for (size_t i = 0; i < count; ++i) {
      const double value = loadExact(dtype, elements + i * size);
      double &total = values[offset + i];
      total = dtype == UPD_F64
                  ? total + value
                  : static_cast<double>(static_cast<float>(total) + static_cast<float>(value));
    }
  }

  void store(char *elements) const {
    const size_t size = sizeOf(dtype);
    for (size_t i = 0; i < values.size(); ++i)
      storeRounded(dtype, values[i], elements + i * size);
  }

private:
  upd_dtype dtype;
  std::vector<double> values;
};

using Gradients = std::vector<const Gradient *>;

bool isAscending(const std::vector<int64_t> &rows) {
  return std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
}

size_t elementsPerRow(const Gradient &gradient) {
  return gradient.rows->empty()
             ? 0
             : static_cast<size_t>(gradient.values.elements()) / gradient.rows->size();
}

/// The sum of gradients of rows: each row once, in ascending order.
Tensor sumRows(const Gradients &given, Budget &budget, std::vector<int64_t> &rows) {
  for (const Gradient *gradient : given)
    rows.insert(rows.end(), gradient->rows->begin(), gradient->rows->end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  Shape shape = given.front()->values.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor result(given.front()->values.dtype(), shape, budget, "a sum of gradients");
  Sum sum(result.dtype(), static_cast<size_t>(result.elements()));
  for (const Gradient *gradient : given) {
    const size_t perRow = elementsPerRow(*gradient), bytes = perRow * sizeOf(result.dtype());
    for (size_t i = 0; i < gradient->rows->size(); ++i) {
      const auto place = std::lower_bound(rows.begin(), rows.end(), (*gradient->rows)[i]);
      sum.add(gradient->values.data() + i * bytes,
              static_cast<size_t>(place - rows.begin()) * perRow, perRow);
    }
  }
  sum.store(result.data());
  return result;
}

/// The sum of gradients of which at least one is whole.
Tensor sumWhole(const Gradients &given, Budget &budget) {
  const Gradient &whole =
      **std::find_if(given.begin(), given.end(), [](auto *one) { return !one->rows; });
  Tensor result(whole.values.dtype(), whole.values.shape(), budget, "a sum of gradients");
  Sum sum(result.dtype(), static_cast<size_t>(result.elements()));
  for (const Gradient *gradient : given) {
    if (!gradient->rows) {
      sum.add(gradient->values.data(), 0, static_cast<size_t>(gradient->values.elements()));
      continue;
    }
    const size_t perRow = elementsPerRow(*gradient), bytes = perRow * sizeOf(result.dtype());
    for (size_t i = 0; i < gradient->rows->size(); ++i)
      sum.add(gradient->values.data() + i * bytes,
              static_cast<size_t>((*gradient->rows)[i]) * perRow, perRow);
  }
  sum.store(result.data());
  return result;
}

} // namespace

void GradientContext::add(const RequestKey &request, std::vector<Gradient> gradients) {
  const std::lock_guard guard(mutex);
  if (requests.contains(request))
    return;
  if (summed)
    throw Refusal(Reason::FailedPrecondition,
                  "the context has been stepped, and takes no more gradients; open another");
  requests.emplace(request, std::move(gradients));
}

const std::map<size_t, SummedGradient> &GradientContext::sum(Budget &budget) {
  const std::lock_guard guard(mutex);
  if (summed)
    return *summed;
  std::map<size_t, Gradients> byParam;
  for (const auto &[request, gradients] : requests)
    for (const Gradient &gradient : gradients)
      byParam[gradient.param].push_back(&gradient);
  std::map<size_t, SummedGradient> result;
  std::vector<Tensor> memory;
  for (const auto &[param, given] : byParam) {
    SummedGradient &one = result[param];
    one.isWhole = std::any_of(given.begin(), given.end(), [](auto *each) { return !each->rows; });
    // A single gradient is used where it is.
    if (const Gradient &only = *given.front();
        given.size() == 1 && (!only.rows || isAscending(*only.rows))) {
      one.rows = only.rows.value_or(std::vector<int64_t>());
      one.view = only.values.view();
      continue;
    }
    memory.push_back(one.isWhole ? sumWhole(given, budget) : sumRows(given, budget, one.rows));
    one.view = memory.back().view();
  }
  sums = std::move(memory);
  // The shapes moved with the tensors, so the views stay valid: vectors keep their elements.
  summed = std::move(result);
  return *summed;
}
