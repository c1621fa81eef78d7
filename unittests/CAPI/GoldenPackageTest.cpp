//===- GoldenPackageTest.cpp - Packages that every later version loads ------------------------===//
// Updraft 0.1.0 wrote the packages in golden/. A version that can't load them, or computes other
// bits with them, breaks what users have shipped, so they are never made again. How they were made:
//
//   updraftc pack rules/sgd.upd --set momentum=0.9 --target=x86-64-v2
//   updraftc pack rules/adamw.upd --storage param=bf16,grad=bf16,state=f32 --target=x86-64-v2
//   updraftc pack rules/adafactor.upd --target=x86-64-v2
//   updraftc pack rules/lion.upd --sign key.pem --target=x86-64-v2
//
// each with -o x.updraft, and then
//
//   python3 -c 'import base64, sys, textwrap, zlib; print(textwrap.fill(base64.b64encode(
//     zlib.compress(sys.stdin.buffer.read(), 9)).decode(), 100))' < x.updraft

#include "runtime/package/Digest.h"
#include "runtime/package/Machine.h"
#include "updraft-c/optimizer.h"
#include "updraft-c/package.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

using testing::HasSubstr;
using updraft::package::Machine;

namespace {

using Package = std::unique_ptr<upd_package, decltype(&upd_package_release)>;
using Rule = std::unique_ptr<upd_rule, decltype(&upd_rule_release)>;
using Optimizer = std::unique_ptr<upd_optimizer, decltype(&upd_optimizer_release)>;

constexpr const char *key = "-----BEGIN PUBLIC KEY-----\n"
                            "MCowBQYDK2VwAyEAWaJdh4E1wvm1lb++P6gnz/z3baQzteZkydpOmHci3y4=\n"
                            "-----END PUBLIC KEY-----\n";

struct Golden {
  const char *file;
  const char *rule;
  const char *variant;
  bool isSigned;
  const char *digest; ///< the SHA-256 of the parameters after some steps
};

void PrintTo(const Golden &golden, std::ostream *out) { *out << golden.file; }

constexpr Golden packages[] = {
    {"sgd", "SGD", "", false, "57965fc245adc2f797e3dc072f55ef28237bee5b855a60439af5483af3eb19b0"},
    {"adamw-bf16", "AdamW", "param=bf16,grad=bf16,state=f32", false,
     "770e065bbf104577d0b76dfdadeba1813b7e455e36cfb5b33d67e5066ad0512c"},
    {"adafactor", "Adafactor", "", false,
     "a57e0cea8dda1d18ad522338b46e6f9bb0375af11d92d6b9523f1b6af01c6890"},
    {"lion-signed", "Lion", "", true,
     "7501e0ce0b76c93ee9b9bd96e19ffa38a6ce0d672676674e37a6c404e34f322f"},
};

/// Returns the bytes of a package.
std::string read(const std::string &file) {
  auto text = llvm::MemoryBuffer::getFile(UPDRAFT_GOLDEN_DIR "/" + file + ".txt");
  EXPECT_TRUE(bool(text)) << file;
  std::string lines = text ? (*text)->getBuffer().str() : "";
  std::erase(lines, '\n');
  std::vector<char> compressed;
  EXPECT_FALSE(bool(llvm::decodeBase64(lines, compressed)));
  llvm::SmallVector<uint8_t> bytes;
  constexpr size_t limit = 64 * 1024;
  EXPECT_FALSE(bool(llvm::compression::zlib::decompress(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(compressed.data()), compressed.size()),
      bytes, limit)));
  return {bytes.begin(), bytes.end()};
}

/// A number from -1 to 1 that f32 and bf16 represent exactly.
float number(size_t index) { return float(int(index * 37 % 257) - 128) / 128; }

