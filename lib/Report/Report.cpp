//===- Report.cpp - The document of a report --------------------------------------------------===//

#include "updraft/Report/Report.h"

#include "Behaviour.h"
#include "Command.h"
#include "Machine.h"
#include "Numerics.h"
#include "Sources.h"
#include "updraft/Driver/CacheKey.h"
#include "updraft/Driver/PlanData.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Driver/Version.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace updraft;
using llvm::json::Array;
using llvm::json::Object;

namespace {
constexpr int formatVersion = 1;

/// Facts of a compilation, which are collected while it runs.
struct Observations {
  Recording recording;
  PlanRegions regions;
  std::optional<RuleFacts> rule;
  std::string name;
  Array hypers, plans;
  Object numerics, behaviour;
};

/// Adds the syntax tree, which the parser made before the first pass.
void recordAst(const Program &program, Recording &recording) {
  const auto start = std::chrono::steady_clock::now();
  RecordedText text{"parse", Stage::Ast, "", {}, 0};
  llvm::raw_string_ostream os(text.text);
  std::vector<SourceRange> ranges;
  printAst(program, os, /*locations=*/false, &ranges);
  std::map<SourceLine, uint32_t> numbers;
  for (SourceRange range : ranges) {
    uint32_t place = 0;
    if (range.file && (range = range.origin()).file) {
      const SourceLine line{range.file->path(), range.file->position(range.begin).line};
      auto [number, isNew] = numbers.try_emplace(line, recording.places.size());
      if (isNew)
        recording.places.push_back({line});
      place = number->second;
    }
    text.places.push_back(place);
  }
  text.nanoseconds = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  recording.texts.push_back(std::move(text));
}

llvm::Error observe(const Compiler::Recorded &recorded, const CompileRequest &request,
                    Observations &seen) {
  if (recorded.stage == Stage::Updraft) {
    auto forms = formsIn<RuleOp>(recorded.module);
    seen.rule = recorded.rule;
    seen.name = forms.front().getSymName().str();
    for (auto hyper : forms.front().getBody().getOps<HyperOp>())
      seen.hypers.push_back(
          Object{{"name", hyper.getName()},
                 {"default", numberAsJSON(hyper.getDefaultValue().convertToDouble())}});
    seen.numerics = roundingsOf(forms, request.rule.numerics);
    seen.behaviour = behaviourOf(forms);
    return llvm::Error::success();
  }
  seen.regions.collect(seen.recording, recorded.module, recorded.placeOf);
  for (PlanOp plan : formsIn<PlanOp>(recorded.module)) {
    Object data = planData(plan, request.gpu.has_value());
    addScalarValues(plan, data);
    seen.plans.push_back(std::move(data));
  }
  return llvm::Error::success();
}

/// Compiles the rule for the second target, and keeps what its own passes made.
llvm::Error recordAlso(Compiler &compiler, const Program &program, CompileRequest request,
                       const GPUTarget &gpu, Recording &recording) {
  request.gpu = gpu;
  const size_t before = recording.texts.size();
  if (llvm::Error error = compiler.record(program, request, recording,
                                          [](const auto &) { return llvm::Error::success(); }))
    return error;
  auto isCommon = [](const RecordedText &text) { return text.stage <= Stage::Schedule; };
  recording.texts.erase(
      std::remove_if(recording.texts.begin() + before, recording.texts.end(), isCommon),
      recording.texts.end());
  return llvm::Error::success();
}

Object describeRequest(const ReportRequest &request, const Program &program) {
  const CompileRequest &rule = request.rule;
  Array settings, storage, targets;
  for (const auto &[name, value] : rule.rule.settings)
    settings.push_back(Array{name, value});
  for (const auto &[name, type] : rule.rule.storage)
    storage.push_back(Array{name, storageTypeName(type)});
  targets.push_back(rule.gpu ? rule.gpu->name : rule.target.name);
  if (request.alsoFor)
    targets.push_back(request.alsoFor->name);
  Object data{{"file", llvm::json::fixUTF8(rule.filename)},
              {"rule", rule.rule.rule},
              {"settings", std::move(settings)},
              {"storage", std::move(storage)},
              {"numerics", rule.rule.numerics},
              {"targets", std::move(targets)},
              {"cpu", rule.target.key()},
              {"command", llvm::json::fixUTF8(commandOf(request))}};
  if (std::string name = nameToSave(rule); !name.empty()) {
    data["savedAs"] = llvm::json::fixUTF8(name);
    data["text"] = llvm::json::fixUTF8(program.main().source->text());
  }
  return data;
}

/// Adds the members `stages`, `passes` and `texts`. Passes that change nothing share a text.
void addTexts(const Recording &recording, Object &report) {
  Array stages, passes, texts;
  size_t number = 0;
  for (auto [index, text] : llvm::enumerate(recording.texts)) {
    const bool isAfterOther = index > 0 && text.stage != Stage::Updraft;
    // The first pass for a GPU follows the schedule, like that for a CPU.
    size_t before = index - 1;
    if (text.stage == Stage::Kernels && index > 0)
      while (before > 0 && recording.texts[before].stage > Stage::Schedule)
        --before;
    const bool isChanged = !isAfterOther || recording.texts[before].text != text.text;
    size_t shown = number;
    if (isChanged) {
      Array places;
      for (uint32_t place : text.places)
        places.push_back(place);
      texts.push_back(
          Object{{"text", llvm::json::fixUTF8(text.text)}, {"places", std::move(places)}});
      shown = number++;
    } else {
      shown = *passes[before].getAsObject()->getInteger("text");
    }
    llvm::StringRef stage = nameOf(text.stage);
    Object pass{{"pass", text.pass},
                {"stage", stage},
                {"text", shown},
                {"changed", isChanged},
                {"ns", text.nanoseconds}};
    if (isAfterOther && text.stage != Stage::Ast)
      pass["after"] = before;
    passes.push_back(std::move(pass));
    if (index + 1 == recording.texts.size() || recording.texts[index + 1].stage != text.stage)
      stages.push_back(Object{{"stage", stage}, {"text", shown}});
  }
  report["stages"] = std::move(stages);
  report["passes"] = std::move(passes);
  report["texts"] = std::move(texts);
}
} // namespace

