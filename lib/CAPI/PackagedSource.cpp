//===- PackagedSource.cpp - A package in place of a rule's text -------------------------------===//

#include "PackagedSource.h"

#include "runtime/base/DType.h"
#include "runtime/capi/PackagedImage.h"
#include "runtime/optimizer/GroupHypers.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

using namespace updraft;
using llvm::StringRef;
using package::Image;
using package::Package;
using runtime::Kernels;
using runtime::Status;

static std::string quoted(const Package &package) { return "package `" + package.name() + "`"; }

/// Splits the name of a variant, "param=bf16,state=f32".
static std::vector<std::pair<StringRef, StringRef>> storageOf(StringRef variant) {
  std::vector<std::pair<StringRef, StringRef>> storage;
  for (StringRef part : llvm::split(variant, ','))
    if (!part.empty())
      storage.push_back(part.split('='));
  return storage;
}

namespace {
/// The storage types of a variant's tensors.
class VariantStorage {
public:
  VariantStorage(StringRef variant, const runtime::RuleInterface &interface)
      : given(storageOf(variant)), interface(interface) {}

  /// Whether a tensor, or every state for "state", has a type. An unknown name has no type.
  bool has(StringRef name, StringRef type) const {
    if (name == "state")
      return llvm::all_of(interface.states, [&](const runtime::StateInterface &state) {
        return isCorrection(state) || typeOf(state.name, state.dtype) == type;
      });
    if (name == "param")
      return typeOf(name, interface.param) == type;
    if (name == "grad")
      return typeOf(name, interface.grad) == type;
    return llvm::any_of(interface.states, [&](const runtime::StateInterface &state) {
      return state.name == name && typeOf(state.name, state.dtype) == type;
    });
  }

private:
  /// The type that the variant was made with, which also says how values are rounded; else that in
  /// memory.
  StringRef typeOf(StringRef name, upd_dtype memory) const {
    for (StringRef wanted : {name, StringRef(name == "param" || name == "grad" ? "" : "state")})
      for (const auto &[other, type] : given)
        if (other == wanted)
          return type;
    return runtime::nameOf(memory);
  }

  bool isCorrection(const runtime::StateInterface &state) const {
    return StringRef(state.name).ends_with("_correction") && state.dtype == UPD_I8;
  }

  std::vector<std::pair<StringRef, StringRef>> given;
  const runtime::RuleInterface &interface;
};
} // namespace

static Status checkCounts(const upd_compile_options &options) {
  if ((options.setting_count && !options.settings) || (options.storage_count && !options.storage))
    return runtime::invalidArgument("settings or storage is null, but its count is not 0");
  for (size_t i = 0; i < options.setting_count; ++i)
    if (!options.settings[i].name || !options.settings[i].value)
      return runtime::invalidArgument("name or value of setting " + std::to_string(i) + " is null");
  for (size_t i = 0; i < options.storage_count; ++i)
    if (!options.storage[i].name || !options.storage[i].type)
      return runtime::invalidArgument("name or type of storage " + std::to_string(i) + " is null");
  if (options.probe_count && !options.probes)
    return runtime::invalidArgument("probes is null, but probe_count is not 0");
  for (size_t i = 0; i < options.probe_count; ++i)
    if (!options.probes[i])
      return runtime::invalidArgument("probe " + std::to_string(i) + " is null");
  return {};
}

/// Returns the probes that the package was made with, as texts.
static std::vector<std::string> probesOf(const Package &package) {
  const auto info = nlohmann::json::parse(package.info(), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> probes;
  if (info.is_object() && info.contains("probes") && info["probes"].is_array())
    for (const auto &probe : info["probes"])
      if (probe.is_string())
        probes.push_back(probe.get<std::string>());
  return probes;
}

/// Refuses other probes than those that the package was made with.
static Status checkProbes(const Package &package, const upd_compile_options &options) {
  const std::vector<std::string> known = probesOf(package);
  for (size_t i = 0; i < options.probe_count; ++i)
    if (!llvm::is_contained(known, StringRef(options.probes[i])))
      return {UPD_UNSUPPORTED, quoted(package) + " was made without the probe `" +
                                   options.probes[i] + "`; make one with `updraftc pack --probe '" +
                                   options.probes[i] + "'`"};
  return {};
}

/// Finds the first variant with the requested storage types that has an image for the target.
static Status findImage(const Package &package, const upd_compile_options &options,
                        const Image *&image) {
  std::string names;
  Status missing; // the first variant without an image
  for (uint32_t i = 0; i < package.variants().size(); ++i) {
    const std::string &name = package.variants()[i].name;
    // A variant that was packed without storage options has an empty name.
    names += (names.empty() ? "`" : ", `") + (name.empty() ? "f32" : name) + "`";
    if (Status status = capi::findImage(package, i, options.target, image); !status.ok()) {
      if (missing.ok())
        missing = std::move(status);
      continue;
    }
    runtime::RuleInterface interface;
    if (Status status = runtime::RuleInterface::read(image->descriptor, interface); !status.ok())
      return {status.code(), quoted(package) + ": " + status.message()};
    const VariantStorage storage(name, interface);
    if (std::all_of(
            options.storage, options.storage + options.storage_count,
            [&](const upd_storage &wanted) { return storage.has(wanted.name, wanted.type); }))
      return {};
  }
  if (!missing.ok())
    return missing;
  std::string wanted;
  for (size_t i = 0; i < options.storage_count; ++i)
    wanted += std::string(i ? "," : "") + options.storage[i].name + "=" + options.storage[i].type;
  return runtime::notFound(quoted(package) + " has no variant with `" + wanted +
                           "`; it has the variants " + names +
                           "; add one with `updraftc pack --storage`");
}

/// Reads a number as the compiler and Python write settings.
static std::optional<double> numberOf(StringRef text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "1/0" || text == "-1/0")
    return text.starts_with("-") ? -infinity : infinity;
  double value = 0;
  if (text.getAsDouble(value, /*AllowInexact=*/true))
    return std::nullopt;
  return value;
}

