//===- Importer.cpp - From a checked rule to updraft.rule -------------------------------------===//
// Makes the operations of one rule, with its static flags and storage types settled: the interface
// first, then the requirements, then the update.

#include "Message.h"
#include "Request.h"

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <fmt/format.h>

using namespace updraft;
using llvm::StringRef;
using mlir::Location;

namespace {
std::string shown(const Value &value) {
  switch (value.kind) {
  case Kind::Number:
    return fmt::format("{}", value.number);
  case Kind::Bool:
    return value.boolean ? "true" : "false";
  default:
    return value.string.str();
  }
}

// A hyperparameter in a message, written like the runtime writes it: as a float, -1.0 and not -1.
std::string shownHyper(double number) {
  std::string text = fmt::format("{}", number);
  return StringRef(text).find_first_not_of("-0123456789") == StringRef::npos ? text + ".0" : text;
}

// The hyperparameters that an expression mentions, each once.
void collectHypers(const Expr &expr, const Rule &rule, llvm::SmallVectorImpl<StringRef> &names) {
  if (expr.kind == ExprKind::Name && !llvm::is_contained(names, expr.text))
    for (const Parameter &parameter : rule.parameters)
      if (!parameter.isStatic && parameter.name.text == expr.text)
        names.push_back(expr.text);
  for (const Expr *operand : expr.operands)
    collectHypers(*operand, rule, names);
}

class Importer {
public:
  Importer(mlir::MLIRContext &context, const ResolvedRequest &request,
           DiagnosticEngine &diagnostics)
      : builder(&context), request(request), rule(*request.rule), diagnostics(diagnostics),
        evaluator(builder,
                  request.computesInF64() ? mlir::Type(builder.getF64Type())
                                          : mlir::Type(builder.getF32Type()),
                  diagnostics),
        names{rule.file, {}} {}

  std::optional<ImportedRule> run() {
    size_t before = diagnostics.diagnostics().size();
    Location loc = evaluator.location(rule.name);
    ImportedRule imported{mlir::ModuleOp::create(builder, loc), {}};
    builder.setInsertionPointToEnd(imported.module->getBody());
    auto op = RuleOp::create(builder, loc, rule.name.text, computeType());
    builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());

    importParameters();
    // A value that is wrong in itself is refused with the rule's own message.
    for (const Requirement &requirement : rule.requirements)
      importRequirement(requirement);
    importFlagRequirements();
    importInputs();
    importStates();
    importUpdate();
    if (diagnostics.diagnostics().size() != before)
      return std::nullopt;
    for (const ResolvedParameter &parameter : request.parameters)
      if (parameter.declaration->isStatic)
        imported.statics.emplace_back(parameter.declaration->name.text, shown(parameter.value));
    return imported;
  }

private:
  mlir::Type storageType(upd_dtype dtype) {
    switch (dtype) {
    case UPD_F64:
      return builder.getF64Type();
    case UPD_BF16:
      return builder.getBF16Type();
    case UPD_F16:
      return builder.getF16Type();
    case UPD_F32:
      break;
    }
    return builder.getF32Type();
  }
  mlir::Type computeType() { return storageType(request.computesInF64() ? UPD_F64 : UPD_F32); }

  void importParameters() {
    for (const ResolvedParameter &parameter : request.parameters) {
      const Identifier &name = parameter.declaration->name;
      if (parameter.declaration->isStatic) {
        names.add(name.text, parameter.value);
        continue;
      }
      auto op = HyperOp::create(builder, evaluator.location(name), builder.getF64Type(),
                                builder.getStringAttr(name.text),
                                builder.getF64FloatAttr(parameter.value.number));
      names.add(name.text, Value::ofIr(Kind::Number, Extent::group, op));
    }
  }

  // A flag that was derived from hyperparameters stays right only while they give the same value.
  void importFlagRequirements() {
    for (const ResolvedParameter &flag : request.parameters) {
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
      collectHypers(*flag.declaration->initial, rule, hypers);
      std::string values;
      for (StringRef hyper : hypers)
        values +=
            fmt::format("{}{} = {{{}}}", values.empty() ? "" : ", ", hyper.str(), hyper.str());
      std::string message =
          fmt::format("{} {} the static flag `{}`; compile the rule with {}", values,
                      hypers.size() == 1 ? "changes" : "change", flag.declaration->name.text.str(),
                      hypers.size() == 1 ? "this value" : "these values");
      RequireOp::create(builder, loc, holds.ir, message);
    }
  }

