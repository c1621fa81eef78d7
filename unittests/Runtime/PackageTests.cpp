//===- PackageTests.cpp - The bytes of packages -----------------------------------------------===//
// A package written by hand, damaged in every way. test/Tools/updraftc/package.test and
// PackagedRuleTest.cpp run real ones.

#include "FakeRules.h"

#include "runtime/base/Imports.h"
#include "runtime/package/CodeImage.h"
#include "runtime/package/Machine.h"
#include "runtime/package/PackageWriter.h"
#include "runtime/package/PackagedRule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

using namespace updraft;
using namespace updraft::package;
using runtime::Status;
using testing::HasSubstr;

namespace {

/// One page of code and one address of data.
std::string smallCode() { return std::string(UPD_PACKAGE_PAGE, '\xc3') + std::string(8, '\0'); }

PackageParts smallParts() {
  PackageParts parts;
  parts.info = "{}\n";
  parts.sources = {"rule R(lr = 0.1) {}\n"};
  parts.variants = {{"", "sample"}};
  const std::string descriptor = runtime::test::momentumRule()->interface.write();
  parts.images.push_back({0,
                          "x86-64-v2",
                          UPD_X86_64,
                          2,
                          descriptor,
                          smallCode(),
                          UPD_PACKAGE_PAGE,
                          {0, 16, 32, 48},
                          {{UPD_PACKAGE_PAGE, 0}}});
  parts.images.push_back({0,
                          "aarch64",
                          UPD_AARCH64,
                          0,
                          descriptor,
                          smallCode(),
                          UPD_PACKAGE_PAGE,
                          {0, 16, 32, 48},
                          {}});
  return parts;
}

std::string write(const PackageParts &parts) {
  std::string bytes;
  Status status = writePackage(parts, "", bytes);
  EXPECT_TRUE(status.ok()) << status.message();
  return bytes;
}

Status open(const std::string &bytes, std::shared_ptr<const Package> &package) {
  return Package::open(bytes, "r.updraft", package);
}

std::string errorOf(const std::string &bytes) {
  std::shared_ptr<const Package> package;
  const Status status = open(bytes, package);
  EXPECT_EQ(package == nullptr, !status.ok());
  return status.message();
}

template <typename Change> std::string withHeader(Change change) {
  std::string bytes = write(smallParts());
  upd_package_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  const size_t table = sizeof(header) + header.section_count * sizeof(upd_package_section);
  std::memcpy(bytes.data() + offsetof(upd_package_header, digest),
              digestOfTable(std::string_view(bytes).substr(0, table)).data(), UPD_DIGEST_BYTES);
  return bytes;
}

TEST(Package, HasWhatWasWritten) {
  std::shared_ptr<const Package> package;
  ASSERT_EQ(open(write(smallParts()), package).message(), "");
  EXPECT_EQ(package->info(), "{}\n");
  ASSERT_EQ(package->variants().size(), 1u);
  EXPECT_EQ(package->variants()[0].sample, "sample");
  ASSERT_EQ(package->images().size(), 2u);
  const Image &image = package->images()[0];
  EXPECT_EQ(image.target, "x86-64-v2");
  EXPECT_EQ(image.architecture, UPD_X86_64);
  EXPECT_EQ(image.level, 2u);
  EXPECT_EQ(image.code, smallCode());
  EXPECT_EQ(image.executable, uint32_t(UPD_PACKAGE_PAGE));
  EXPECT_EQ(image.functions, (std::vector<uint32_t>{0, 16, 32, 48}));
  ASSERT_EQ(image.imports.size(), 1u);
  EXPECT_EQ(package->images()[1].descriptor.data(), image.descriptor.data()) << "shared";
  EXPECT_FALSE(package->signature());
}

TEST(Package, IsTheSameForTheSameParts) { EXPECT_EQ(write(smallParts()), write(smallParts())); }

TEST(Package, StartsCodeAtAPage) {
  std::shared_ptr<const Package> package;
  ASSERT_TRUE(open(write(smallParts()), package).ok());
  for (const Section &section : package->sections())
    EXPECT_EQ(section.offset % (section.kind == UPD_PACKAGE_CODE ? UPD_PACKAGE_PAGE : 8), 0u);
}

TEST(Package, IsRefusedIfItIsTruncated) {
  const std::string bytes = write(smallParts());
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_NE(errorOf(bytes.substr(0, length)), "") << length;
  EXPECT_THAT(errorOf(bytes.substr(0, 100)),
              HasSubstr("`r.updraft` is not a valid package: expected "));
  EXPECT_THAT(errorOf(bytes.substr(0, 100)), HasSubstr("got 100; the file is truncated"));
  EXPECT_EQ(errorOf(""), "`r.updraft` is not a valid package: it doesn't start with `UPDPACK`");
  EXPECT_THAT(errorOf(bytes + '\0'), HasSubstr("the file is damaged"));
}

TEST(Package, IsRefusedIfABitIsFlipped) {
  std::string bytes = write(smallParts());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = char(bytes[i] ^ 1 << bit);
      ASSERT_NE(errorOf(bytes), "") << "bit " << bit << " of byte " << i;
      bytes[i] = char(bytes[i] ^ 1 << bit);
    }
}

