//===- PackageFuzzer.cpp - Packages, damaged --------------------------------------------------===//
// A damaged package has wrong digests, so most damage ends there. The digests of the input are
// therefore made right first. An accepted package has only places that exist, and its code loads or
// is refused with a reason. The code isn't run.

#include "FuzzTarget.h"
#include "runtime/base/Safetensors.h"
#include "runtime/package/PackagedRule.h"
#include "updraft/Packager/Packager.h"

#include <cstring>

using namespace updraft::fuzz;
using namespace updraft::package;
using updraft::StorageType;
using updraft::runtime::Status;

namespace {

void check(bool holds, const char *what) {
  if (!holds)
    finding(std::string("an accepted package ") + what);
}

/// Makes the digests right, as far as the table of sections can be read.
void repairDigests(std::string &bytes) {
  upd_package_header header;
  if (bytes.size() < sizeof(header))
    return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (header.section_count > (bytes.size() - sizeof(header)) / sizeof(upd_package_section))
    return;
  const size_t table = sizeof(header) + header.section_count * sizeof(upd_package_section);
  for (size_t place = sizeof(header); place < table; place += sizeof(upd_package_section)) {
    upd_package_section record;
    std::memcpy(&record, bytes.data() + place, sizeof(record));
    if (record.offset > bytes.size() || record.size > bytes.size() - record.offset)
      continue;
    const Digest digest = digestOf(std::string_view(bytes).substr(record.offset, record.size));
    std::memcpy(bytes.data() + place + offsetof(upd_package_section, digest), digest.data(),
                digest.size());
  }
  const Digest digest = digestOfTable(std::string_view(bytes).substr(0, table));
  std::memcpy(bytes.data() + offsetof(upd_package_header, digest), digest.data(), digest.size());
}

void checkImage(const Package &package, const Image &image) {
  check(image.variant < package.variants().size(), "has an image of no variant");
  check(image.executable <= image.code.size(), "executes more than its code");
  for (const uint32_t function : image.functions)
    check(function < image.executable, "has a function outside of its code");
  for (const upd_package_import &import : image.imports)
    check(import.offset >= image.executable && import.offset + 8 <= image.code.size(),
          "has an import outside of its data");
  std::shared_ptr<const updraft::runtime::Kernels> kernels;
  const Status status = loadKernels(package, image, kernels);
  if (status.ok() == (kernels == nullptr) || status.ok() != status.message().empty())
    finding("kernels of a package that are neither loaded nor refused");
}

void open(std::string bytes) {
  std::shared_ptr<const Package> package;
  if (Status status = Package::open(std::move(bytes), "fuzzed", package); !status.ok()) {
    if (package || status.message().empty() ||
        (status.code() != UPD_INVALID_ARGUMENT && status.code() != UPD_UNSUPPORTED))
      finding("a refusal without its reason");
    return;
  }
  check(!package->variants().empty() && !package->images().empty(), "is empty");
  for (const Variant &variant : package->variants()) {
    updraft::runtime::SafetensorsFile sample;
    static_cast<void>(
        updraft::runtime::SafetensorsFile::openBytes(variant.sample, "sample", sample));
  }
  for (const Image &image : package->images())
    checkImage(*package, image);
}

void fuzzPackage(std::string_view input) {
  std::string bytes(input);
  open(bytes);
  repairDigests(bytes);
  open(std::move(bytes));
}

std::vector<Seed> packageSeeds() {
  std::vector<Seed> seeds;
  for (const char *name : {"sgd", "adamw", "lamb", "adafactor", "prodigy"})
    for (const bool hasTwo : {false, true}) {
      updraft::PackRequest request;
      request.rule.filename = std::string(UPDRAFT_SOURCE_DIR "/rules/") + name + ".upd";
      request.rule.source = llvm::cantFail(updraft::readRuleFile(request.rule.filename));
      request.targets = {"x86-64-v2", "aarch64"};
      if (hasTwo) {
        request.targets.push_back("nvptx:sm_90");
        request.variants = {{}, {{"param", StorageType::BF16}}};
      }
      seeds.push_back({std::string(name) + (hasTwo ? ".two" : ".one"),
                       llvm::cantFail(updraft::packRule(request))});
    }
  return seeds;
}

} // namespace

const FuzzTarget updraft::fuzz::packageTarget = {"package", fuzzPackage, packageSeeds, nullptr};
