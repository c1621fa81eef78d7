//===- PackagedImage.cpp - The image of a package for a target --------------------------------===//

#include "runtime/capi/PackagedImage.h"

#include "runtime/capi/Devices.h"

#include <charconv>
#include <string>
#include <string_view>

using namespace updraft;
using package::Image;
using package::Package;
using runtime::Status;

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
  capi::GPU gpu;
  if (Status status = capi::findGPU(index, gpu); !status.ok())
    return status;
  return package::findForGPU(package, variant, uint32_t(10 * gpu.major + gpu.minor), image);
}

Status capi::findImage(const Package &package, const char *variantName, const char *target,
                       const Image *&image) {
  uint32_t variant = 0;
  if (Status status = package::findVariant(package, variantName, variant); !status.ok())
    return status;
  return findImage(package, variant, target, image);
}

Status capi::findImage(const Package &package, uint32_t variant, const char *target,
                       const Image *&image) {
  const std::string_view name = target ? target : "host";
  if (name == "host")
    return package::findForHost(package, variant, image);
  if (name == "cuda" || name.starts_with("cuda:"))
    return findForDevice(package, variant, name, image);
  return package::findTarget(package, variant, target, image);
}