TEST(Package, SaysWhatIsDamaged) {
  const std::string bytes = write(smallParts());
  std::string code = bytes;
  code.back() ^= 1;
  EXPECT_THAT(errorOf(code), HasSubstr(" is damaged: its SHA-256 digest differs"));
  std::string table = bytes;
  table[sizeof(upd_package_header) + 8] ^= 1;
  EXPECT_EQ(errorOf(table), "`r.updraft` is not a valid package: its header or table of sections "
                            "is damaged: the SHA-256 digest differs");
}

TEST(Package, OfANewerVersionIsRefused) {
  EXPECT_EQ(errorOf(withHeader([](auto &header) { header.breaks = 2; })),
            "`r.updraft` has version 2.0 of the package format, expected 1.x; install a newer "
            "Updraft to use it");
  EXPECT_EQ(errorOf(withHeader([](auto &header) { header.breaks = 0; })),
            "`r.updraft` has version 0.0 of the package format, expected 1.x; pack the rule again");
  EXPECT_EQ(errorOf(withHeader([](auto &header) { header.extends = 9; })), "");
}

/// A package whose last section, which holds names, has another kind and flags.
std::string withUnknownSection(uint32_t flags) {
  PackageParts parts = smallParts();
  std::string bytes = write(parts);
  upd_package_header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const size_t place = sizeof(header) + 1 * sizeof(upd_package_section); // the source
  upd_package_section record;
  std::memcpy(&record, bytes.data() + place, sizeof(record));
  EXPECT_EQ(record.kind, UPD_PACKAGE_SOURCE);
  record.kind = upd_package_kind(99);
  record.flags = flags;
  std::memcpy(bytes.data() + place, &record, sizeof(record));
  const size_t table = sizeof(header) + header.section_count * sizeof(upd_package_section);
  std::memcpy(bytes.data() + offsetof(upd_package_header, digest),
              digestOfTable(std::string_view(bytes).substr(0, table)).data(), UPD_DIGEST_BYTES);
  return bytes;
}

TEST(Package, SkipsUnknownSectionsUnlessTheyAreRequired) {
  EXPECT_EQ(errorOf(withUnknownSection(0)), "");
  EXPECT_EQ(errorOf(withUnknownSection(UPD_PACKAGE_REQUIRED)),
            "`r.updraft` has a required section of the unknown kind 99; install a newer Updraft to "
            "use it");
}

