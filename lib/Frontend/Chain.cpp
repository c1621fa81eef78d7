//===- Chain.cpp - The stages of a chain ------------------------------------------------------===//

#include "Chain.h"
#include "StandardLibrary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace updraft;
using llvm::StringRef;

const Expr *updraft::findName(const Expr &expr) {
  if (expr.kind == ExprKind::Name)
    return &expr;
  for (const Expr *operand : expr.operands)
    if (const Expr *name = findName(*operand))
      return name;
  return nullptr;
}

namespace {
class Flattener {
public:
  explicit Flattener(DiagnosticEngine &diagnostics) : diagnostics(diagnostics) {}

  std::vector<ChainStage> run(const Rule &rule) {
    size_t before = diagnostics.diagnostics().size();
    if (rule.chain.empty())
      stages.push_back({&rule, {}, "", "", {}, {}});
    else
      addChain(rule);
    if (diagnostics.diagnostics().size() == before && !rule.chain.empty()) {
      checkOrder(rule);
      checkStates(rule);
    }
    if (diagnostics.diagnostics().size() != before)
      return {};
    nameStages();
    return std::move(stages);
  }

private:
  void addChain(const Rule &chain) {
    open.push_back(&chain);
    for (const StageCall &stage : chain.chain) {
      // Without a limit, chains of chains could have exponentially many stages.
      if (calledStages == maxStages) {
        if (!isTooLong)
          diagnostics.report(DiagnosticKind::ChainTooLong, open.front()->name.range,
                             open.front()->name.text, maxStages);
        isTooLong = true;
        break;
      }
      ++calledStages;
      addStage(chain, stage);
    }
    open.pop_back();
  }

  void addStage(const Rule &chain, const StageCall &stage) {
    StringRef name = stage.name.text;
    const Rule *rule = chain.file->stages.lookup(name);
    if (!rule) {
      llvm::SmallVector<StringRef> names;
      for (const auto &entry : chain.file->stages)
        names.push_back(entry.getKey());
      llvm::sort(names);
      diagnostics.report(DiagnosticKind::UnknownStage, stage.name.range, name,
                         didYouMean(name, names));
      return;
    }
    if (const Rule *other = chain.file->repeatedStages.lookup(name)) {
      if (other == standardTransforms().lookup(name)) {
        diagnostics.report(DiagnosticKind::StageOfLibrary, stage.name.range, name)
            .note(DiagnosticKind::DeclaredHere, rule->name.range, name);
        return;
      }
      diagnostics.report(DiagnosticKind::RepeatedStage, stage.name.range, name)
          .note(DiagnosticKind::DeclaredHere, rule->name.range, name)
          .note(DiagnosticKind::DeclaredHere, other->name.range, name);
      return;
    }
    if (rule->chain.empty()) {
      ranges.push_back(stage.name.range);
      std::vector<SourceRange> all = calls;
      all.push_back(stage.name.range);
      stages.push_back(
          {rule, bindArguments(*chain.file, *rule, stage), "", "", {}, std::move(all)});
      return;
    }
    if (llvm::is_contained(open, rule)) {
      diagnostics.report(DiagnosticKind::ChainCycle, stage.name.range, name);
      return;
    }
    if (!stage.arguments.empty())
      diagnostics.report(DiagnosticKind::ChainArguments, stage.name.range, name);
    calls.push_back(stage.name.range);
    addChain(*rule);
    calls.pop_back();
  }

  std::vector<ChainStage::Argument> bindArguments(const ParsedFile &file, const Rule &rule,
                                                  const StageCall &stage) {
    std::vector<ChainStage::Argument> bound;
    bool named = false;
    if (stage.arguments.size() > rule.parameters.size()) {
      std::string most = "at most " + std::to_string(rule.parameters.size()) +
                         (rule.parameters.size() == 1 ? " argument" : " arguments");
      diagnostics.report(DiagnosticKind::WrongArgumentCount, stage.name.range, stage.name.text,
                         most, stage.arguments.size());
      return bound;
    }
    for (const StageCall::Argument &argument : stage.arguments) {
      const Parameter *parameter = nullptr;
      SourceRange range = argument.name ? argument.name->range : argument.value->range;
      if (argument.name) {
        named = true;
        parameter = findParameter(rule, stage, *argument.name);
      } else if (named) {
        diagnostics.report(DiagnosticKind::ArgumentAfterNamed, range);
      } else {
        parameter = &rule.parameters[bound.size()];
      }
      if (const Expr *used = findName(*argument.value))
        diagnostics.report(DiagnosticKind::ArgumentNotConstant, used->range, used->text);
      if (!parameter)
        continue;
      if (llvm::any_of(bound, [&](const auto &other) { return other.parameter == parameter; }))
        diagnostics.report(DiagnosticKind::DuplicateArgument, range, parameter->name.text);
      bound.push_back({parameter, argument.value, &file});
    }
    return bound;
  }

