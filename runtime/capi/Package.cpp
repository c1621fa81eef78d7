//===- Package.cpp - updraft-c/package.h ------------------------------------------------------===//

#include "updraft-c/package.h"

#include "runtime/capi/Devices.h"
#include "runtime/capi/Report.h"
#include "runtime/capi/SizedStruct.h"
#include "runtime/package/PackagedRule.h"
#include "runtime/package/SampleCheck.h"
#include "runtime/package/Signature.h"

#include <charconv>
#include <cstddef>

using namespace updraft;
using capi::nullArgument;
using capi::report;
using package::Image;
using package::Package;
using runtime::Status;

struct upd_package {
  std::shared_ptr<const Package> package;
  std::string info; ///< ends with a null character
};

static Status checkSignature(const Package &package, const upd_package_options *given) {
  if (!given)
    return {};
  upd_package_options options;
  if (Status status =
          capi::readSized(given, sizeof(upd_package_options), "upd_package_options", options);
      !status.ok())
    return status;
  if (!options.required_key)
    return {};
  package::PublicKey key;
  if (Status status = package::readPublicKey(options.required_key, key); !status.ok())
    return status;
  return package::checkSigned(package, key);
}

template <typename Open>
static upd_status openWith(const upd_package_options *options, upd_package **package, Open open) {
  return report([&] {
    if (!package)
      return nullArgument("package, where the result goes,");
    *package = nullptr;
    std::shared_ptr<const Package> opened;
    if (Status status = open(opened); !status.ok())
      return status;
    if (Status status = checkSignature(*opened, options); !status.ok())
      return status;
    std::string info(opened->info());
    *package = new upd_package{std::move(opened), std::move(info)};
    return Status();
  });
}

upd_status upd_package_open(const char *path, const upd_package_options *options,
                            upd_package **package) {
  return openWith(options, package, [&](std::shared_ptr<const Package> &opened) {
    return path ? Package::openFile(path, opened) : nullArgument("path");
  });
}

upd_status upd_package_open_buffer(const void *data, size_t size,
                                   const upd_package_options *options, upd_package **package) {
  return openWith(options, package, [&](std::shared_ptr<const Package> &opened) {
    return data ? Package::open(std::string(static_cast<const char *>(data), size), "<buffer>",
                                opened)
                : nullArgument("data");
  });
}

void upd_package_release(upd_package *package) { delete package; }

const char *upd_package_info(const upd_package *package) {
  return package ? package->info.c_str() : nullptr;
}

size_t upd_package_variant_count(const upd_package *package) {
  return package ? package->package->variants().size() : 0;
}

const char *upd_package_variant_name(const upd_package *package, size_t index) {
  return index < upd_package_variant_count(package)
             ? package->package->variants()[index].name.c_str()
             : nullptr;
}

/// Finds the image for "cuda" or "cuda:1".
static Status findForDevice(const Package &package, uint32_t variant, std::string_view target,
                            const Image *&image) {
  int index = 0;
  if (target != "cuda") {
    const std::string number(target.substr(5));
    const char *end = number.data() + number.size();
    const auto parsed = std::from_chars(number.data(), end, index);
    if (parsed.ec != std::errc() || parsed.ptr != end || index < 0)
      return runtime::invalidArgument("unknown target `" + std::string(target) +
                                      "`; a GPU is `cuda`, or `cuda:1` with its number");
  }
  std::shared_ptr<cuda::CudaDevice> device;
  if (Status status = capi::openCuda(index, device); !status.ok())
    return status;
  return package::findForGPU(package, variant,
                             uint32_t(10 * device->computeMajor() + device->computeMinor()), image);
}

static Status find(const Package &package, const char *variantName, const char *target,
                   const Image *&image) {
  uint32_t variant = 0;
  if (Status status = package::findVariant(package, variantName, variant); !status.ok())
    return status;
  const std::string_view name = target ? target : "host";
  if (name == "host")
    return package::findForHost(package, variant, image);
  if (name == "cuda" || name.starts_with("cuda:"))
    return findForDevice(package, variant, name, image);
  return package::findTarget(package, variant, target, image);
}

upd_status upd_package_load(const upd_package *package, const char *variant, const char *target,
                            upd_rule **rule) {
  return report([&] {
    if (!rule)
      return nullArgument("rule, where the result goes,");
    *rule = nullptr;
    if (!package)
      return nullArgument("package");
    const Image *image = nullptr;
    if (Status status = find(*package->package, variant, target, image); !status.ok())
      return status;
    std::shared_ptr<const runtime::Kernels> kernels;
    if (Status status = package::loadKernels(*package->package, *image, kernels); !status.ok())
      return status;
    *rule = new upd_rule{std::move(kernels), UPD_FROM_PACKAGE};
    return Status();
  });
}

upd_status upd_package_verify(const upd_package *package, const char *variant, const char *target) {
  return report([&] {
    if (!package)
      return nullArgument("package");
    const Image *image = nullptr;
    if (Status status = find(*package->package, variant, target, image); !status.ok())
      return status;
    package::SampleSize compared;
    return package::checkSample(*package->package, *image, compared);
  });
}
