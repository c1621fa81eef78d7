//===- DeviceProductTests.cpp - Products of matrices on a device ------------------------------===//
// The kernel that multiplies must have the bits of one chain of fused multiply-adds per element, at
// every edge of its tiles. Products of operands rounded to bf16 or f16 are within a bound. Then
// steps of rules with products have the bits of the CPU's. The devices are the emulator and, if
// there is one, a GPU.

#include "SteppedSides.h"
#include "runtime/gpu/DeviceStep.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

using namespace updraft;
using namespace updraft::differential;

namespace {

struct Sizes {
  int64_t rows, columns, depth, batches;
};

/// bf16 or f16, if operands are rounded.
using OperandFormat = std::optional<upd_dtype>;

/// Rounds a finite value to a multiple of its unit in the last place, ties to even.
float rounded(float value, OperandFormat format) {
  if (!format || value == 0)
    return value;
  const bool isF16 = format == UPD_F16;
  const int unit = std::max(std::ilogb(value), isF16 ? -14 : -126) - (isF16 ? 10 : 7);
  const float result = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return isF16 && std::fabs(result) > 65504 ? std::copysign(INFINITY, value) : result;
}

enum class Values : uint8_t {
  Random,
  Integers ///< so small that all formats have them, and f32 their sums
};

template <typename Element> class Multiplication {
public:
  Multiplication(gpu::Device &device, const gpu::EngineKernels &engine, Sizes sizes,
                 OperandFormat format = {})
      : device(device), engine(engine), sizes(sizes), format(format),
        random(sizes.rows * 1000 + sizes.columns) {}

  ~Multiplication() {
    for (void *memory : allocated)
      device.release(memory);
  }

  void run(bool lhsTransposed, bool rhsTransposed, bool isSymmetric, bool isSkipped = false,
           Values kind = Values::Random) {
    const auto [rows, columns, depth, batches] = sizes;
    const std::vector<Element> lhs = values(batches * rows * depth, kind);
    // A symmetric product is one of a matrix and its transpose.
    const std::vector<Element> rhs = isSymmetric ? lhs : values(batches * depth * columns, kind);
    const bool lhsByRows = !lhsTransposed, rhsByRows = rhsTransposed;
    const gpu::Product product{nullptr,
                               nullptr,
                               0,
                               sizeof(Element) == 4 ? UPD_F32 : UPD_F64,
                               {0, lhsByRows ? depth : 1, lhsByRows ? 1 : rows, rows * depth},
                               {1, rhsByRows ? depth : 1, rhsByRows ? 1 : columns, depth * columns},
                               2,
                               columns,
                               rows * columns,
                               rows,
                               columns,
                               depth,
                               isSymmetric,
                               0};
    std::vector<Element> result(batches * rows * columns, untouched);
    ASSERT_NO_FATAL_FAILURE(multiply(product, lhs, rhs, isSkipped, result));
    for (int64_t b = 0, place = 0; b < batches; ++b)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j, ++place) {
          Element sum = 0;
          double exact = 0, magnitude = 0;
          for (int64_t k = 0; k < depth; ++k) {
            const Element left =
                lhs[b * rows * depth + i * product.lhs.lineStride + k * product.lhs.depthStride];
            const Element right =
                rhs[b * depth * columns + j * product.rhs.lineStride + k * product.rhs.depthStride];
            sum = std::fma(left, right, sum);
            const double term = double(rounded(left, format)) * rounded(right, format);
            exact += term;
            magnitude += std::fabs(term);
          }
          if (format && kind == Values::Random) {
            // Each of the `depth` additions may be off by a unit of the largest partial sum, and
            // subnormal results are one unit wide.
            ASSERT_NEAR(result[place], exact, depth * (0x1p-23 * magnitude + 0x1p-149))
                << rows << " x " << columns << " x " << depth << ", batch " << b << ", element ("
                << i << ", " << j << ")";
            continue;
          }
          if (isSkipped)
            sum = untouched;
          ASSERT_EQ(std::memcmp(&sum, &result[place], sizeof(Element)), 0)
              << rows << " x " << columns << " x " << depth << ", batch " << b << ", element (" << i
              << ", " << j << "): " << result[place] << ", expected " << sum;
        }
  }