  // The message, with every `{name}` of a constant replaced by its value; for a run-time message,
  // hyperparameters stay names and braces stay doubled.
  std::string messageText(const Expr &message, bool atRunTime) {
    std::string text;
    std::optional<std::vector<MessagePiece>> pieces = splitMessage(message);
    if (!pieces)
      return text;
    for (const MessagePiece &piece : *pieces) {
      const Value *atRun = names.find(piece.text);
      const Value *constant = request.constants.find(piece.text);
      bool isHyper = piece.isName && atRun && atRun->ir;
      if (isHyper && atRunTime) {
        text += "{" + piece.text + "}";
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
    Value now = evaluator.evaluate(*requirement.condition, request.constants);
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

  void importInputs() {
    Location loc = evaluator.location(rule.name.range);
    auto nameOf = [&](StringRef input) {
      for (const Identifier &name : rule.inputs)
        if (name.text == input)
          return evaluator.location(name);
      return loc;
    };
    param = ParamOp::create(builder, nameOf("param"), computeType(),
                            mlir::TypeAttr::get(storageType(request.param)));
    mlir::Value grad = GradOp::create(builder, nameOf("grad"), computeType(),
                                      mlir::TypeAttr::get(storageType(request.grad)));
    for (const Identifier &input : rule.inputs) {
      Location inputLoc = evaluator.location(input);
      if (input.text == "param") {
        inputs.add("param", Value::ofIr(Kind::Number, Extent::element, param));
      } else if (input.text == "grad") {
        inputs.add("grad", Value::ofIr(Kind::Number, Extent::element, grad));
      } else if (input.text == "step") {
        Value step = Value::ofIr(Kind::Number, Extent::tensor,
                                 StepOp::create(builder, inputLoc, builder.getF64Type()));
        step.isInteger = true;
        step.bound = 0x1p53;
        inputs.add("step", step);
      } else if (input.text == "first") {
        inputs.add("first", Value::ofIr(Kind::Bool, Extent::tensor,
                                        FirstOp::create(builder, inputLoc, builder.getI1Type())));
      }
    }
  }

  void importStates() {
    for (const ResolvedState &state : request.states) {
      const Identifier &name = state.declaration->name;
      if (!state.exists) {
        Value absent;
        absent.absent = state.declaration;
        inputs.add(name.text, absent);
        continue;
      }
      Value initial = evaluator.evaluate(*state.declaration->initial, names);
      if (initial.isError())
        continue;
      Location loc = evaluator.location(name);
      mlir::Value value = StateOp::create(
          builder, loc, computeType(), name.text, Extent::element, storageType(state.storage),
          evaluator.emit.scalar(initial, evaluator.location(state.declaration->initial->range)));
      inputs.add(name.text, Value::ofIr(Kind::Number, Extent::element, value));
      nexts.emplace_back(name.text, value);
    }
    names.values.append(inputs.values.begin(), inputs.values.end());
  }

  void importUpdate() {
    mlir::Value nextParam = param;
    for (const Statement &statement : rule.statements) {
      if (statement.isNext && !isActive(statement))
        continue;
      Value value = evaluator.evaluate(*statement.value, names);
      if (!statement.isNext) {
        if (!value.isError())
          evaluator.nameResult(statement.name, value);
        names.add(statement.name.text, value);
        continue;
      }
      if (value.isError())
        continue;
      mlir::Value element =
          evaluator.emit.element(value, evaluator.location(statement.value->range));
      if (statement.name.text == "param")
        nextParam = element;
      for (auto &[name, next] : nexts)
        if (name == statement.name.text)
          next = element;
    }
    llvm::SmallVector<mlir::Value> states;
    for (const auto &[name, next] : nexts)
      states.push_back(next);
    NextOp::create(builder, evaluator.location(rule.name.range), nextParam, states,
                   /*skip=*/mlir::Value());
  }

  // Whether a `next` takes effect: its `when` holds and its state exists.
  bool isActive(const Statement &statement) {
    for (const ResolvedState &state : request.states)
      if (!state.exists && state.declaration->name.text == statement.name.text)
        return false;
    return !statement.when || evaluator.evaluate(*statement.when, request.constants).boolean;
  }

  mlir::OpBuilder builder;
  const ResolvedRequest &request;
  const Rule &rule;
  DiagnosticEngine &diagnostics;
  Evaluator evaluator;
  /// Hyperparameters and flags; then also inputs, states and what `let` names.
  Names names;
  Names inputs{nullptr, {}};
  mlir::Value param;
  llvm::SmallVector<std::pair<StringRef, mlir::Value>> nexts;
};
} // namespace

std::optional<ImportedRule> updraft::importRule(mlir::MLIRContext &context, const Program &program,
                                                const RuleRequest &request,
                                                DiagnosticEngine &diagnostics) {
  context.loadDialect<UpdraftDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::OpBuilder unused(&context);
  Evaluator constants(unused, unused.getF64Type(), diagnostics);
  std::optional<ResolvedRequest> resolved =
      resolveRequest(program, request, constants, diagnostics);
  if (!resolved)
    return std::nullopt;
  return Importer(context, *resolved, diagnostics).run();
}
