//===- Compiler.cpp - updraft-c/compiler.h ----------------------------------------------------===//

#include "updraft-c/compiler.h"

#include "Origins.h"
#include "PackagedSource.h"
#include "Targets.h"
#include "runtime/capi/Devices.h"
#include "runtime/capi/OwnedText.h"
#include "runtime/capi/Report.h"
#include "runtime/capi/SizedStruct.h"
#include "runtime/files/FileContent.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Driver/Version.h"
#include "updraft/Engine/Session.h"
#include "updraft/Frontend/Parser.h"
#include "updraft/Report/Report.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace updraft;
using capi::fail;
using capi::guarded;

namespace {
upd_status failWith(llvm::Error error) {
  auto [status, message] = takeStatus(std::move(error));
  return fail(status, message);
}

/// Returns the options in this version's layout; the defaults if `given` is null.
llvm::Expected<upd_compile_options> optionsOf(const upd_compile_options *given) {
  if (!given)
    return upd_compile_options{};
  upd_compile_options options;
  const runtime::Status status = capi::readSized(given, offsetof(upd_compile_options, origins),
                                                 "upd_compile_options", options);
  if (!status.ok())
    return makeError(status.code(), status.message());
  return options;
}

llvm::Error readOptions(const upd_compile_options &options, CompileRequest &request) {
  if ((options.setting_count && !options.settings) || (options.storage_count && !options.storage))
    return makeError(UPD_INVALID_ARGUMENT, "settings or storage is null, but its count is not 0");
  if (options.rule)
    request.rule.rule = options.rule;
  for (size_t i = 0; i < options.setting_count; ++i) {
    const upd_setting &setting = options.settings[i];
    if (!setting.name || !setting.value)
      return makeError(UPD_INVALID_ARGUMENT,
                       "name or value of setting " + std::to_string(i) + " is null");
    request.rule.settings.emplace_back(setting.name, setting.value);
  }
  for (size_t i = 0; i < options.storage_count; ++i) {
    const upd_storage &storage = options.storage[i];
    if (!storage.name || !storage.type)
      return makeError(UPD_INVALID_ARGUMENT,
                       "name or type of storage " + std::to_string(i) + " is null");
    const auto type = parseStorageType(storage.type);
    if (!type)
      return makeError(UPD_INVALID_ARGUMENT, unknownStorageType(storage.type));
    request.rule.storage.emplace_back(storage.name, *type);
  }
  if (options.probe_count && !options.probes)
    return makeError(UPD_INVALID_ARGUMENT, "probes is null, but probe_count is not 0");
  for (size_t i = 0; i < options.probe_count; ++i) {
    if (!options.probes[i])
      return makeError(UPD_INVALID_ARGUMENT, "probe " + std::to_string(i) + " is null");
    request.rule.probes.emplace_back(options.probes[i]);
  }
  if (options.numerics)
    request.rule.numerics = options.numerics;
  if (options.tensors < UPD_ALL_TENSORS || options.tensors > UPD_MATRICES)
    return makeError(UPD_INVALID_ARGUMENT, "unknown tensors " + std::to_string(options.tensors) +
                                               "; the values are those of upd_tensors");
  request.rule.tensors = options.tensors;
  if (options.target) {
    auto target = capi::targetNamed(options.target);
    if (!target)
      return target.takeError();
    if (llvm::Error error = request.setTarget(*target))
      return error;
  }
  if (options.origins) {
    auto origins = capi::readOrigins(*options.origins, request.source.size());
    if (!origins)
      return origins.takeError();
    request.origins = std::move(*origins);
  }
  return llvm::Error::success();
}

/// Opens a package that was given as the source.
llvm::Expected<std::shared_ptr<const package::Package>>
openPackage(const char *source, size_t length, const char *filename) {
  std::shared_ptr<const package::Package> package;
  const runtime::Status status =
      package::Package::open(std::string(source, length), filename ? filename : "<rule>", package);
  if (!status.ok())
    return makeError(status.code(), status.message());
  return package;
}

upd_status loadFromPackage(const char *source, size_t length, const char *filename,
                           const upd_compile_options &options, upd_rule **rule) {
  auto package = openPackage(source, length, filename);
  if (!package)
    return failWith(package.takeError());
  std::shared_ptr<const runtime::Kernels> kernels;
  if (runtime::Status status = capi::loadPackaged(**package, options, kernels); !status.ok())
    return fail(status.code(), status.message());
  *rule = new upd_rule{std::move(kernels), UPD_FROM_PACKAGE};
  return UPD_OK;
}

llvm::Expected<CompileRequest> makeRequest(const char *source, size_t length, const char *filename,
                                           const upd_compile_options &options) {
  if (!source)
    return makeError(UPD_INVALID_ARGUMENT, "source is null");
  CompileRequest request;
  upd_compile_options others = options;
  if (package::isPackage({source, length})) {
    auto package = openPackage(source, length, filename);
    if (!package)
      return package.takeError();
    auto packed = capi::requestOf(**package, options);
    if (!packed)
      return packed.takeError();
    request = std::move(*packed);
    others.storage_count = 0; // the variant's
    others.probe_count = 0;   // the package's
  } else {
    // One byte more than the language allows is enough to be rejected.
    request.source.assign(source, std::min<size_t>(length, maxFileSize + 1));
    request.filename = filename ? filename : "<rule>";
  }
  request.target = CPUTarget::host();
  if (llvm::Error error = readOptions(others, request))
    return error;
  return request;
}

DiskCache cacheOf(const upd_compile_options &options) {
  DiskCache cache = DiskCache::fromEnvironment();
  if (options.cache_dir)
    return DiskCache(options.cache_dir, cache.getMaxBytes());
  return cache;
}

upd_origin toC(Origin origin) {
  switch (origin) {
  case Origin::Compiled:
    return UPD_COMPILED;
  case Origin::Memory:
    return UPD_FROM_MEMORY;
  case Origin::Disk:
    return UPD_FROM_DISK;
  }
  return UPD_COMPILED;
}

/// The stages that print text and need no tools from NVIDIA.
constexpr Stage printedStages[] = {Stage::Ast,   Stage::Updraft, Stage::Torch, Stage::Schedule,
                                   Stage::Loops, Stage::LLVM,    Stage::Asm,   Stage::Kernels,
                                   Stage::NVVM,  Stage::PTX};

bool isPrinted(Stage stage) { return llvm::is_contained(printedStages, stage); }
} // namespace

