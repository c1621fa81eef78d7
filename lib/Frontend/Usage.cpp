//===- Usage.cpp - Searches a rule for uses of names ------------------------------------------===//

#include "Usage.h"

#include "RuleFunctions.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace updraft;

namespace {
using Predicate = llvm::function_ref<bool(const Expr &)>;

bool anyOf(const Expr &expr, Predicate predicate) {
  return predicate(expr) || llvm::any_of(expr.operands, [&](const Expr *operand) {
           return anyOf(*operand, predicate);
         });
}

bool anyOf(const std::optional<Update> &update, Predicate predicate) {
  return update && llvm::any_of(update->statements, [&](const Statement &statement) {
           return anyOf(*statement.value, predicate) ||
                  (statement.when && anyOf(*statement.when, predicate));
         });
}

bool anyOf(const Rule &rule, Predicate predicate) {
  return llvm::any_of(rule.states,
                      [&](const State &state) {
                        return anyOf(*state.initial, predicate) ||
                               (state.when && anyOf(*state.when, predicate));
                      }) ||
         anyOf(rule.update, predicate) || anyOf(rule.finish, predicate);
}

/// Whether the predicate holds within an expression or a function that it reaches. Each function is
/// visited once, even if it is called more often.
class Reachable {
public:
  explicit Reachable(Predicate predicate) : predicate(predicate) {}

  bool from(const Expr &expr, const ParsedFile &file) {
    return anyOf(expr,
                 [&](const Expr &inner) { return predicate(inner) || inCalled(inner, file); });
  }
  bool from(const Rule &rule) {
    return anyOf(rule,
                 [&](const Expr &expr) { return predicate(expr) || inCalled(expr, *rule.file); });
  }

private:
  bool inCalled(const Expr &expr, const ParsedFile &file) {
    if (expr.kind != ExprKind::Call)
      return false;
    const Function *function = file.visible.lookup(expr.text);
    if (!function || !seen.insert(function).second)
      return false;
    return from(*function->result, *function->file) ||
           llvm::any_of(function->lets,
                        [&](const Let &let) { return from(*let.value, *function->file); });
  }

  Predicate predicate;
  llvm::SmallPtrSet<const Function *, 8> seen;
};

} // namespace

bool updraft::mentionsMatrix(const Rule &rule) {
  return anyOf(
      rule, [](const Expr &expr) { return expr.kind == ExprKind::Name && expr.text == "matrix"; });
}

bool updraft::dependsOnTensor(const Expr &expr, const ParsedFile &file) {
  // A function's parameter may have such a name, but only its argument matters.
  auto isInput = [](const Expr &inner) {
    return inner.kind == ExprKind::Name && (inner.text == "param" || inner.text == "grad" ||
                                            inner.text == "step" || inner.text == "matrix");
  };
  auto isOfTensor = [](const Expr &inner) {
    const RuleFunction *function = findRuleFunction(inner.text);
    return inner.kind == ExprKind::Call && function && function->arity == inner.operands.size();
  };
  return anyOf(expr, isInput) || Reachable(isOfTensor).from(expr, file);
}
