//===- Request.cpp - Resolves a request for a rule --------------------------------------------===//

#include "Request.h"

#include "Chain.h"
#include "Checker.h"
#include "RequestedProbes.h"
#include "Usage.h"

#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/Token.h"

#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

llvm::ArrayRef<StringRef> updraft::numericsModes() {
  static constexpr StringRef modes[] = {"ieee", "torch", fastNumerics};
  return modes;
}

bool ResolvedRequest::computesInF64() const {
  return param == StorageType::F64 || grad == StorageType::F64 ||
         llvm::any_of(stages, [](const ResolvedStage &stage) {
           return llvm::any_of(stage.states, [](const ResolvedState &state) {
             return (state.forVectors || state.forMatrices) && state.storage == StorageType::F64 &&
                    isTensorExtent(extentOf(*state.declaration));
           });
         });
}

namespace {
/// The most names that a message lists.
constexpr size_t maxListedNames = 16;

class Resolver {
public:
  Resolver(const Program &program, const RuleRequest &request, Evaluator &evaluator,
           DiagnosticEngine &diagnostics)
      : program(program), request(request), evaluator(evaluator), diagnostics(diagnostics) {}

  std::optional<ResolvedRequest> run() {
    size_t before = diagnostics.diagnostics().size();
    result.rule = findRule();
    if (!result.rule)
      return std::nullopt;
    std::vector<ChainStage> chain = flattenChain(*result.rule, diagnostics);
    checkSettingNames(chain);
    for (const ChainStage &stage : chain)
      resolveStage(stage);
    if (diagnostics.diagnostics().size() == before)
      resolveStorage(chain);
    if (diagnostics.diagnostics().size() == before)
      resolveProbes();
    if (diagnostics.diagnostics().size() != before)
      return std::nullopt;
    return std::move(result);
  }

private:
  const Rule *findRule() {
    // A name with operators or parentheses is a chain.
    if (StringRef(request.rule).find_first_of("|>(<=,") != StringRef::npos)
      return parseRequestedChain();
    const ParsedFile &file = program.main();
    StringRef path = file.source->path();
    if (const Rule *stage = file.stages.lookup(request.rule); stage && stage->isTransform) {
      diagnostics.report(stage->isAfter() ? DiagnosticKind::TransformAfterAlone
                                          : DiagnosticKind::TransformAlone,
                         SourceRange(), request.rule);
      return nullptr;
    }
    if (file.rules.empty()) {
      diagnostics.report(DiagnosticKind::NoRule, SourceRange(), path);
      return nullptr;
    }
    std::vector<StringRef> names = program.ruleNames();
    std::vector<std::string> quoted;
    for (StringRef name : llvm::ArrayRef(names).take_front(maxListedNames))
      quoted.push_back(("`" + name + "`").str());
    std::string list = llvm::join(quoted, ", ") + (names.size() > maxListedNames ? ", …" : "");
    if (request.rule.empty() && names.size() > 1) {
      diagnostics.report(DiagnosticKind::AmbiguousRule, SourceRange(), path, list);
      return nullptr;
    }
    for (const Rule &rule : file.rules)
      if (request.rule.empty() || rule.name.text == request.rule)
        return &rule;
    std::string near = didYouMean(request.rule, names);
    std::string others = (names.size() == 1 ? "; there is " : "; there are ") + list;
    diagnostics.report(DiagnosticKind::UnknownRule, SourceRange(), path, request.rule,
                       names.size() == 1 && !near.empty() ? near : others + near);
    return nullptr;
  }

  ParsedFile &addFile(const llvm::Twine &path, StringRef text) {
    auto file = std::make_unique<ParsedFile>();
    file->source = SourceFile::create(path.str(), text.str());
    return *result.requestFiles.emplace_back(std::move(file));
  }