upd_status upd_compile(const char *source, size_t length, const char *filename,
                       const upd_compile_options *options, upd_rule **rule) {
  return guarded([&] {
    if (!rule)
      return fail(UPD_INVALID_ARGUMENT, "rule, where the result goes, is null");
    *rule = nullptr;
    auto known = optionsOf(options);
    if (!known)
      return failWith(known.takeError());
    if (source && package::isPackage({source, length}))
      return loadFromPackage(source, length, filename, *known, rule);
    auto request = makeRequest(source, length, filename, *known);
    if (!request)
      return failWith(request.takeError());
    auto loaded = Session::get().load(*request, cacheOf(*known));
    if (!loaded)
      return failWith(loaded.takeError());
    *rule = new upd_rule{std::move(loaded->kernels), toC(loaded->origin)};
    return UPD_OK;
  });
}

upd_status upd_compile_file(const char *path, const upd_compile_options *options, upd_rule **rule) {
  return guarded([&] {
    if (rule)
      *rule = nullptr;
    if (!path)
      return fail(UPD_INVALID_ARGUMENT, "path is null");
    auto source = readRuleFile(path);
    if (!source)
      return failWith(source.takeError());
    if (!package::isPackage(*source))
      return upd_compile(source->data(), source->size(), path, options, rule);
    // The text of a rule is shorter than a package.
    std::string package;
    if (int error = files::readFile(path, package::maxPackageBytes, package))
      return fail(UPD_IO_ERROR, std::string("cannot read `") + path + "`: " + std::strerror(error));
    return upd_compile(package.data(), package.size(), path, options, rule);
  });
}