TEST(Package, ChecksPlacesInTheCode) {
  PackageParts parts = smallParts();
  parts.images[0].functions[3] = UPD_PACKAGE_PAGE;
  EXPECT_THAT(errorOf(write(parts)),
              HasSubstr("a function starts at 4096, outside of the executable 4096 bytes"));
  parts = smallParts();
  parts.images[0].imports = {{8, 0}};
  EXPECT_THAT(errorOf(write(parts)), HasSubstr("an import is at 8, expected a multiple of 8 in the "
                                               "read-only data"));
  parts.images[0].imports = {{UPD_PACKAGE_PAGE + 8, 0}};
  EXPECT_THAT(errorOf(write(parts)), HasSubstr("an import is at 4104"));
  parts = smallParts();
  parts.images[0].executable = 100;
  EXPECT_THAT(errorOf(write(parts)), HasSubstr("100 bytes of 4104 are executable"));
  parts = smallParts();
  parts.images[1].target = "x86-64-v2";
  EXPECT_THAT(errorOf(write(parts)), HasSubstr("it has two images for `x86-64-v2` of variant 0"));
  parts = smallParts();
  parts.images[1].variant = 1;
  EXPECT_THAT(errorOf(write(parts)), HasSubstr("image 1 is of variant 1, and there are 1"));
}

TEST(Package, RefusesPTXWithoutText) {
  for (const std::string &ptx : {std::string(), std::string(1, '\0'), std::string("ptx")}) {
    PackageParts parts = smallParts();
    PackageParts::Image &image = parts.images[0];
    image.architecture = UPD_NVPTX;
    image.code = ptx;
    image.executable = 0;
    image.functions = {};
    image.imports = {};
    EXPECT_THAT(errorOf(write(parts)),
                HasSubstr("image 0 has PTX with functions, or without its null character"));
  }
}

TEST(Package, MayHaveImagesOfUnknownArchitectures) {
  PackageParts parts = smallParts();
  parts.images[1].architecture = upd_architecture(7);
  std::shared_ptr<const Package> package;
  ASSERT_EQ(open(write(parts), package).message(), "");
  std::shared_ptr<const runtime::Kernels> kernels;
  EXPECT_EQ(loadKernels(*package, package->images()[1], kernels).code(), UPD_UNSUPPORTED);
}

TEST(Package, IsReadFromAFile) {
  const std::string path = testing::TempDir() + "updraft-package-test.updraft";
  const std::string bytes = write(smallParts());
  std::ofstream(path, std::ios::binary) << bytes;
  std::shared_ptr<const Package> package;
  ASSERT_EQ(Package::openFile(path, package).message(), "");
  EXPECT_EQ(package->size(), bytes.size());
  std::remove(path.c_str());
  const Status missing = Package::openFile(path, package);
  EXPECT_EQ(missing.code(), UPD_NOT_FOUND);
  EXPECT_EQ(missing.message(), "there is no file `" + path + "`");
  EXPECT_EQ(Package::openFile(testing::TempDir(), package).code(), UPD_IO_ERROR);
}

//===----------------------------------------------------------------------------------------===//
// Choice of an image
//===----------------------------------------------------------------------------------------===//

TEST(Machine, RunsCodeOfLowerLevels) {
  const Machine x86{UPD_X86_64, 3};
  EXPECT_EQ(x86.name(), "x86-64-v3");
  EXPECT_TRUE(x86.runs(UPD_X86_64, 2));
  EXPECT_TRUE(x86.runs(UPD_X86_64, 3));
  EXPECT_FALSE(x86.runs(UPD_X86_64, 4));
  EXPECT_FALSE(x86.runs(UPD_AARCH64, 0));
  EXPECT_FALSE(x86.runs(UPD_NVPTX, 2));
  const Machine arm{UPD_AARCH64, 256};
  EXPECT_EQ(arm.name(), "aarch64+sve256");
  EXPECT_TRUE(arm.runs(UPD_AARCH64, 0));
  EXPECT_TRUE(arm.runs(UPD_AARCH64, 256));
  EXPECT_FALSE(arm.runs(UPD_AARCH64, 128)) << "code for vectors of one length";
  EXPECT_EQ((Machine{UPD_AARCH64, 0}.name()), "aarch64");
}