  // A chain such as `clip_by_value(1) |> AdamW` replaces a rule's name: it becomes a rule that is
  // named after its stages.
  const Rule *parseRequestedChain() {
    ParsedFile &file = addFile("<rule>", request.rule);
    if (request.rule.size() > maxFileSize) {
      diagnostics.report(DiagnosticKind::FileTooLarge, SourceRange{file.source.get(), 0, 0},
                         maxFileSize);
      return nullptr;
    }
    file.visible = program.main().visible;
    file.stages = program.main().stages;
    file.repeatedStages = program.main().repeatedStages;
    Rule rule;
    rule.file = &file;
    rule.chain = parseChain(file, diagnostics);
    if (rule.chain.empty())
      return nullptr;
    std::string name;
    for (const StageCall &stage : rule.chain)
      name += (name.empty() ? "" : "_") + stage.name.text.str();
    rule.name = {llvm::StringSaver(file.arena).save(name),
                 rule.chain.front().name.range.to(rule.chain.back().name.range)};
    size_t before = diagnostics.diagnostics().size();
    file.rules.push_back(std::move(rule));
    Checker(diagnostics).check(file);
    return diagnostics.diagnostics().size() == before ? &file.rules.back() : nullptr;
  }

  static std::string nearestOrAll(StringRef name, llvm::ArrayRef<StringRef> names) {
    std::string near = didYouMean(name, names);
    if (!near.empty() || names.empty() || names.size() > maxListedNames)
      return near;
    return (names.size() == 1 ? "; there is `" : "; there are `") + llvm::join(names, "`, `") + "`";
  }

  void checkSettingNames(llvm::ArrayRef<ChainStage> chain) {
    llvm::SmallVector<StringRef> names;
    for (const ChainStage &stage : chain) {
      for (const Parameter &parameter : stage.rule->parameters)
        names.push_back(stage.names.find(parameter.name.text)->second);
    }
    for (const auto &[name, value] : request.settings)
      if (!chain.empty() && !llvm::is_contained(names, name))
        diagnostics.report(DiagnosticKind::UnknownSetting, SourceRange(), result.rule->name.text,
                           name, nearestOrAll(name, names));
  }

  void resolveStage(const ChainStage &stage) {
    ResolvedStage &resolved = result.stages.emplace_back();
    resolved.rule = stage.rule;
    resolved.label = stage.label;
    resolved.countName = stage.countName;
    resolved.calls = stage.calls;
    resolved.constants.file = stage.rule->file;
    resolved.constants.add(numericsName, Value::ofString(request.numerics));
    result.hasMatrixRule |= mentionsMatrix(*stage.rule);
    for (const Parameter &parameter : stage.rule->parameters)
      resolveParameter(resolved, stage, parameter);
  }

  void resolveParameter(ResolvedStage &resolved, const ChainStage &stage,
                        const Parameter &parameter) {
    const std::string &name = stage.names.find(parameter.name.text)->second;
    Value value = evaluator.evaluate(*parameter.initial, resolved.constants);
    if (value.isError())
      return;
    SourceRange range = parameter.initial->range;
    bool isExplicit = false;
    for (const ChainStage::Argument &argument : stage.arguments) {
      if (argument.parameter != &parameter)
        continue;
      Type wanted = value.type();
      range = argument.value->range;
      isExplicit = true;
      Names none{argument.file, {}};
      value = withType(evaluator.evaluate(*argument.value, none), wanted, name, range);
      if (value.isError())
        return;
    }
    const std::string *setting = nullptr;
    for (const auto &[other, text] : request.settings)
      if (other == name)
        setting = &text;
    if (setting) {
      value = evaluateSetting(name, *setting, value.type(), range);
      if (value.isError())
        return;
    }
    if (value.kind == Kind::Number && std::isnan(value.number))
      diagnostics.report(DiagnosticKind::DefaultNaN, range, name);
    resolved.constants.add(parameter.name.text, value);
    resolved.parameters.push_back({&parameter, name, value, isExplicit || setting});
  }

