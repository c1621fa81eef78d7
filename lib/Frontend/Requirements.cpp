//===- Requirements.cpp - Imports the requirements of a rule ----------------------------------===//

#include "Requirements.h"

#include "Message.h"

#include "Updraft/IR/UpdraftOps.h"

#include <fmt/format.h>

using namespace updraft;
using llvm::StringRef;
using mlir::Location;

std::string updraft::shown(const Value &value) {
  switch (value.kind) {
  case Kind::Number:
    return fmt::format("{}", value.number);
  case Kind::Bool:
    return value.boolean ? "true" : "false";
  case Kind::List:
    return listText(*value.list);
  default:
    return value.string.str();
  }
}

namespace {
// Formats a hyperparameter in a message like the runtime: as a float, -1.0 instead of -1.
std::string shownHyper(double number) {
  std::string text = fmt::format("{}", number);
  return StringRef(text).find_first_not_of("-0123456789") == StringRef::npos ? text + ".0" : text;
}

class RequirementImporter {
public:
  RequirementImporter(mlir::OpBuilder &builder, Evaluator &evaluator, const ResolvedStage &stage,
                      const Names &names, DiagnosticEngine &diagnostics)
      : builder(builder), evaluator(evaluator), stage(stage), names(names),
        diagnostics(diagnostics) {}

  std::vector<DerivedFlag> run() {
    // Checks the rule's own requirements first, so that their messages have priority.
    for (const Requirement &requirement : stage.rule->requirements)
      importRequirement(requirement);
    return importFlagRequirements();
  }

private:
  // Returns the public name of a hyperparameter of this stage; "" for other names.
  StringRef hyperName(StringRef local) const {
    for (const ResolvedParameter &parameter : stage.parameters)
      if (!parameter.declaration->isStatic && parameter.declaration->name.text == local)
        return parameter.name;
    return "";
  }

  // Collects the hyperparameters that an expression mentions, each once.
  void collectHypers(const Expr &expr, llvm::SmallVectorImpl<StringRef> &hypers) const {
    StringRef name = expr.kind == ExprKind::Name ? hyperName(expr.text) : "";
    if (!name.empty() && !llvm::is_contained(hypers, name))
      hypers.push_back(name);
    for (const Expr *operand : expr.operands)
      collectHypers(*operand, hypers);
  }

  // A derived flag is valid only while the hyperparameters give it the same value.
  std::vector<DerivedFlag> importFlagRequirements() {
    std::vector<DerivedFlag> derived;
    for (const ResolvedParameter &flag : stage.parameters) {
      if (!flag.declaration->isStatic || flag.isExplicit)
        continue;
      Value value = evaluator.evaluate(*flag.declaration->initial, names);
      if (value.isError() || value.isConstant())
        continue;
      Location loc = evaluator.location(flag.declaration->name);
      Value holds = value;
      if (value.kind == Kind::Number)
        holds = evaluator.emit.binary(BinaryOperator::Equal, value, flag.value, loc);
      else if (!flag.value.boolean)
        holds = evaluator.emit.unary(UnaryOperator::Not, value, loc);
      llvm::SmallVector<StringRef> hypers;
      collectHypers(*flag.declaration->initial, hypers);
      std::string values;
      for (StringRef hyper : hypers)
        values +=
            fmt::format("{}{} = {{{}}}", values.empty() ? "" : ", ", hyper.str(), hyper.str());
      std::string message =
          fmt::format("{} {} the static flag `{}`; compile the rule with {}", values,
                      hypers.size() == 1 ? "changes" : "change", flag.name,
                      hypers.size() == 1 ? "this value" : "these values");
      RequireOp::create(builder, loc, holds.ir, message);
      derived.push_back({flag.name, {}, std::move(message)});
      for (StringRef hyper : hypers)
        derived.back().hypers.push_back(hyper.str());
    }
    return derived;
  }

  // Returns the message with every `{name}` of a constant replaced by its value. In a run-time
  // message, names of hyperparameters and doubled braces stay.
  std::string messageText(const Expr &message, bool atRunTime) {
    std::string text;
    std::optional<std::vector<MessagePiece>> pieces = splitMessage(message);
    if (!pieces)
      return text;
    for (const MessagePiece &piece : *pieces) {
      const Value *atRun = names.find(piece.text);
      const Value *constant = stage.constants.find(piece.text);
      bool isHyper = piece.isName && atRun && atRun->ir;
      if (isHyper && atRunTime) {
        text += ("{" + hyperName(piece.text) + "}").str();
      } else if (isHyper && constant) {
        text += shownHyper(constant->number);
      } else {
        std::string part = piece.isName && constant ? shown(*constant) : piece.text;
        text += atRunTime ? escapeBraces(part) : part;
      }
    }
    return text;
  }

  void importRequirement(const Requirement &requirement) {
    Value now = evaluator.evaluate(*requirement.condition, stage.constants);
    if (now.isError())
      return;
    if (!now.boolean) {
      diagnostics.report(DiagnosticKind::RequirementNotMet, requirement.condition->range,
                         messageText(*requirement.message, /*atRunTime=*/false));
      return;
    }
    Value condition = evaluator.evaluate(*requirement.condition, names);
    if (condition.isError() || condition.isConstant())
      return;
    RequireOp::create(builder, evaluator.location(requirement.condition->range), condition.ir,
                      messageText(*requirement.message, /*atRunTime=*/true));
  }

  mlir::OpBuilder &builder;
  Evaluator &evaluator;
  const ResolvedStage &stage;
  const Names &names;
  DiagnosticEngine &diagnostics;
};
} // namespace

std::vector<DerivedFlag> updraft::importRequirements(mlir::OpBuilder &builder, Evaluator &evaluator,
                                                     const ResolvedStage &stage, const Names &names,
                                                     DiagnosticEngine &diagnostics) {
  return RequirementImporter(builder, evaluator, stage, names, diagnostics).run();
}
