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

bool anyOf(llvm::ArrayRef<Let> lets, Predicate predicate);

bool anyOf(const Repeat &repeat, Predicate predicate) {
  return anyOf(*repeat.list, predicate) || anyOf(repeat.variables, predicate) ||
         anyOf(repeat.lets, predicate) || anyOf(repeat.nexts, predicate);
}

bool anyOf(llvm::ArrayRef<Let> lets, Predicate predicate) {
  return llvm::any_of(lets, [&](const Let &let) {
    return let.repeat ? anyOf(*let.repeat, predicate) : anyOf(*let.value, predicate);
  });
}

bool anyOf(const std::optional<Update> &update, Predicate predicate) {
  return update && llvm::any_of(update->statements, [&](const Statement &statement) {
           return statement.repeat ? anyOf(*statement.repeat, predicate)
                                   : anyOf(*statement.value, predicate) ||
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
    auto holds = [&](const Expr &inner) {
      return predicate(inner) || inCalled(inner, *function->file);
    };
    return anyOf(*function->result, holds) || anyOf(function->lets, holds);
  }

  Predicate predicate;
  llvm::SmallPtrSet<const Function *, 8> seen;
};

} // namespace

static bool isMatrixFlag(const Expr &expr) {
  return expr.kind == ExprKind::Name && expr.text == "matrix";
}

bool updraft::mentionsMatrix(const Rule &rule) { return anyOf(rule, isMatrixFlag); }
bool updraft::mentionsMatrix(const Expr &expr) { return anyOf(expr, isMatrixFlag); }

bool updraft::dependsOnTensor(const Expr &expr, const ParsedFile &file) {
  // A function's parameter may have such a name, but only its argument matters.
  auto isInput = [](const Expr &inner) {
    return inner.kind == ExprKind::Name && (inner.text == "param" || inner.text == "grad" ||
                                            inner.text == "step" || inner.text == "matrix");
  };
  auto isOfTensor = [](const Expr &inner) {
    const RuleFunction *function = findRuleFunction(inner.text, inner.operands.size());
    return inner.kind == ExprKind::Call && function && function->arity == inner.operands.size();
  };
  return anyOf(expr, isInput) || Reachable(isOfTensor).from(expr, file);
}