  /// Computes a product that is described but for its memory.
  void multiply(gpu::Product product, const std::vector<Element> &lhs,
                const std::vector<Element> &rhs, bool isSkipped, std::vector<Element> &result) {
    std::vector<void *> streams = {copy(lhs), copy(rhs), copy(result)};
    product.streams = static_cast<void *const *>(copy(streams));
    product.row = copy(std::vector<Element>{Element(isSkipped ? 1 : 0)});
    if (format)
      pack(product);
    int64_t tiles = sizes.batches * productTilesOf(product, sizeof(Element)), count = 1;
    auto *products = static_cast<gpu::Product *>(copy(std::vector<gpu::Product>{product}));
    void *arguments[] = {&products, &count, &tiles};
    gpu::Kernel kernel = sizeof(Element) == 4 ? engine.multiplyF32 : engine.multiplyF64;
    if (format)
      kernel = format == UPD_BF16 ? engine.multiplyBF16 : engine.multiplyF16;
    ASSERT_TRUE(device.launch(kernel, device.blocksFor(tiles, 1), arguments, nullptr).ok());
    ASSERT_TRUE(
        device.read(result.data(), streams[2], result.size() * sizeof(Element), nullptr).ok());
  }

  static constexpr auto untouched = Element(-77);

private:
  /// Packs both operands.
  void pack(gpu::Product &product) {
    std::vector<gpu::Packing> packings;
    int64_t blocks = 0;
    for (const bool isLhs : {true, false}) {
      gpu::Packing packing{product.streams,
                           product.row,
                           0,
                           isLhs ? product.lhs : product.rhs,
                           isLhs ? product.rows : product.columns,
                           product.depth,
                           sizes.batches,
                           nullptr,
                           blocks};
      // No element of a packed operand is left out.
      packing.to = copy(std::vector<char>(sizes.batches * packing.bytesOfBatch(), '\xff'));
      blocks += sizes.batches * packing.unitsOfBatch();
      (isLhs ? product.packedLhs : product.packedRhs) = packing.to;
      packings.push_back(packing);
    }
    auto *first = static_cast<gpu::Packing *>(copy(packings));
    int64_t count = 2;
    void *arguments[] = {&first, &count, &blocks};
    ASSERT_TRUE(device
                    .launch(format == UPD_BF16 ? engine.packBF16 : engine.packF16,
                            device.blocksFor(blocks, UPD_GPU_THREADS / 32), arguments, nullptr)
                    .ok());
  }

  std::vector<Element> values(int64_t count, Values kind) {
    std::vector<Element> made(count);
    std::normal_distribution<Element> distribution;
    for (Element &value : made) {
      if (kind == Values::Integers) {
        value = Element(int64_t(random() % 201) - 100);
        continue;
      }
      value = distribution(random);
      // Products of these round to -0 or are subnormal.
      if (random() % 8 == 0)
        value *= sizeof(Element) == 4 ? Element(1e-30) : Element(1e-200);
    }
    return made;
  }

  template <typename T> void *copy(const std::vector<T> &from) {
    void *memory = nullptr;
    EXPECT_TRUE(device.allocate(from.size() * sizeof(T) + 1, &memory).ok());
    allocated.push_back(memory);
    EXPECT_TRUE(device.write(memory, from.data(), from.size() * sizeof(T), nullptr).ok());
    return memory;
  }

  gpu::Device &device;
  const gpu::EngineKernels &engine;
  Sizes sizes;
  OperandFormat format;
  std::mt19937_64 random;
  std::vector<void *> allocated;
};

class DeviceProducts : public OnDevice<> {
protected:
  void SetUp() override { ASSERT_TRUE(gpu::EngineKernels::load(*on.device, engine).ok()); }

  template <typename Element>
  void multiply(Sizes sizes, OperandFormat format = {}, Values kind = Values::Random) {
    for (const bool lhsTransposed : {false, true})
      for (const bool rhsTransposed : {false, true})
        Multiplication<Element>(*on.device, engine, sizes, format)
            .run(lhsTransposed, rhsTransposed, false, false, kind);
  }

  template <typename Element>
  void multiplySymmetric(int64_t side, int64_t depth, int64_t batches, OperandFormat format = {}) {
    for (const bool transposed : {false, true})
      Multiplication<Element>(*on.device, engine, {side, side, depth, batches}, format)
          .run(transposed, !transposed, true);
  }

  gpu::EngineKernels engine;
};

// Tiles are 128 wide in f32 and 64 in f64, threads have vectors of 4 and 2, and strips are 16 deep.
TEST_P(DeviceProducts, HaveTheBitsOfOneChainAtTheEdgesOfTiles) {
  const Sizes sizes[] = {{1, 1, 1, 1},      {1, 9, 5, 1},     {9, 1, 5, 1},    {5, 5, 0, 1},
                         {4, 8, 16, 1},     {3, 5, 17, 3},    {63, 65, 15, 1}, {64, 64, 16, 1},
                         {65, 63, 31, 2},   {127, 3, 33, 1},  {3, 127, 2, 1},  {128, 128, 32, 1},
                         {129, 129, 17, 1}, {128, 130, 4, 2}, {257, 20, 3, 1}, {66, 260, 1, 1},
                         {0, 4, 3, 1},      {4, 0, 3, 1},     {3, 4, 5, 0}};
  for (const Sizes &each : sizes) {
    ASSERT_NO_FATAL_FAILURE(multiply<float>(each));
    ASSERT_NO_FATAL_FAILURE(multiply<double>(each));
  }
}