llvm::Error ReportRequest::setAlsoFor(llvm::StringRef name) {
  auto gpu = GPUTarget::named(name);
  if (!gpu || rule.gpu || gpu->isEmulated) {
    std::string why = gpu ? "" : llvm::toString(gpu.takeError()) + "; ";
    return makeError(UPD_INVALID_ARGUMENT,
                     "cannot add the stages of `" + name.str() + "`: " + why +
                         "a report for a CPU can also have those of a GPU, such as `nvptx:sm_90`");
  }
  alsoFor = std::move(*gpu);
  return llvm::Error::success();
}

/// Whether a compilation would find the rule's code on disk.
static llvm::StringRef cacheState(const Program &program, const CompileRequest &request) {
  const DiskCache cache = DiskCache::fromEnvironment();
  if (!cache.whyUnused().empty() || cache.getFolder().empty())
    return "no disk cache";
  const std::string key = cacheKey(program, request);
  auto entries = cache.entries();
  if (!entries) {
    llvm::consumeError(entries.takeError());
    return "no disk cache";
  }
  const bool isStored = llvm::any_of(*entries, [&](const auto &entry) { return entry.key == key; });
  return isStored ? "in the disk cache" : "not in the disk cache";
}

llvm::Expected<std::string> updraft::makeReport(Compiler &compiler, const ReportRequest &request) {
  const auto start = std::chrono::steady_clock::now();
  CompileRequest rule = request.rule;
  rule.inspection = {};
  auto program = Compiler::parse(rule);
  if (!program)
    return program.takeError();
  Observations seen;
  recordAst(**program, seen.recording);
  seen.recording.texts.front().nanoseconds =
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  if (llvm::Error error =
          compiler.record(**program, rule, seen.recording, [&](const Compiler::Recorded &recorded) {
            return observe(recorded, rule, seen);
          }))
    return error;
  if (request.alsoFor)
    if (llvm::Error error = recordAlso(compiler, **program, rule, *request.alsoFor, seen.recording))
      return error;

  Array statics;
  for (const auto &[name, value] : seen.rule->statics)
    statics.push_back(Object{{"name", name}, {"value", value}});
  Object report{{"format", formatVersion},
                {"updraft", versionString()},
                {"name", seen.name},
                {"statics", std::move(statics)},
                {"hypers", std::move(seen.hypers)},
                {"request", describeRequest(request, **program)},
                {"plans", std::move(seen.plans)},
                {"numerics", std::move(seen.numerics)},
                {"behaviour", std::move(seen.behaviour)},
                {"cache", cacheState(**program, rule)}};
  if (request.measureMemory)
    report["machine"] = measuredMachine();
  Sources(**program, rule, seen.recording, seen.regions, *seen.rule).writeTo(report);
  addTexts(seen.recording, report);
  std::string document;
  llvm::raw_string_ostream(document) << llvm::json::Value(std::move(report));
  return document;
}