constexpr uint32_t armBF16 = 65536; // as in upd_architecture

TEST(Machine, RunsCodeForBF16IfItHasTheInstructions) {
  const Machine x86{UPD_X86_64, 5}, older{UPD_X86_64, 4};
  EXPECT_EQ(x86.name(), "x86-64-v4+bf16");
  EXPECT_TRUE(x86.runs(UPD_X86_64, 4));
  EXPECT_FALSE(older.runs(UPD_X86_64, 5));
  const Machine neon{UPD_AARCH64, armBF16}, both{UPD_AARCH64, armBF16 + 256};
  EXPECT_EQ(neon.name(), "aarch64+bf16");
  EXPECT_EQ(both.name(), "aarch64+sve256+bf16");
  for (const Machine &machine : {neon, both}) {
    EXPECT_TRUE(machine.runs(UPD_AARCH64, 0));
    EXPECT_TRUE(machine.runs(UPD_AARCH64, armBF16));
    EXPECT_FALSE(machine.runs(UPD_AARCH64, 128));
    EXPECT_FALSE(machine.runs(UPD_AARCH64, 2 * armBF16)) << "an unknown feature";
    EXPECT_FALSE(machine.runs(UPD_X86_64, 5));
  }
  EXPECT_TRUE(both.runs(UPD_AARCH64, 256));
  EXPECT_FALSE(neon.runs(UPD_AARCH64, 256));
  EXPECT_FALSE((Machine{UPD_AARCH64, 0}.runs(UPD_AARCH64, armBF16)));
  EXPECT_FALSE((Machine{UPD_AARCH64, 256}.runs(UPD_AARCH64, armBF16)));
}

TEST(Machine, ChoosesATargetForRulesWithAndWithoutBF16Products) {
  const std::tuple<const char *, const char *, const char *> machines[] = {
      {"x86-64-v3", "x86-64-v3", "x86-64-v3"},
      {"x86-64-v4+bf16", "x86-64-v4+bf16", "x86-64-v4"},
      {"aarch64", "aarch64", "aarch64"},
      {"aarch64+bf16", "aarch64+bf16", "aarch64"},
      {"aarch64+sve512", "aarch64+sve512", "aarch64+sve512"},
      {"aarch64+sve256+bf16", "aarch64+bf16", "aarch64+sve256"}};
  for (const auto &[name, with, without] : machines) {
    const std::optional<Machine> machine = Machine::named(name);
    ASSERT_TRUE(machine) << name;
    EXPECT_EQ(machine->name(), name);
    EXPECT_EQ(machine->target(/*bf16Products=*/true).name(), with) << name;
    EXPECT_EQ(machine->target(/*bf16Products=*/false).name(), without) << name;
  }
  for (const char *name : {"", "x86-64-v", "x86-64-v5", "x86-64-v3+bf16", "aarch64+sve",
                           "aarch64+sve0", "aarch64+sve65536", "aarch64+bf16+sve256", "aarch64bf16",
                           "aarch64+bf16+bf16", "aarch64+sve256x"})
    EXPECT_FALSE(Machine::named(name)) << name;
}

std::shared_ptr<const Package> packageFor(std::vector<std::pair<std::string, uint32_t>> levels,
                                          upd_architecture architecture) {
  PackageParts parts = smallParts();
  const PackageParts::Image image = parts.images[0];
  parts.images.clear();
  for (const auto &[target, level] : levels) {
    parts.images.push_back(image);
    parts.images.back().target = target;
    parts.images.back().architecture = architecture;
    parts.images.back().level = level;
    if (architecture == UPD_NVPTX) {
      parts.images.back().code = std::string("ptx") + '\0';
      parts.images.back().executable = 0;
      parts.images.back().functions = {};
      parts.images.back().imports = {};
    }
  }
  std::shared_ptr<const Package> package;
  const Status status = open(write(parts), package);
  EXPECT_TRUE(status.ok()) << status.message();
  return package;
}

