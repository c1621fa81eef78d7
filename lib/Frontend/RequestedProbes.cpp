//===- RequestedProbes.cpp - Probes that a request adds to a rule -----------------------------===//

#include "RequestedProbes.h"

#include "ChainParser.h"
#include "Checker.h"

using namespace updraft;
using llvm::StringRef;

namespace {

class ProbeParser : public ChainParser {
public:
  using ChainParser::ChainParser;

  /// Returns nothing after reporting an error. The value is null if there is only a name.
  std::optional<RequestedProbe> parseWholeProbe() {
    beWhole();
    RequestedProbe probe{};
    auto name = parseName("the name of a probe");
    if (!name)
      return std::nullopt;
    probe.name = *name;
    if (accept(TokenKind::Assign)) {
      probe.value = parseExpression();
      if (!probe.value)
        return std::nullopt;
    }
    if (!at(TokenKind::End)) {
      expected(probe.value ? "the end of the value" : "`=` or the end of the value");
      return std::nullopt;
    }
    return probe;
  }
};

/// Returns the call of a function with its parameters' names as arguments. It has the range of the
/// function's name.
const Expr *callByName(ParsedFile &file, const Function &function, const Identifier &name) {
  auto make = [&](ExprKind kind, StringRef text) {
    auto *expr = new (file.arena) Expr{};
    expr->kind = kind;
    expr->range = expr->focus = name.range;
    expr->text = text;
    return expr;
  };
  auto *arguments = file.arena.Allocate<const Expr *>(function.parameters.size());
  for (auto [index, parameter] : llvm::enumerate(function.parameters))
    arguments[index] = make(ExprKind::Name, parameter.text);
  Expr *call = make(ExprKind::Call, name.text);
  call->operands = {arguments, function.parameters.size()};
  call->depth = 2;
  return call;
}

} // namespace

std::optional<RequestedProbe> updraft::readProbe(ParsedFile &file,
                                                 llvm::ArrayRef<ResolvedStage> stages,
                                                 DiagnosticEngine &diagnostics) {
  size_t before = diagnostics.diagnostics().size();
  auto probe = ProbeParser(file, diagnostics).parseWholeProbe();
  if (!probe || diagnostics.diagnostics().size() != before)
    return std::nullopt;
  if (!probe->value) {
    const Function *function = file.visible.lookup(probe->name.text);
    if (!function) {
      llvm::SmallVector<StringRef> names;
      for (const auto &known : file.visible)
        names.push_back(known.getKey());
      llvm::sort(names);
      std::string hint = didYouMean(probe->name.text, names);
      if (hint.empty())
        hint = "; write `NAME = EXPRESSION`, or the name of a function of the rule's values";
      diagnostics.report(DiagnosticKind::UnknownProbe, probe->name.range, probe->name.text, hint);
      return std::nullopt;
    }
    probe->value = callByName(file, *function, probe->name);
  }
  std::vector<std::string> states;
  std::vector<std::pair<StringRef, Type>> known;
  for (const ResolvedStage &stage : stages)
    for (const ResolvedState &state : stage.states)
      states.push_back("new_" + state.name);
  known.push_back({"new_param", {Kind::Number, Extent::element}});
  auto newName = states.begin();
  for (const ResolvedStage &stage : stages)
    for (const ResolvedState &state : stage.states)
      known.push_back({*newName++, {Kind::Number, extentOf(*state.declaration)}});
  for (StringRef input : {"param", "grad"})
    known.push_back({input, {Kind::Number, Extent::element}});
  known.push_back({"step", {Kind::Number, Extent::tensor}});
  known.push_back({"first", {Kind::Bool, Extent::tensor}});
  known.push_back({"matrix", {Kind::Bool, Extent::model}});
  for (const ResolvedStage &stage : stages) {
    for (const ResolvedParameter &parameter : stage.parameters) {
      Type type = parameter.value.type();
      type.extent = parameter.declaration->isStatic ? Extent::model : Extent::group;
      known.push_back({parameter.name, type});
    }
    for (const ResolvedState &state : stage.states)
      known.push_back({state.name, {Kind::Number, extentOf(*state.declaration)}});
  }
  Checker(diagnostics).checkProbe(probe->name, *probe->value, file, known);
  if (diagnostics.diagnostics().size() != before)
    return std::nullopt;
  return probe;
}
