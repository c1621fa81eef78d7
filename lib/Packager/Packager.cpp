//===- Packager.cpp - Compiles a rule to a package --------------------------------------------===//

#include "updraft/Packager/Packager.h"

#include "ImageLinker.h"
#include "Sample.h"
#include "runtime/base/RuleInterface.h"
#include "runtime/package/Machine.h"
#include "runtime/package/PackageWriter.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/FunctionNames.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Driver/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

using namespace updraft;
using nlohmann::ordered_json;
using package::PackageParts;

namespace {

class Packager {
public:
  explicit Packager(const PackRequest &request) : request(request) {}

  llvm::Expected<std::string> pack();

private:
  using Storage = std::vector<std::pair<std::string, StorageType>>;

  llvm::Error checkTargets() const;
  llvm::Error addVariant(const Storage &storage);
  llvm::Error addImage(uint32_t variant, const CompileRequest &compiled);
  llvm::Error addSources();
  static std::string nameOf(const Storage &storage);

  const PackRequest &request;
  Compiler compiler;
  std::shared_ptr<const Program> program;
  PackageParts parts;
  ordered_json info;
};

/// The loader compares these with the machine.
struct TargetLevel {
  upd_architecture architecture;
  uint32_t level;
};

TargetLevel levelOf(const CompileRequest &request) {
  if (request.gpu) {
    uint32_t capability = 0;
    llvm::StringRef(request.gpu->architecture).drop_front(3).getAsInteger(10, capability);
    return {UPD_NVPTX, capability};
  }
  const auto machine = package::Machine::named(request.target.name);
  return {machine->architecture, machine->level};
}

std::string Packager::nameOf(const Storage &storage) {
  std::vector<std::string> parts;
  for (const auto &[name, type] : storage)
    parts.push_back(name + "=" + storageTypeName(type).str());
  return llvm::join(parts, ",");
}

llvm::Error Packager::checkTargets() const {
  if (request.targets.empty())
    return makeError(UPD_INVALID_ARGUMENT, "no targets; name one, such as `x86-64-v3`");
  bool hasCPU = false;
  for (const std::string &target : request.targets) {
    CompileRequest named;
    if (llvm::Error error = named.setTarget(target))
      return error;
    if (target == "host" || (named.gpu && named.gpu->isEmulated))
      return makeError(UPD_INVALID_ARGUMENT,
                       "a package can't have code for `" + target +
                           "`, which isn't the same on every machine; name a CPU, such as "
                           "`x86-64-v3`, or a GPU, such as `nvptx:sm_90`");
    hasCPU |= !named.gpu;
    if (llvm::count(request.targets, target) != 1)
      return makeError(UPD_INVALID_ARGUMENT, "the target `" + target + "` is given twice");
  }
  if (!hasCPU)
    return makeError(UPD_INVALID_ARGUMENT,
                     "a package for GPUs also needs a CPU, which computes initial states; add one, "
                     "such as `x86-64-v3`");
  return llvm::Error::success();
}

llvm::Error Packager::addImage(uint32_t variant, const CompileRequest &compiled) {
  auto rule = compiler.compile(*program, compiled);
  if (!rule)
    return rule.takeError();
  runtime::RuleInterface interface;
  if (runtime::Status status = runtime::RuleInterface::read(rule->descriptor, interface);
      !status.ok())
    return makeError(UPD_INTERNAL_ERROR, status.message());
  const TargetLevel target = levelOf(compiled);
  PackageParts::Image image;
  image.variant = variant;
  image.target = compiled.gpu ? compiled.gpu->name : compiled.target.name;
  image.architecture = target.architecture;
  image.level = target.level;
  image.descriptor = rule->descriptor;
  if (compiled.gpu) {
    llvm::raw_string_ostream os(image.code);
    if (llvm::Error error = compiler.emit(compiled, Stage::PTX, os))
      return error;
    os << '\0';
  } else {
    auto linked = linkImage(rule->object, functionsOf(interface));
    if (!linked)
      return makeError(UPD_INTERNAL_ERROR, "cannot pack the code for `" + image.target +
                                               "`: " + llvm::toString(linked.takeError()));
    image.code = std::move(linked->code);
    image.executable = linked->executable;
    image.functions = std::move(linked->functions);
    image.imports = std::move(linked->imports);
    ordered_json &described = info["variants"][variant];
    if (!described.contains("interface")) {
      described["interface"] = ordered_json::parse(interface.json());
      info["rule"] = interface.name;
    }
  }
  parts.images.push_back(std::move(image));
  return llvm::Error::success();
}

llvm::Error Packager::addVariant(const Storage &storage) {
  CompileRequest compiled = request.rule;
  compiled.rule.storage = storage;
  compiled.inOneObject = true;
  auto sample = makeSample(*program, compiled.rule);
  if (!sample)
    return sample.takeError();
  const auto variant = static_cast<uint32_t>(parts.variants.size());
  parts.variants.push_back({nameOf(storage), std::move(*sample)});
  info["variants"].push_back({{"name", parts.variants.back().name}});
  for (const PackageParts::Variant &other : llvm::ArrayRef(parts.variants).drop_back())
    if (other.name == parts.variants.back().name)
      return makeError(UPD_INVALID_ARGUMENT, "the variant `" + other.name +
                                                 "` is given twice; a package has one of each");
  for (const std::string &target : request.targets) {
    compiled.gpu.reset();
    if (llvm::Error error = compiled.setTarget(target))
      return error;
    if (llvm::Error error = addImage(variant, compiled))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Packager::addSources() {
  // Names are relative to the rule's folder, so that the bytes don't depend on where it is.
  const llvm::StringRef folder = llvm::sys::path::parent_path(request.rule.filename);
  info["sources"] = ordered_json::array();
  for (const auto &source : program->files()) {
    llvm::StringRef path = source->path();
    if (!folder.empty() && path.consume_front(folder))
      path = path.ltrim('/');
    else if (llvm::sys::path::is_absolute(path))
      path = llvm::sys::path::filename(path);
    info["sources"].push_back(path.str());
    parts.sources.push_back(source->text().str());
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> Packager::pack() {
  if (llvm::Error error = checkTargets())
    return error;
  auto parsed = Compiler::parse(request.rule);
  if (!parsed)
    return parsed.takeError();
  program = std::move(*parsed);
  info = {{"rule", nullptr},
          {"requested", request.rule.rule.rule},
          {"updraft", versionNumber().str()},
          {"numerics", request.rule.rule.numerics},
          {"settings", ordered_json::object()},
          {"targets", request.targets}};
  for (const auto &[name, value] : request.rule.rule.settings)
    info["settings"][name] = value;
  if (!request.rule.rule.probes.empty())
    info["probes"] = request.rule.rule.probes;
  if (llvm::Error error = addSources())
    return error;
  info["variants"] = ordered_json::array();
  const std::vector<Storage> one(1);
  for (const Storage &storage : request.variants.empty() ? one : request.variants)
    if (llvm::Error error = addVariant(storage))
      return error;
  parts.info = info.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  std::string bytes;
  if (runtime::Status status = package::writePackage(parts, request.privateKey, bytes);
      !status.ok())
    return makeError(status.code(), status.message());
  return bytes;
}

} // namespace

llvm::Expected<std::string> updraft::packRule(const PackRequest &request) {
  return Packager(request).pack();
}