TEST(Package, GivesTheNewestImageThatTheCpuRuns) {
  const Machine host = Machine::host();
  if (host.architecture != UPD_X86_64)
    GTEST_SKIP() << "this machine is " << host.name();
  const auto package = packageFor({{"a", 1}, {"b", host.level}, {"c", host.level + 1}}, UPD_X86_64);
  const Image *image = nullptr;
  ASSERT_TRUE(findForHost(*package, 0, image).ok());
  EXPECT_EQ(image->target, "b");
  const Status named = findTarget(*package, 0, "x86-64-v9", image);
  EXPECT_EQ(named.code(), UPD_NOT_FOUND);
  EXPECT_EQ(named.message(), "package `r.updraft` has no target `x86-64-v9`; it has `a`, `b`, `c`");
}

/// tools/test --long=aarch64 runs it on CPUs with several lengths.
TEST(Package, GivesTheImageForTheLengthOfSVEVectors) {
  const Machine host = Machine::host();
  if (host.architecture != UPD_AARCH64)
    GTEST_SKIP() << "this machine is " << host.name();
  const auto package = packageFor(
      {{"aarch64", 0}, {"aarch64+sve128", 128}, {"aarch64+sve256", 256}, {"aarch64+sve512", 512}},
      UPD_AARCH64);
  const uint32_t length = host.level % armBF16;
  const bool isKnown = length == 128 || length == 256 || length == 512;
  const Image *image = nullptr;
  ASSERT_TRUE(findForHost(*package, 0, image).ok());
  EXPECT_EQ(image->target, isKnown ? "aarch64+sve" + std::to_string(length) : "aarch64");

  const std::string other = length == 256 ? "aarch64+sve512" : "aarch64+sve256";
  ASSERT_TRUE(findTarget(*package, 0, other.c_str(), image).ok());
  std::shared_ptr<const runtime::Kernels> kernels;
  const Status status = loadKernels(*package, *image, kernels);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "this CPU supports `" + host.name() + "`, which doesn't run code for `" + other + "`");
}

/// tools/test --long=aarch64 runs it on CPUs with and without BF16.
TEST(Package, GivesTheImageForBF16BeforeThoseForSVEVectors) {
  const Machine host = Machine::host();
  if (host.architecture != UPD_AARCH64)
    GTEST_SKIP() << "this machine is " << host.name();
  const bool hasBF16 = Machine::multipliesBF16(host.architecture, host.level);
  const auto package =
      packageFor({{"aarch64+bf16", armBF16}, {"aarch64+sve256", 256}, {"aarch64", 0}}, UPD_AARCH64);
  const Image *image = nullptr;
  ASSERT_TRUE(findForHost(*package, 0, image).ok());
  EXPECT_EQ(image->target, hasBF16             ? "aarch64+bf16"
                           : host.level == 256 ? "aarch64+sve256"
                                               : "aarch64");
  if (hasBF16)
    return;
  ASSERT_TRUE(findTarget(*package, 0, "aarch64+bf16", image).ok());
  std::shared_ptr<const runtime::Kernels> kernels;
  EXPECT_EQ(loadKernels(*package, *image, kernels).message(),
            "this CPU supports `" + host.name() + "`, which doesn't run code for `aarch64+bf16`");
}

TEST(Package, SaysWhyNoImageFits) {
  const auto package = packageFor({{"x86-64-v9", 9}}, UPD_X86_64);
  const Image *image = nullptr;
  const Status status = findForHost(*package, 0, image);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(), "package `r.updraft` has no code for this CPU, which supports `" +
                                  Machine::host().name() + "`; it has `x86-64-v9`");
}

