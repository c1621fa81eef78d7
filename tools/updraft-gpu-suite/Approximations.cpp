//===- Approximations.cpp - The numerics mode `fast` on a device ------------------------------===//

#include "Approximations.h"

#include "Recorder.h"
#include "Side.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace updraft::harness;
using namespace updraft::suite;
using json = nlohmann::ordered_json;

/// Bounds per step for an f32 parameter, and for a bf16 parameter, which may round to the adjacent
/// value. With errors of two units in every operation and random signs, the largest error over all
/// rules without products is 14. Products of f32 amplify errors of their operands.
constexpr double fastUnitsPerStep = 16, multipliedUnitsPerStep = 64, bf16UnitsPerStep = 1;
/// The bounds of all elements' largest change, if products are in bf16 or f16 on one side and not
/// on the other. Twice what Newton and Schulz's iteration in bf16 is apart from that in f32; f16
/// has 8 times smaller rounding errors.
constexpr double bf16Part = 0.125, f16Part = bf16Part / 8;

const std::vector<Approximation> &updraft::suite::approximations() {
  static const std::vector<Approximation> all = {
      {"x / y", "rule Quotient() { update(param, grad) { next param = param / grad } }",
       [](float x, float y) { return double(x) / double(y); }, 2.5},
      {"sqrt(x)", "rule Root() { update(param, grad) { next param = sqrt(param) } }",
       [](float x, float) { return std::sqrt(double(x)); }, 2},
      {"x / sqrt(y)",
       "rule QuotientByRoot() { update(param, grad) { next param = param / sqrt(grad) } }",
       [](float x, float y) { return double(x) / std::sqrt(double(y)); }, 3.2}};
  return all;
}

namespace {
/// All pairs of special numbers and of numbers that instructions scale, then random bits.
std::vector<float> floats(int64_t count, bool isSecond) {
  const float least = 0x1p-149F, large = 0x1p126F;
  const float positive[] = {0,
                            1,
                            1.5F,
                            least,
                            0x1.fffffcp-127F,
                            0x1p-126F,
                            large,
                            0x1p127F,
                            0x1.000002p126F,
                            0x1.fffffep127F,
                            0x1p-63F,
                            3,
                            INFINITY,
                            NAN};
  std::vector<float> special;
  for (float number : positive)
    special.insert(special.end(), {number, -number});
  std::vector<float> result;
  for (float first : special)
    for (float second : special)
      result.push_back(isSecond ? second : first);
  const std::vector<char> bits = randomBits(count * 4, isSecond ? 2 : 1);
  result.resize(static_cast<size_t>(count));
  const size_t start = special.size() * special.size();
  for (size_t i = start; i < result.size(); ++i)
    std::memcpy(&result[i], bits.data() + i * 4, 4);
  return result;
}

double unitOf(double value, int digits, int leastExponent) {
  const int exponent = value == 0 ? leastExponent : std::ilogb(value);
  return std::ldexp(1, std::max(exponent, leastExponent) - digits + 1);
}

/// In units in the last place of the exact result. Infinity if the results differ in kind (such as
/// NaN). A value too large for f32 counts as infinite.
double errorOf(float found, double exact) {
  const double beyond = 0x1p128;
  if (std::isnan(exact) || std::isnan(found))
    return std::isnan(exact) && std::isnan(found) ? 0 : INFINITY;
  if (exact == 0 || std::isinf(exact))
    return found == exact && std::signbit(found) == std::signbit(exact) ? 0 : INFINITY;
  const double nearest = std::copysign(std::min(std::abs(exact), beyond), exact);
  const double value = std::isinf(found) ? std::copysign(beyond, found) : found;
  return std::abs(value - nearest) / std::min(unitOf(nearest, 24, -126), 0x1p104);
}
} // namespace

json updraft::suite::isWithinBound(Device &device, const Approximation &approximation,
                                   int64_t count) {
  const std::vector<float> x = floats(count, false), y = floats(count, true);
  RuleRequest request;
  request.source = approximation.rule;
  request.numerics = "fast";
  const Rule rule = compile(request, device.target());
  const size_t bytes = x.size() * sizeof(float);
  const Buffer params(device, bytes), grads(device, bytes);
  device.write(params.data(), x.data(), bytes);
  device.write(grads.data(), y.data(), bytes);
  const upd_tensor param{params.data(), &count, nullptr, 1, UPD_F32, device.kind(), 0, 0};
  const upd_tensor grad{grads.data(), &count, nullptr, 1, UPD_F32, device.kind(), 0, 0};
  const Optimizer optimizer = makeOptimizer(rule.get(), {{param}});
  device.wait();
  check(upd_optimizer_step(optimizer.get(), &grad, 1));
  device.wait();
  std::vector<float> found(x.size());
  device.read(found.data(), params.data(), bytes);
  double largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double exact = approximation.exact(x[i], y[i]), error = errorOf(found[i], exact);
    if (error > approximation.units)
      throw std::runtime_error(fmt::format(
          "for x = {:a} and y = {:a} the result is {:a}, expected {:a}: {:.2f} units in the last "
          "place off, allowed {}",
          x[i], y[i], found[i], exact, error, approximation.units));
    largest = std::max(largest, error);
  }
  return {{"units", largest}};
}