  Value evaluateSetting(StringRef name, StringRef text, Type wanted, SourceRange &range) {
    Kind kind = wanted.kind;
    // A shell removes the quotes of a string, so they are optional.
    bool isBare = kind == Kind::String && !text.starts_with("\"");
    ParsedFile &file = addFile("<setting " + name + ">", text);
    range = {file.source.get(), 0, static_cast<uint32_t>(text.size())};
    if (isBare) {
      size_t before = diagnostics.diagnostics().size();
      checkText(*file.source, diagnostics);
      return diagnostics.diagnostics().size() == before ? Value::ofString(file.source->text())
                                                        : Value();
    }
    if (text.equals_insensitive("nan")) {
      diagnostics.report(DiagnosticKind::DefaultNaN, range, name);
      return Value();
    }
    if (text.size() > maxFileSize) {
      diagnostics.report(DiagnosticKind::FileTooLarge, SourceRange{range.file, 0, 0}, maxFileSize);
      return Value();
    }
    const Expr *expr = parseExpression(file, diagnostics);
    size_t before = diagnostics.diagnostics().size();
    if (!expr)
      return Value();
    if (expr->kind == ExprKind::Name && text.lower() != "true" && text.lower() != "false") {
      diagnostics.report(DiagnosticKind::SettingType, range, name, describe(wanted),
                         "`" + shown(text) + "`",
                         kind == Kind::Bool ? "; write `true` or `false`" : "");
      return Value();
    }
    Checker(diagnostics).checkConstant(*expr, file);
    if (diagnostics.diagnostics().size() != before)
      return Value();
    Names none{&file, {}};
    return withType(evaluator.evaluate(*expr, none), wanted, name, range);
  }

  // Returns the value if it has the right kind, and a list elements of as many parts; else reports
  // an error and returns an error value.
  Value withType(const Value &value, Type wanted, StringRef name, SourceRange range) {
    if (value.isError() || (value.kind == wanted.kind && value.type().width == wanted.width))
      return value;
    diagnostics.report(DiagnosticKind::SettingType, range, name, describe(wanted),
                       describe(value.type()), boolHint(wanted.kind, value));
    return Value();
  }

  // Other tools accept 0 and 1 for a flag.
  static StringRef boolHint(Kind kind, const Value &value) {
    bool isSwitch = value.kind == Kind::Number && (value.number == 0 || value.number == 1);
    if (kind != Kind::Bool || !isSwitch)
      return "";
    return value.number == 1 ? "; write `true`" : "; write `false`";
  }

  void resolveProbes() {
    for (const std::string &text : request.probes) {
      ParsedFile &file = addFile("<probe>", text);
      if (text.size() > maxFileSize) {
        diagnostics.report(DiagnosticKind::FileTooLarge, SourceRange{file.source.get(), 0, 0},
                           maxFileSize);
        continue;
      }
      file.visible = program.main().visible;
      std::optional<RequestedProbe> probe = readProbe(file, result.stages, diagnostics);
      if (!probe)
        continue;
      probe->file = &file;
      // Probes don't change a step, so they don't split a rule into two forms.
      if (!result.hasMatrixRule && mentionsMatrix(*probe->value)) {
        diagnostics.report(DiagnosticKind::ProbeOfMatrix, probe->name.range, probe->name.text,
                           result.rule->name.text);
        continue;
      }
      result.probes.push_back(*probe);
    }
  }

  std::optional<StorageType> requestedStorage(StringRef name) const {
    std::optional<StorageType> storage;
    for (const auto &[other, type] : request.storage)
      if (other == name)
        storage = type;
    return storage;
  }

  void resolveStorage(llvm::ArrayRef<ChainStage> chain) {
    llvm::SmallVector<StringRef> names{"param", "grad", "state"};
    for (const ChainStage &stage : chain)
      for (const State &state : stage.rule->states)
        names.push_back(stage.names.find(state.name.text)->second);
    for (const auto &[name, type] : request.storage)
      if (!llvm::is_contained(names, name))
        diagnostics.report(DiagnosticKind::UnknownStorage, SourceRange(), result.rule->name.text,
                           name, didYouMean(name, names));
    result.param = requestedStorage("param").value_or(StorageType::F32);
    result.grad = requestedStorage("grad").value_or(StorageType::F32);
    checkTensorStorage("param", result.param);
    checkTensorStorage("grad", result.grad);
    for (auto [stage, resolved] : llvm::zip(chain, result.stages))
      for (const State &state : stage.rule->states)
        resolved.states.push_back(
            resolveState(resolved, state, stage.names.find(state.name.text)->second));
    checkCorrectionNames();
  }