TEST(Package, GivesTheNewestKernelsThatTheGpuRuns) {
  const auto package =
      packageFor({{"nvptx:sm_80", 80}, {"nvptx:sm_90", 90}, {"nvptx:sm_100", 100}}, UPD_NVPTX);
  const Image *image = nullptr;
  ASSERT_TRUE(findForGPU(*package, 0, 89, image).ok());
  EXPECT_EQ(image->target, "nvptx:sm_80");
  ASSERT_TRUE(findForGPU(*package, 0, 120, image).ok());
  EXPECT_EQ(image->target, "nvptx:sm_100");
  const Status status = findForGPU(*package, 0, 75, image);
  EXPECT_EQ(status.message(),
            "package `r.updraft` has no kernels for this GPU, which has compute capability 7.5; it "
            "has `nvptx:sm_80`, `nvptx:sm_90`, `nvptx:sm_100`");
}

TEST(Package, FindsVariantsByName) {
  PackageParts parts = smallParts();
  parts.variants.push_back({"param=bf16", "other"});
  std::shared_ptr<const Package> package;
  ASSERT_TRUE(open(write(parts), package).ok());
  uint32_t variant = 7;
  ASSERT_TRUE(findVariant(*package, nullptr, variant).ok());
  EXPECT_EQ(variant, 0u);
  ASSERT_TRUE(findVariant(*package, "param=bf16", variant).ok());
  EXPECT_EQ(variant, 1u);
  EXPECT_EQ(findVariant(*package, "param=f16", variant).message(),
            "package `r.updraft` has no variant `param=f16`; there is ``, `param=bf16`");
}

//===----------------------------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------------------------===//

Image imageWith(std::string_view code, std::vector<upd_package_import> imports) {
  return {0, "test", UPD_X86_64, 1, {}, code, UPD_PACKAGE_PAGE, {}, std::move(imports)};
}

TEST(CodeImage, HasTheAddressesOfImports) {
  const auto imports = runtime::imports();
  ASSERT_STREQ(imports[0].name, "exp");
  const std::string code = smallCode();
  std::shared_ptr<const CodeImage> loaded;
  ASSERT_TRUE(CodeImage::load(imageWith(code, {{UPD_PACKAGE_PAGE, 0}}), loaded).ok());
  double (*function)(double);
  std::memcpy(&function, loaded->address(UPD_PACKAGE_PAGE), sizeof(function));
  EXPECT_EQ(function(1.0), std::exp(1.0));
  EXPECT_EQ(std::memcmp(loaded->address(0), code.data(), UPD_PACKAGE_PAGE), 0);
}

TEST(CodeImage, RefusesImportsThatItDoesNotKnow) {
  std::shared_ptr<const CodeImage> loaded;
  const Status status = CodeImage::load(imageWith(smallCode(), {{UPD_PACKAGE_PAGE, 1000}}), loaded);
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(), "the code for `test` calls function 1000, which this version doesn't "
                              "know; install a newer Updraft to use it");
}

/// The permissions of the mapping with this address, as in /proc/self/maps: "r-xp".
std::string permissionsOf(const char *address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char permissions[5] = {};
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, permissions) == 3 &&
        begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end)
      return permissions;
  }
  return "";
}

TEST(CodeImage, IsNeverWritableAndExecutable) {
  const std::string code = smallCode();
  std::shared_ptr<const CodeImage> loaded;
  ASSERT_TRUE(CodeImage::load(imageWith(code, {}), loaded).ok());
  const char *start = loaded->address(0), *data = loaded->address(UPD_PACKAGE_PAGE);
  EXPECT_EQ(permissionsOf(start), "r-xp");
  EXPECT_EQ(permissionsOf(data).substr(0, 2), "r-");
  loaded.reset();
  EXPECT_NE(permissionsOf(start), "r-xp") << "the code is unmapped";
}

} // namespace