namespace {
/// The distance between the parameters of two sides.
class Distance {
public:
  Distance(Side &cpu, Side &device)
      : cpu(cpu), device(device), multiplies(cpu.multiplies()), before(cpu.tensors()),
        scales(cpu.tensors()) {
    for (size_t tensor = 0; tensor < scales.size(); ++tensor) {
      before[tensor] = valuesOf(cpu, tensor);
      widen(scales[tensor], before[tensor]);
    }
  }

  /// The largest distance of an element, in units in the last place of the largest magnitude that
  /// the element has had. The current magnitude would be too small, because an update may cancel.
  /// A product adds up other elements, so there the magnitude is also that of the largest change of
  /// an element in the tensor.
  double now(const std::string &when) {
    const int digits = cpu.paramType() == UPD_F32 ? 24 : 8;
    double largest = 0;
    for (size_t tensor = 0; tensor < scales.size(); ++tensor) {
      const std::vector<double> expected = valuesOf(cpu, tensor), found = valuesOf(device, tensor);
      widen(scales[tensor], expected);
      if (multiplies)
        widen(scales[tensor], largestChange(before[tensor], expected));
      before[tensor] = expected;
      for (size_t i = 0; i < expected.size(); ++i) {
        const double a = expected[i], b = found[i];
        if (a == b || (std::isnan(a) && std::isnan(b)))
          continue;
        if (!std::isfinite(a) || !std::isfinite(b))
          throw std::runtime_error(
              fmt::format("{}, tensor {} {}, element {}: {} on the CPU, {} on the device", when,
                          tensor, cpu.shape(tensor).text(), i, a, b));
        largest = std::max(largest, std::abs(a - b) / unitOf(scales[tensor][i], digits, -126));
      }
    }
    return largest;
  }

private:
  static std::vector<double> valuesOf(Side &side, size_t tensor) {
    const std::vector<char> bytes = side.param(tensor);
    const auto size = static_cast<size_t>(sizeOf(side.paramType()));
    std::vector<double> values(bytes.size() / size);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = loadValue(side.paramType(), &bytes[i * size]);
    return values;
  }
  static double largestChange(const std::vector<double> &from, const std::vector<double> &to) {
    double largest = 0;
    for (size_t i = 0; i < from.size(); ++i)
      if (std::isfinite(from[i]) && std::isfinite(to[i]))
        largest = std::max(largest, std::abs(to[i] - from[i]));
    return largest;
  }
  static void widen(std::vector<double> &scales, double least) {
    for (double &scale : scales)
      scale = std::max(scale, least);
  }
  static void widen(std::vector<double> &scales, const std::vector<double> &values) {
    scales.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (std::isfinite(values[i]))
        scales[i] = std::max(scales[i], std::abs(values[i]));
  }

  Side &cpu, &device;
  bool multiplies;
  std::vector<std::vector<double>> before; ///< the parameters after the last step
  std::vector<std::vector<double>> scales;
};
} // namespace

json updraft::suite::fastStepsAgree(Device &device, RuleRequest request,
                                    const std::vector<TensorShape> &shapes) {
  request.numerics = "fast";
  Side cpu(nullptr, request, shapes), onDevice(&device, request, shapes);
  if (cpu.hasMatrixFunctions())
    throw Skipped("functions of matrices have no bound: errors may choose another eigenvector, "
                  "order or largest row");
  Distance distance(cpu, onDevice);
  const bool isF32 = cpu.paramType() == UPD_F32;
  double allowed = isF32 ? fastUnitsPerStep : bf16UnitsPerStep;
  if (cpu.multiplies() && isF32)
    allowed = multipliedUnitsPerStep;
  if (cpu.rounds("bf16") || cpu.rounds("f16"))
    allowed = std::ldexp(cpu.rounds("bf16") ? bf16Part : f16Part, isF32 ? 24 : 8);
  double largest = 0;
  for (uint64_t step = 1; step <= 5; ++step) {
    for (Side *side : {&cpu, &onDevice}) {
      side->makeGradients(step);
      side->step();
    }
    const std::string when = fmt::format("step {}", step);
    const double perStep = distance.now(when) / static_cast<double>(step);
    if (perStep > allowed)
      throw std::runtime_error(
          fmt::format("{}: an element is {:.2f} units in the last place apart per step, allowed {}",
                      when, perStep, allowed));
    largest = std::max(largest, perStep);
  }
  return {{"units_per_step", largest}};
}