TEST_P(DeviceProducts, HaveTheBitsOfOneChainIfTheyAreSymmetric) {
  for (const int64_t side : {0, 1, 7, 63, 64, 65, 127, 128, 129, 260})
    for (const int64_t depth : {0, 1, 18}) {
      ASSERT_NO_FATAL_FAILURE(multiplySymmetric<float>(side, depth, 1 + side % 2));
      ASSERT_NO_FATAL_FAILURE(multiplySymmetric<double>(side, depth, 1 + side % 2));
    }
}

TEST_P(DeviceProducts, LeaveTheResultIfTheTensorIsSkipped) {
  Multiplication<float>(*on.device, engine, {20, 30, 10, 1}).run(false, false, false, true);
}

// Tiles are 128 wide, warps have 64 x 32 elements, and strips are 32 deep.
TEST_P(DeviceProducts, OfRoundedOperandsAreWithinTheirBound) {
  const Sizes sizes[] = {{1, 1, 1, 1},    {9, 5, 0, 1},      {16, 8, 16, 1},
                         {3, 5, 17, 3},   {33, 65, 31, 2},   {64, 32, 32, 1},
                         {65, 33, 33, 2}, {128, 128, 64, 1}, {129, 127, 70, 1}};
  for (const upd_dtype format : {UPD_BF16, UPD_F16}) {
    for (const Sizes &each : sizes)
      ASSERT_NO_FATAL_FAILURE(multiply<float>(each, format));
    for (const int64_t side : {1, 17, 127, 130})
      ASSERT_NO_FATAL_FAILURE(multiplySymmetric<float>(side, 34, 2, format));
  }
}

// If an element is at the wrong place of a fragment, sums differ.
TEST_P(DeviceProducts, OfRoundedIntegersAreExact) {
  for (const upd_dtype format : {UPD_BF16, UPD_F16})
    for (const Sizes &each : {Sizes{16, 8, 16, 1}, Sizes{64, 32, 32, 1}, Sizes{129, 127, 70, 1}})
      ASSERT_NO_FATAL_FAILURE(multiply<float>(each, format, Values::Integers));
}

// f16 has subnormal values, and larger ones than 65504 are infinite.
TEST_P(DeviceProducts, RoundToTheRangeOfF16) {
  const float infinity = INFINITY, tie = 1 + 0x1p-11F;
  const std::vector<float> values = {tie,
                                     std::nextafter(tie, 2.F),
                                     1 + 3 * 0x1p-11F,
                                     65519.99F,
                                     65520,
                                     -65520,
                                     1e30F,
                                     -infinity,
                                     0x1p-14F,
                                     0x1.7cp-15F,
                                     -0x1p-24F,
                                     0x1p-25F,
                                     std::nextafter(0x1p-25F, 1.F),
                                     1e-30F};
  const std::vector<float> expected = {
      1,         1 + 0x1p-10F, 1 + 0x1p-9F, 65504,     infinity, -infinity, infinity,
      -infinity, 0x1p-14F,     0x1.7cp-15F, -0x1p-24F, 0,        0x1p-24F,  0};
  const auto count = static_cast<int64_t>(values.size());
  Multiplication<float> multiplication(*on.device, engine, {count, 1, 1, 1}, UPD_F16);
  const gpu::Product product{
      nullptr, nullptr, 0, UPD_F32, {0, 1, 1, count}, {1, 1, 1, 1}, 2, 1, count, count, 1, 1, 0, 0};
  std::vector<float> result(values.size());
  multiplication.multiply(product, values, {1}, false, result);
  EXPECT_EQ(result, expected);
}

