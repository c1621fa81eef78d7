//===- PackagedRule.cpp - The kernels of a package --------------------------------------------===//

#include "runtime/package/PackagedRule.h"

#include "runtime/package/CodeImage.h"
#include "runtime/package/KernelFunctions.h"
#include "runtime/package/Machine.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::package;
using runtime::Status;

/// Lists the targets of a variant: "`x86-64-v3`, `aarch64`".
static std::string targetsOf(const Package &package, uint32_t variant) {
  std::string list;
  for (const Image &image : package.images())
    if (image.variant == variant)
      list += (list.empty() ? "`" : ", `") + image.target + "`";
  return list.empty() ? "no targets" : list;
}

Status package::findVariant(const Package &package, const char *name, uint32_t &variant) {
  const std::vector<Variant> &variants = package.variants();
  for (uint32_t i = 0; i < variants.size(); ++i)
    if (!name || variants[i].name == name) {
      variant = i;
      return {};
    }
  std::string list;
  for (const Variant &known : variants)
    list += (list.empty() ? "`" : ", `") + known.name + "`";
  return runtime::notFound(
      fmt::format("package `{}` has no variant `{}`; there is {}", package.name(), name, list));
}

/// Returns the newest image of the variant for which `fits` returns true.
template <typename Fits>
static const Image *best(const Package &package, uint32_t variant, Fits fits) {
  return newest(package.images(),
                [&](const Image &image) { return image.variant == variant && fits(image); });
}

Status package::findForHost(const Package &package, uint32_t variant, const Image *&image) {
  const Machine &machine = Machine::host();
  image = best(package, variant, [&](const Image &candidate) {
    return machine.runs(candidate.architecture, candidate.level);
  });
  if (image)
    return {};
  return {UPD_UNSUPPORTED,
          fmt::format("package `{}` has no code for this CPU, which supports `{}`; it has {}",
                      package.name(), machine.name(), targetsOf(package, variant))};
}

Status package::findForGPU(const Package &package, uint32_t variant, uint32_t capability,
                           const Image *&image) {
  image = best(package, variant, [&](const Image &candidate) {
    return candidate.architecture == UPD_NVPTX && candidate.level <= capability;
  });
  if (image)
    return {};
  return {UPD_UNSUPPORTED,
          fmt::format("package `{}` has no kernels for this GPU, which has compute capability "
                      "{}.{}; it has {}",
                      package.name(), capability / 10, capability % 10,
                      targetsOf(package, variant))};
}

Status package::findTarget(const Package &package, uint32_t variant, const char *target,
                           const Image *&image) {
  image =
      best(package, variant, [&](const Image &candidate) { return candidate.target == target; });
  if (image)
    return {};
  return runtime::notFound(fmt::format("package `{}` has no target `{}`; it has {}", package.name(),
                                       target, targetsOf(package, variant)));
}

/// Sets the functions of the kernels to those of an image of a CPU. `host` is its interface.
static Status loadFunctions(const Package &package, const Image &image,
                            const runtime::RuleInterface &host, runtime::Kernels &kernels) {
  const size_t expected = functionCount(host);
  if (image.functions.size() != expected)
    return runtime::invalidArgument(
        fmt::format("`{}` is not a valid package: the code for `{}` has {} functions, and its "
                    "descriptor {}",
                    package.name(), image.target, image.functions.size(), expected));
  std::shared_ptr<const CodeImage> code;
  if (Status status = CodeImage::load(image, code); !status.ok())
    return status;
  auto next = image.functions.begin();
  setFunctions(host, [&] { return reinterpret_cast<uintptr_t>(code->address(*next++)); }, kernels);
  kernels.code = std::move(code);
  return {};
}

Status package::loadKernels(const Package &package, const Image &image,
                            std::shared_ptr<const runtime::Kernels> &kernels) {
  const Machine &machine = Machine::host();
  if (image.architecture != UPD_NVPTX && !machine.runs(image.architecture, image.level))
    return {UPD_UNSUPPORTED, fmt::format("this CPU supports `{}`, which doesn't run code for `{}`",
                                         machine.name(), image.target)};
  auto loaded = std::make_shared<runtime::Kernels>();
  runtime::RuleInterface &interface = loaded->interface;
  if (Status status = runtime::RuleInterface::read(image.descriptor, interface); !status.ok())
    return {status.code(), fmt::format("package `{}`: {}", package.name(), status.message())};
  loaded->descriptor = image.descriptor;
  if (image.architecture != UPD_NVPTX) {
    if (Status status = loadFunctions(package, image, interface, *loaded); !status.ok())
      return status;
    kernels = std::move(loaded);
    return {};
  }
  const Image *host = nullptr;
  if (Status status = findForHost(package, image.variant, host); !status.ok())
    return status;
  runtime::RuleInterface hostInterface;
  if (Status status = runtime::RuleInterface::read(host->descriptor, hostInterface); !status.ok())
    return {status.code(), fmt::format("package `{}`: {}", package.name(), status.message())};
  // Sums after products have constants in the rows of CPUs alone. Only for conditions of the host
  // does its prologue write a GPU's row.
  auto haveSameRows = [](const runtime::PlanInterface &a, const runtime::PlanInterface &b) {
    return a.hasHostConditions() == b.hasHostConditions() &&
           (!a.hasHostConditions() || a.rowScalars == b.rowScalars);
  };
  if (hostInterface.states.size() != interface.states.size() ||
      hostInterface.hypers.size() != interface.hypers.size() ||
      hostInterface.messages.size() != interface.messages.size() ||
      !std::equal(hostInterface.plans.begin(), hostInterface.plans.end(), interface.plans.begin(),
                  interface.plans.end(), haveSameRows))
    return runtime::invalidArgument(
        fmt::format("`{}` is not a valid package: its images for `{}` and `{}` have other states",
                    package.name(), host->target, image.target));
  loaded->gpu.ptx = image.code.substr(0, image.code.size() - 1);
  if (Status status = loadFunctions(package, *host, hostInterface, *loaded); !status.ok())
    return status;
  kernels = std::move(loaded);
  return {};
}