  const Parameter *findParameter(const Rule &rule, const StageCall &stage, const Identifier &name) {
    llvm::SmallVector<StringRef> names;
    for (const Parameter &parameter : rule.parameters) {
      if (parameter.name.text == name.text)
        return &parameter;
      names.push_back(parameter.name.text);
    }
    diagnostics
        .report(DiagnosticKind::UnknownArgument, name.range, stage.name.text, name.text,
                didYouMean(name.text, names))
        .note(DiagnosticKind::DeclaredHere, rule.name.range, rule.name.text);
    return nullptr;
  }

  void checkStates(const Rule &chain) {
    size_t states = 0;
    for (const ChainStage &stage : stages)
      states += stage.rule->states.size();
    if (states > maxStates)
      diagnostics.report(DiagnosticKind::TooManyStates, chain.name.range, chain.name.text, states,
                         maxStates);
  }

  void checkOrder(const Rule &chain) {
    auto isRule = [](const ChainStage &stage) { return !stage.rule->isTransform; };
    size_t rules = llvm::count_if(stages, isRule);
    if (rules != 1) {
      diagnostics.report(DiagnosticKind::ChainRules, chain.name.range, rules);
      return;
    }
    bool isBehind = false;
    for (auto [stage, range] : llvm::zip(stages, ranges)) {
      isBehind |= isRule(stage);
      if (!isRule(stage) && stage.rule->isAfter() != isBehind)
        diagnostics.report(DiagnosticKind::ChainOrder, range, stage.rule->name.text,
                           isBehind ? "after" : "before", isBehind ? "before" : "after");
    }
  }

  void nameStages() {
    llvm::StringMap<unsigned> labels, declarations;
    llvm::StringSet<> takenLabels;
    for (ChainStage &stage : stages) {
      stage.label = stage.rule->name.text.str();
      if (unsigned count = ++labels[stage.rule->name.text]; count > 1)
        stage.label.append(std::to_string(count));
      while (!takenLabels.insert(stage.label).second)
        stage.label += "_";
      for (StringRef name : localNames(*stage.rule))
        ++declarations[name];
      if (stage.rule->isTransform)
        continue;
      taken.insert_range(localNames(*stage.rule));
      for (const State &state : stage.rule->states)
        takenStates.insert(state.name.text);
    }
    for (ChainStage &stage : stages)
      if (stage.rule->holds())
        stage.countName = freeName(stage.label + "_step", /*isState=*/true);
    for (ChainStage &stage : stages)
      for (auto [index, name] : llvm::enumerate(localNames(*stage.rule))) {
        std::string known = name.str();
        if (stage.rule->isTransform) {
          if (declarations[name] > 1)
            known.insert(0, stage.label + "_");
          known = freeName(std::move(known), index >= stage.rule->parameters.size());
        }
        stage.names[name] = known;
      }
  }

  // Appends `_` to a name until no other has it, and takes it. Probes know the value of a state `m`
  // after the step as `new_m`.
  std::string freeName(std::string name, bool isState) {
    auto isTaken = [&] {
      StringRef state = name;
      return taken.contains(name) || (isState && taken.contains("new_" + name)) ||
             (state.consume_front("new_") && takenStates.contains(state));
    };
    while (isTaken())
      name += "_";
    taken.insert(name);
    if (isState)
      takenStates.insert(name);
    return name;
  }

  static llvm::SmallVector<StringRef> localNames(const Rule &rule) {
    llvm::SmallVector<StringRef> names;
    for (const Parameter &parameter : rule.parameters)
      names.push_back(parameter.name.text);
    for (const State &state : rule.states)
      names.push_back(state.name.text);
    return names;
  }

  DiagnosticEngine &diagnostics;
  std::vector<ChainStage> stages;
  std::vector<SourceRange> ranges; ///< of the stages' names in their chains
  std::vector<const Rule *> open;
  size_t calledStages = 0; ///< rules, transforms and chains
  bool isTooLong = false;
  std::vector<SourceRange> calls;       ///< of the open chains but the outermost
  llvm::StringSet<> taken, takenStates; ///< public names of the chain, and those of states
};
} // namespace

std::vector<ChainStage> updraft::flattenChain(const Rule &rule, DiagnosticEngine &diagnostics) {
  return Flattener(diagnostics).run(rule);
}
