//===- Request.cpp - What a request settles about a rule --------------------------------------===//

#include "Request.h"

#include "Checker.h"

#include "updraft/Frontend/Parser.h"

#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

bool ResolvedRequest::computesInF64() const {
  return param == UPD_F64 || grad == UPD_F64 ||
         llvm::any_of(states, [](const ResolvedState &state) {
           return state.exists && state.storage == UPD_F64;
         });
}

namespace {
/// Rules that a message names.
constexpr size_t maxListedRules = 16;

class Resolver {
public:
  Resolver(const Program &program, const RuleRequest &request, Evaluator &evaluator,
           DiagnosticEngine &diagnostics)
      : program(program), request(request), evaluator(evaluator), diagnostics(diagnostics) {}

  std::optional<ResolvedRequest> run() {
    size_t before = diagnostics.diagnostics().size();
    if (!findRule())
      return std::nullopt;
    result.constants.file = result.rule->file;
    checkSettingNames();
    for (const Parameter &parameter : result.rule->parameters)
      resolveParameter(parameter);
    if (diagnostics.diagnostics().size() == before)
      resolveStorage();
    if (diagnostics.diagnostics().size() != before)
      return std::nullopt;
    return std::move(result);
  }

private:
  bool findRule() {
    const ParsedFile &file = program.main();
    StringRef path = file.source->path();
    if (file.rules.empty()) {
      diagnostics.report(DiagnosticKind::NoRule, SourceRange(), path);
      return false;
    }
    std::vector<StringRef> names = program.ruleNames();
    std::vector<std::string> quoted;
    for (StringRef name : llvm::ArrayRef(names).take_front(maxListedRules))
      quoted.push_back(("`" + name + "`").str());
    std::string list = llvm::join(quoted, ", ") + (names.size() > maxListedRules ? ", …" : "");
    if (request.rule.empty() && names.size() > 1) {
      diagnostics.report(DiagnosticKind::AmbiguousRule, SourceRange(), path, list);
      return false;
    }
    for (const Rule &rule : file.rules)
      if (request.rule.empty() || rule.name.text == request.rule)
        result.rule = &rule;
    if (!result.rule) {
      std::string near = didYouMean(request.rule, names);
      std::string others = (names.size() == 1 ? "; there is " : "; there are ") + list;
      diagnostics.report(DiagnosticKind::UnknownRule, SourceRange(), path, request.rule,
                         names.size() == 1 && !near.empty() ? near : others + near);
    }
    return result.rule != nullptr;
  }

  void checkSettingNames() {
    llvm::SmallVector<StringRef> names;
    for (const Parameter &parameter : result.rule->parameters)
      names.push_back(parameter.name.text);
    for (const auto &[name, value] : request.settings)
      if (!llvm::is_contained(names, name))
        diagnostics.report(DiagnosticKind::UnknownSetting, SourceRange(), result.rule->name.text,
                           name, didYouMean(name, names));
  }

  void resolveParameter(const Parameter &parameter) {
    StringRef name = parameter.name.text;
    Value value = evaluator.evaluate(*parameter.initial, result.constants);
    if (value.isError())
      return;
    const std::string *setting = nullptr;
    for (const auto &[other, text] : request.settings)
      if (other == name)
        setting = &text;
    SourceRange range = parameter.initial->range;
    if (setting) {
      value = evaluateSetting(name, *setting, value.kind, range);
      if (value.isError())
        return;
    }
    if (value.kind == Kind::Number && std::isnan(value.number))
      diagnostics.report(DiagnosticKind::DefaultNaN, range, name);
    result.constants.add(name, value);
    result.parameters.push_back({&parameter, value, setting != nullptr});
  }

  Value evaluateSetting(StringRef name, StringRef text, Kind kind, SourceRange &range) {
    auto file = std::make_unique<ParsedFile>();
    // A shell takes the quotes of a string away, so they may be missing.
    bool isBare = kind == Kind::String && !text.starts_with("\"");
    file->source = SourceFile::create(("<setting " + name + ">").str(), text.str());
    range = {file->source.get(), 0, static_cast<uint32_t>(text.size())};
    const ParsedFile &parsed = *result.settingFiles.emplace_back(std::move(file));
    if (isBare)
      return Value::ofString(parsed.source->text());
    if (text.equals_insensitive("nan")) {
      diagnostics.report(DiagnosticKind::DefaultNaN, range, name);
      return Value();
    }
    if (text.size() > maxFileSize) {
      diagnostics.report(DiagnosticKind::FileTooLarge, SourceRange{range.file, 0, 0}, maxFileSize);
      return Value();
    }
    const Expr *expr = parseExpression(*result.settingFiles.back(), diagnostics);
    size_t before = diagnostics.diagnostics().size();
    if (!expr)
      return Value();
    Checker(diagnostics).checkConstant(*expr, parsed);
    if (diagnostics.diagnostics().size() != before)
      return Value();
    Names none{&parsed, {}};
    Value value = evaluator.evaluate(*expr, none);
    if (value.isError() || value.kind == kind)
      return value;
    diagnostics.report(DiagnosticKind::SettingType, range, name, describe(Type{kind}),
                       describe(value.type()), boolHint(kind, value));
    return Value();
  }

  // Other tools take 0 and 1 for a flag.
  static StringRef boolHint(Kind kind, const Value &value) {
    bool isSwitch = value.kind == Kind::Number && (value.number == 0 || value.number == 1);
    if (kind != Kind::Bool || !isSwitch)
      return "";
    return value.number == 1 ? "; write `true`" : "; write `false`";
  }

  std::optional<upd_dtype> requestedStorage(StringRef name) const {
    std::optional<upd_dtype> storage;
    for (const auto &[other, type] : request.storage)
      if (other == name)
        storage = type;
    return storage;
  }

  void resolveStorage() {
    llvm::SmallVector<StringRef> names{"param", "grad", "state"};
    for (const State &state : result.rule->states)
      names.push_back(state.name.text);
    for (const auto &[name, type] : request.storage)
      if (!llvm::is_contained(names, name))
        diagnostics.report(DiagnosticKind::UnknownStorage, SourceRange(), result.rule->name.text,
                           name, didYouMean(name, names));
    result.param = requestedStorage("param").value_or(UPD_F32);
    result.grad = requestedStorage("grad").value_or(UPD_F32);
    for (const State &state : result.rule->states) {
      upd_dtype storage = state.storage.value_or(result.param);
      storage = requestedStorage("state").value_or(storage);
      storage = requestedStorage(state.name.text).value_or(storage);
      bool exists = true;
      if (state.when) {
        Value when = evaluator.evaluate(*state.when, result.constants);
        exists = when.boolean;
      }
      result.states.push_back({&state, exists, storage});
    }
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