upd_status upd_emit(const char *source, size_t length, const char *filename,
                    const upd_compile_options *options, const char *stageName, char **text) {
  return guarded([&] {
    if (!stageName || !text)
      return fail(UPD_INVALID_ARGUMENT, "stage, or text, where the result goes, is null");
    *text = nullptr;
    std::optional<Stage> stage = parseStage(stageName);
    bool isExplained = llvm::StringRef(stageName) == "explain";
    if (!isExplained && (!stage || !isPrinted(*stage)))
      return fail(UPD_INVALID_ARGUMENT,
                  std::string("unknown stage `") + stageName + "`; the stages are `" +
                      llvm::join(llvm::map_range(printedStages, nameOf), "`, `") + "`, `explain`");
    auto known = optionsOf(options);
    if (!known)
      return failWith(known.takeError());
    auto request = makeRequest(source, length, filename, *known);
    if (!request)
      return failWith(request.takeError());
    if (llvm::Error error =
            isExplained ? llvm::Error::success() : checkStage(*request, *stage, isPrinted))
      return failWith(std::move(error));
    std::string result;
    llvm::raw_string_ostream os(result);
    if (llvm::Error error = isExplained ? Session::get().explain(*request, os)
                                        : Session::get().emit(*request, *stage, os))
      return failWith(std::move(error));
    return capi::giveText(result, text);
  });
}

upd_status upd_report(const char *source, size_t length, const char *filename,
                      const upd_compile_options *options, const char *alsoFor, char **document) {
  return guarded([&] {
    if (!document)
      return fail(UPD_INVALID_ARGUMENT, "document, where the result goes, is null");
    *document = nullptr;
    auto known = optionsOf(options);
    if (!known)
      return failWith(known.takeError());
    auto request = makeRequest(source, length, filename, *known);
    if (!request)
      return failWith(request.takeError());
    ReportRequest report;
    report.rule = std::move(*request);
    report.measureMemory = !known->target;
    if (alsoFor)
      if (llvm::Error error = report.setAlsoFor(alsoFor))
        return failWith(std::move(error));
    auto made = Session::get().report(report);
    if (!made)
      return failWith(made.takeError());
    return capi::giveText(*made, document);
  });
}

upd_status upd_report_add_run(const char *document, const upd_run_file *files, size_t file_count,
                              char **result) {
  return guarded([&] {
    if (!document || !result)
      return fail(UPD_INVALID_ARGUMENT, "document, or result, where it goes, is null");
    *result = nullptr;
    if (file_count && !files)
      return fail(UPD_INVALID_ARGUMENT, "files is null, but file_count is not 0");
    std::vector<RunFile> given;
    for (size_t i = 0; i < file_count; ++i) {
      if (!files[i].name || !files[i].text)
        return fail(UPD_INVALID_ARGUMENT, "name or text of file " + std::to_string(i) + " is null");
      given.push_back({files[i].name, std::string(files[i].text, files[i].length)});
    }
    auto found = documentIn(document);
    if (!found)
      return failWith(found.takeError());
    auto made = withRun(*found, given);
    if (!made)
      return failWith(made.takeError());
    return capi::giveText(*made, result);
  });
}

upd_status upd_report_page(const char *document, const char *other, char **page) {
  return guarded([&] {
    if (!document || !page)
      return fail(UPD_INVALID_ARGUMENT, "document, or page, where the result goes, is null");
    *page = nullptr;
    std::string compared;
    auto shown = documentIn(document);
    if (!shown)
      return failWith(shown.takeError());
    if (other) {
      auto found = documentIn(other);
      if (!found)
        return failWith(found.takeError());
      compared = std::move(*found);
    }
    return capi::giveText(reportPage(*shown, compared), page);
  });
}

const char *upd_version(void) { return versionString().data(); }
