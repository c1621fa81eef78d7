//===- Package.cpp - updraft-c/package.h ------------------------------------------------------===//

#include "updraft-c/package.h"

#include "runtime/capi/PackagedImage.h"
#include "runtime/capi/Report.h"
#include "runtime/capi/SizedStruct.h"
#include "runtime/package/PackagedRule.h"
#include "runtime/package/SampleCheck.h"
#include "runtime/package/Signature.h"

#include <cstddef>

using namespace updraft;
using capi::nullArgument;
using capi::report;
using package::Image;
using package::Package;
using runtime::Status;

struct upd_package {
  std::shared_ptr<const Package> package;
  // Copies, because texts in a package have no null character at the end.
  std::string info;
  std::vector<std::string> sources;
};

static Status readOptions(const upd_package_options &given, upd_package_options &options) {
  return capi::readSized(&given, offsetof(upd_package_options, name), "upd_package_options",
                         options);
}

static Status checkSignature(const Package &package, const upd_package_options *given) {
  if (!given)
    return {};
  upd_package_options options;
  if (Status status = readOptions(*given, options); !status.ok())
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
    std::vector<std::string> sources;
    for (const package::Section &section : opened->sections())
      if (section.kind == UPD_PACKAGE_SOURCE)
        sources.emplace_back(section.content);
    *package = new upd_package{std::move(opened), std::move(info), std::move(sources)};
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
    if (!data)
      return nullArgument("data");
    upd_package_options known{};
    if (options)
      if (Status status = readOptions(*options, known); !status.ok())
        return status;
    return Package::open(std::string(static_cast<const char *>(data), size),
                         known.name ? known.name : "<buffer>", opened);
  });
}

void upd_package_release(upd_package *package) { delete package; }

const char *upd_package_info(const upd_package *package) {
  return package ? package->info.c_str() : nullptr;
}

const char *upd_package_source(const upd_package *package, size_t index) {
  return package && index < package->sources.size() ? package->sources[index].c_str() : nullptr;
}

size_t upd_package_variant_count(const upd_package *package) {
  return package ? package->package->variants().size() : 0;
}

const char *upd_package_variant_name(const upd_package *package, size_t index) {
  return index < upd_package_variant_count(package)
             ? package->package->variants()[index].name.c_str()
             : nullptr;
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
    if (Status status = capi::findImage(*package->package, variant, target, image); !status.ok())
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
    if (Status status = capi::findImage(*package->package, variant, target, image); !status.ok())
      return status;
    package::SampleSize compared;
    return package::checkSample(*package->package, *image, compared);
  });
}