/// Elements in f32 or bf16.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<char> bytes;
  upd_dtype dtype;

  Tensor(std::vector<int64_t> dimensions, upd_dtype dtype, size_t first)
      : shape(std::move(dimensions)), dtype(dtype) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= size_t(size);
    for (size_t i = 0; i < count; ++i) {
      const float value = number(first + i);
      std::array<char, sizeof(value)> data;
      std::memcpy(data.data(), &value, sizeof(value));
      bytes.insert(bytes.end(), data.begin() + (dtype == UPD_BF16 ? 2 : 0), data.end());
    }
  }

  upd_tensor view() {
    upd_tensor result{};
    result.data = bytes.data();
    result.shape = shape.data();
    result.rank = int32_t(shape.size());
    result.dtype = dtype;
    result.device = UPD_CPU;
    return result;
  }
};

class GoldenPackages : public testing::TestWithParam<Golden> {
protected:
  /// Opens the package, with its signature if it has one.
  Package open() const {
    const std::string bytes = read(GetParam().file);
    upd_package_options options{};
    options.struct_size = sizeof(options);
    options.required_key = GetParam().isSigned ? key : nullptr;
    upd_package *package = nullptr;
    EXPECT_EQ(upd_package_open_buffer(bytes.data(), bytes.size(), &options, &package), UPD_OK)
        << upd_last_error();
    return {package, upd_package_release};
  }

  static bool runsHere() { return Machine::host().runs(UPD_X86_64, 2); }
};

TEST_P(GoldenPackages, Open) {
  const Package package = open();
  ASSERT_TRUE(package);
  EXPECT_THAT(upd_package_info(package.get()),
              HasSubstr(std::string("\"rule\": \"") + GetParam().rule + "\""));
  ASSERT_EQ(upd_package_variant_count(package.get()), 1u);
  EXPECT_STREQ(upd_package_variant_name(package.get(), 0), GetParam().variant);
}

TEST_P(GoldenPackages, ComputeTheBitsOfTheirSamples) {
  if (!runsHere())
    GTEST_SKIP() << "this machine is " << Machine::host().name();
  EXPECT_EQ(upd_package_verify(open().get(), nullptr, nullptr), UPD_OK) << upd_last_error();
}

TEST_P(GoldenPackages, StepToTheRecordedBits) {
  if (!runsHere())
    GTEST_SKIP() << "this machine is " << Machine::host().name();
  upd_rule *loaded = nullptr;
  ASSERT_EQ(upd_package_load(open().get(), nullptr, nullptr, &loaded), UPD_OK) << upd_last_error();
  const Rule rule(loaded, upd_rule_release);
  const std::vector<std::vector<int64_t>> shapes = {{300}, {7, 33}, {2, 3, 5}};
  std::vector<Tensor> params;
  for (const auto &shape : shapes)
    params.emplace_back(shape, upd_rule_param_dtype(loaded), params.size());
  std::vector<upd_tensor> views;
  for (Tensor &param : params)
    views.push_back(param.view());
  upd_group group{};
  group.params = views.data();
  group.param_count = views.size();
  upd_optimizer *created = nullptr;
  ASSERT_EQ(upd_optimizer_create(loaded, &group, 1, nullptr, &created), UPD_OK) << upd_last_error();
  const Optimizer optimizer(created, upd_optimizer_release);
  for (size_t step = 1; step <= 3; ++step) {
    if (step == 3)
      ASSERT_EQ(upd_optimizer_set_hyper(created, 0, "lr", 0.03125), UPD_OK) << upd_last_error();
    std::vector<Tensor> grads;
    std::vector<upd_tensor> gradViews;
    for (const auto &shape : shapes)
      grads.emplace_back(shape, upd_rule_grad_dtype(loaded), 1000 * step + grads.size());
    for (Tensor &grad : grads)
      gradViews.push_back(grad.view());
    ASSERT_EQ(upd_optimizer_step(created, gradViews.data(), gradViews.size()), UPD_OK)
        << upd_last_error();
  }
  std::string bytes;
  for (const Tensor &param : params)
    bytes.append(param.bytes.begin(), param.bytes.end());
  EXPECT_EQ(llvm::toHex(updraft::package::digestOf(bytes), /*LowerCase=*/true), GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPackages, testing::ValuesIn(packages), [](const auto &info) {
  std::string name = info.param.file;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