  // A correction is also a state.
  void checkCorrectionNames() {
    auto check = [&](StringRef corrected, StorageType storage) {
      if (storage != StorageType::BF16Corrected)
        return;
      for (const ResolvedStage &stage : result.stages)
        for (const ResolvedState &state : stage.states)
          if (state.name == (corrected + "_correction").str())
            diagnostics.report(DiagnosticKind::CorrectionName, state.declaration->name.range,
                               state.name, corrected);
    };
    check("param", result.param);
    for (const ResolvedStage &stage : result.stages)
      for (const ResolvedState &state : stage.states)
        check(state.name, state.storage);
  }

  /// Whether the type also specifies rounding.
  static bool isRounded(StorageType storage) {
    return storage == StorageType::BF16Stochastic || storage == StorageType::BF16Corrected;
  }

  /// Checks the storage type of the parameter or the gradient.
  void checkTensorStorage(StringRef name, StorageType storage) {
    if (isRounded(storage) && name != "param")
      diagnostics.report(DiagnosticKind::StorageOfElements, SourceRange(), name,
                         storageTypeName(storage));
    if (isBlocked(storage))
      diagnostics.report(DiagnosticKind::StorageOfBlocks, SourceRange(), name,
                         storageTypeName(storage));
  }

  static bool isBlocked(StorageType storage) {
    return storage == StorageType::Q8Linear || storage == StorageType::Q8Companded;
  }

  ResolvedState resolveState(const ResolvedStage &stage, const State &state,
                             const std::string &name) {
    bool isTensor = isTensorExtent(extentOf(state));
    const bool isOfElements = extentOf(state) == Extent::element;
    // States that don't have the parameter's shape use the plain type of a rounded type that was
    // requested for the parameter or for all states. Block types have no plain type, and apply only
    // to states of elements.
    auto common = [&](StorageType storage) {
      return !isOfElements && isRounded(storage) ? StorageType::BF16 : storage;
    };
    StorageType storage =
        state.storage.value_or(isTensor ? common(result.param) : StorageType::F64);
    if (auto all = requestedStorage("state"); isTensor && all && (isOfElements || !isBlocked(*all)))
      storage = common(*all);
    storage = requestedStorage(name).value_or(storage);
    if (isRounded(storage) && !isOfElements)
      diagnostics.report(DiagnosticKind::StorageOfElements, state.name.range, name,
                         storageTypeName(storage));
    if (isBlocked(storage) && !isOfElements)
      diagnostics.report(DiagnosticKind::StorageOfBlocks, state.name.range, name,
                         storageTypeName(storage));
    ResolvedState resolved{&state, name, storage, existsFor(stage, state, false),
                           existsFor(stage, state, true)};
    if (resolved.forVectors && needsMatrix(extentOf(state)))
      diagnostics.report(DiagnosticKind::StateOutsideMatrix, state.name.range, state.name.text,
                         isSquareExtent(extentOf(state)) ? "square matrices"
                                                         : state.over->text.str() + "s");
    return resolved;
  }

  bool existsFor(const ResolvedStage &stage, const State &state, bool isMatrix) {
    if (!state.when)
      return true;
    Names names = stage.constants;
    names.add("matrix", Value::ofBool(isMatrix));
    return evaluator.evaluate(*state.when, names).boolean;
  }

  const Program &program;
  const RuleRequest &request;
  Evaluator &evaluator;
  DiagnosticEngine &diagnostics;
  ResolvedRequest result;
};
} // namespace

std::optional<ResolvedRequest> updraft::resolveRequest(const Program &program,
                                                       const RuleRequest &request,
                                                       Evaluator &evaluator,
                                                       DiagnosticEngine &diagnostics) {
  return Resolver(program, request, evaluator, diagnostics).run();
}