// Sums of -0 stay -0 beyond the depth of the last strip.
TEST_P(DeviceProducts, KeepNegativeZeros) {
  const float small = 1e-30F;
  for (const int64_t depth : {1, 15, 16, 17}) {
    std::vector<float> lhs(depth, small), rhs(depth, -small);
    float expected = 0;
    for (int64_t k = 0; k < depth; ++k)
      expected = std::fma(lhs[k], rhs[k], expected);
    ASSERT_TRUE(std::signbit(expected) && expected == 0);
    std::vector<void *> memory(5);
    auto put = [&](size_t index, const void *from, size_t bytes) {
      ASSERT_TRUE(on.device->allocate(bytes, &memory[index]).ok());
      ASSERT_TRUE(on.device->write(memory[index], from, bytes, nullptr).ok());
    };
    float result = 1, notSkipped = 0;
    put(0, lhs.data(), depth * sizeof(float));
    put(1, rhs.data(), depth * sizeof(float));
    put(2, &result, sizeof(float));
    put(3, memory.data(), 3 * sizeof(void *));
    put(4, &notSkipped, sizeof(float));
    const gpu::Product product{static_cast<void *const *>(memory[3]),
                               memory[4],
                               0,
                               UPD_F32,
                               {0, depth, 1, depth},
                               {1, 1, 1, depth},
                               2,
                               1,
                               1,
                               1,
                               1,
                               depth,
                               0,
                               0};
    memory.push_back(nullptr);
    put(5, &product, sizeof(product));
    auto *products = static_cast<gpu::Product *>(memory[5]);
    int64_t count = 1, tiles = 1;
    void *arguments[] = {&products, &count, &tiles};
    ASSERT_TRUE(on.device->launch(engine.multiplyF32, 1, arguments, nullptr).ok());
    ASSERT_TRUE(on.device->read(&result, memory[2], sizeof(float), nullptr).ok());
    EXPECT_EQ(std::bit_cast<uint32_t>(result), std::bit_cast<uint32_t>(expected)) << depth;
    for (void *each : memory)
      on.device->release(each);
  }
}

//===----------------------------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------------------------===//

std::vector<GroupTensor> tensorsOfTwoGroups() {
  return {{{5}, 0},      {{5, 5}, 0}, {{64, 33}, 0, 3}, {{0, 4}, 0},         {{4, 0}, 0},
          {{70, 3}, 0},  {{1, 9}, 1}, {{9, 1}, 1},      {{2, 33, 20}, 1, 1}, {{2, 2, 3, 4}, 1},
          {{63, 64}, 1}, {{}, 1}};
}

/// Products of whole matrices, of states before and after the step, and of symmetric results, with
/// reductions over tensors and groups between them.
const char *const rules[] = {R"(
rule Multiplied(lr = 0.1) {
  state m = 0
  update(param, grad) {
    let g = if matrix then gram(grad) @ param + param @ gram(transpose(grad)) else grad
    let o = if matrix then g @ transpose(transpose(param) @ grad) else g
    let n = sqrt(group_sum(o * o)) + 1e-6
    next m = lerp(m, o / n, 0.5)
    next param = param - lr * m
  }
})",
                             R"(
rule Preconditioned(lr = 0.1) {
  state l over (row, row)       = identity(param) when matrix
  state r over (column, column) = 0.5 when matrix
  update(param, grad, first) {
    let left  = if matrix then lerp(l, gram(grad), 0.1) else 0
    let right = if matrix then lerp(r, gram(transpose(grad)), 0.1) + identity(transpose(grad)) else 0
    let size  = if matrix then batch_norm(left) + abs(trace(right)) + 1 else 1
    next l     = if matrix then (if first then left else left / size) + row_mean(grad) * 1e-3 else 0
    next r     = right
    next param = param - lr * (if matrix then left @ grad @ right / size else grad)
  }
})",
                             R"(
rule Turned(lr = 0.1) {
  state q over (row, row) = identity(param) when matrix
  update(param, grad, step) {
    let turns = is_multiple(step, 2)
    let g     = if matrix then gram(grad) else 0
    let moved = if matrix then q @ g / (norm(g) + 1) + q else 0
    next q     = if turns then moved else q when matrix
    next param = param - lr * (if matrix then q @ grad else grad)
  }
})",
                             R"(
rule Skipped(lr = 0.1) {
  state l over (row, row) = identity(param) when matrix
  update(param, grad, step) {
    let g = if matrix then l @ grad else grad
    skip when sum(g) > 0.5 * step
    next l     = if matrix then symmetric_product(l, l) else 0
    next param = param - lr * g
  }
})"};

TEST_P(DeviceProducts, StepAsOnTheCPU) {
  for (const char *rule : rules)
    for (StorageType dtype : {StorageType::F32, StorageType::BF16, StorageType::F64}) {
      RuleCase ruleCase;
      ruleCase.filename = "products.upd";
      ruleCase.source = rule;
      ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
      SteppedSides sides(ruleCase, on, tensorsOfTwoGroups());
      ASSERT_TRUE(sides.make());
      ASSERT_TRUE(sides.step(1));
      ASSERT_TRUE(sides.step());
      sides.setPresent(2, false);
      ASSERT_TRUE(sides.step());
      // Products read gradients at their new addresses.
      sides.moveGradients(1);
      sides.setPresent(2, true);
      ASSERT_TRUE(sides.step());
      ASSERT_TRUE(sides.exchangeFiles());
      ASSERT_TRUE(sides.step());
    }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceProducts,
                         testing::Combine(testing::ValuesIn(SteppedOn::names())),
                         [](const auto &info) { return std::get<0>(info.param); });

} // namespace