/// Changes defaults of hyperparameters, and refuses other static flags than those of the package.
static Status applySettings(const Package &package, const upd_compile_options &options,
                            std::shared_ptr<const Kernels> &kernels) {
  if (!options.setting_count)
    return {};
  auto changed = std::make_shared<Kernels>(*kernels);
  runtime::RuleInterface &interface = changed->interface;
  std::vector<upd_hyper> hypers;
  for (size_t i = 0; i < options.setting_count; ++i) {
    const StringRef name = options.settings[i].name, value = options.settings[i].value;
    const auto flag =
        llvm::find_if(interface.statics, [&](const auto &known) { return known.first == name; });
    if (flag != interface.statics.end()) {
      if (flag->second != value.trim('"'))
        return {UPD_UNSUPPORTED, quoted(package) + " was made with `" + flag->first +
                                     "` = " + flag->second + ", not " + value.trim('"').str() +
                                     "; make one with `updraftc pack --set " + flag->first + "=" +
                                     value.trim('"').str() + "`"};
      continue;
    }
    const auto hyper = llvm::find_if(
        interface.hypers, [&](const runtime::HyperInterface &known) { return known.name == name; });
    if (hyper == interface.hypers.end())
      return runtime::notFound(quoted(package) + " has no hyperparameter or static flag `" +
                               name.str() + "`");
    const std::optional<double> number = numberOf(value);
    if (!number)
      return runtime::invalidArgument("`" + name.str() + "` is `" + value.str() +
                                      "`; the hyperparameters of a package take numbers, such as "
                                      "`1e-3`");
    hyper->defaultValue = *number;
    llvm::erase_if(hypers, [&](const upd_hyper &other) { return name == other.name; });
    hypers.push_back({hyper->name.c_str(), *number});
  }
  // With the old defaults: those that aren't set are as the rule was packed.
  if (Status status = runtime::GroupHypers(kernels).check(hypers.data(), hypers.size());
      !status.ok())
    return {status.code(), quoted(package) + ": " + status.message()};
  changed->descriptor = interface.write();
  kernels = std::move(changed);
  return {};
}

Status capi::loadPackaged(const Package &package, const upd_compile_options &options,
                          std::shared_ptr<const Kernels> &kernels) {
  if (Status status = checkCounts(options); !status.ok())
    return status;
  const Image *image = nullptr;
  if (Status status = ::findImage(package, options, image); !status.ok())
    return status;
  std::shared_ptr<const Kernels> loaded;
  if (Status status = package::loadKernels(package, *image, loaded); !status.ok())
    return status;
  const runtime::RuleInterface &interface = loaded->interface;
  if (options.rule && interface.name != options.rule)
    return runtime::notFound(quoted(package) + " has the rule `" + interface.name + "`, not `" +
                             options.rule + "`");
  if (options.numerics && interface.numerics != options.numerics)
    return {UPD_UNSUPPORTED, quoted(package) + " was made with numerics `" + interface.numerics +
                                 "`, not `" + options.numerics +
                                 "`; make one with `updraftc pack --numerics=" + options.numerics +
                                 "`"};
  if (Status status = checkProbes(package, options); !status.ok())
    return status;
  if (Status status = applySettings(package, options, loaded); !status.ok())
    return status;
  kernels = std::move(loaded);
  return {};
}

llvm::Expected<CompileRequest> capi::requestOf(const Package &package,
                                               const upd_compile_options &options) {
  upd_compile_options forHost = options;
  forHost.target = nullptr;
  const Image *image = nullptr;
  Status status = checkCounts(options);
  if (status.ok())
    status = checkProbes(package, options);
  if (status.ok())
    status = ::findImage(package, forHost, image);
  if (!status.ok())
    return makeError(status.code(), status.message());
  CompileRequest request;
  request.filename = package.name();
  size_t sources = 0;
  for (const package::Section &section : package.sections())
    if (section.kind == UPD_PACKAGE_SOURCE && sources++ == 0)
      request.source = section.content;
  if (sources != 1)
    return makeError(UPD_UNSUPPORTED, quoted(package) + " has a rule of " +
                                          std::to_string(sources) +
                                          " files, which is not compiled again");
  const auto info = nlohmann::json::parse(package.info(), nullptr, /*allow_exceptions=*/false);
  const auto damaged = [&] {
    return makeError(UPD_INVALID_ARGUMENT, quoted(package) + " has a description without options");
  };
  const auto has = [&](const char *key, nlohmann::json::value_t type) {
    return info.is_object() && info.contains(key) && info[key].type() == type;
  };
  using Type = nlohmann::json::value_t;
  if (!has("requested", Type::string) || !has("numerics", Type::string) ||
      !has("settings", Type::object))
    return damaged();
  request.rule.rule = info["requested"].get<std::string>();
  request.rule.numerics = info["numerics"].get<std::string>();
  for (const auto &[name, value] : info["settings"].items()) {
    if (!value.is_string())
      return damaged();
    request.rule.settings.emplace_back(name, value.get<std::string>());
  }
  request.rule.probes = probesOf(package);
  for (const auto &[name, text] : storageOf(package.variants()[image->variant].name)) {
    const auto type = parseStorageType(text);
    if (!type)
      return damaged();
    request.rule.storage.emplace_back(name.str(), *type);
  }
  return request;
}
