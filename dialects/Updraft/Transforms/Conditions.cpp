//===- Conditions.cpp - When the step needs a value -------------------------------------------===//

#include "Updraft/Transforms/Conditions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace updraft;

static Conditions::Conjunction with(Conditions::Conjunction conjunction,
                                    Conditions::Literal literal) {
  if (!llvm::is_contained(conjunction, literal))
    conjunction.push_back(literal);
  return conjunction;
}

Conditions::Conditions(RuleOp rule, const ExtentAnalysis &extents, const StageAnalysis &stages)
    : rule(rule), extents(extents), stages(stages) {
  for (Operation &operation : llvm::reverse(rule.getBody().front())) {
    Conjunction when;
    // Every tensor of the group takes part in a reduction over it.
    if (auto reduce = dyn_cast<ReduceOp>(operation); reduce && reduce.getOver() == Extent::group)
      needed[reduce.getResult()] = {};
    if (operation.getNumResults() != 0) {
      auto found = needed.find(operation.getResult(0));
      if (found == needed.end())
        continue;
      when = found->second;
    }
    auto select = dyn_cast<arith::SelectOp>(operation);
    if (!select || !isKnownFlag(select.getCondition())) {
      for (Value operand : operation.getOperands())
        need(operand, when);
      continue;
    }
    need(select.getCondition(), when);
    need(select.getTrueValue(), with(when, {select.getCondition(), true}));
    need(select.getFalseValue(), with(when, {select.getCondition(), false}));
  }
}

/// Whether the first prologue can compute the flag.
bool Conditions::isKnownFlag(Value condition) const {
  return extents.isScalar(condition) && stages.of(condition) == 0 &&
         !matchPattern(condition, m_Constant());
}

void Conditions::need(Value value, const Conjunction &when) {
  auto [entry, isNew] = needed.try_emplace(value, when);
  if (!isNew)
    entry->second = either(entry->second, when);
}

Conditions::Conjunction Conditions::neededWhen(Value value) const { return needed.lookup(value); }

Conditions::Conjunction Conditions::changesWhen(Value current, Value next) const {
  Conjunction result;
  while (auto select = next.getDefiningOp<arith::SelectOp>()) {
    if (!isKnownFlag(select.getCondition()))
      break;
    const bool keepsIfFalse = select.getFalseValue() == current;
    if (!keepsIfFalse && select.getTrueValue() != current)
      break;
    result = with(result, {select.getCondition(), keepsIfFalse});
    next = keepsIfFalse ? select.getTrueValue() : select.getFalseValue();
  }
  return result;
}

Conditions::Conjunction Conditions::either(const Conjunction &left, const Conjunction &right) {
  Conjunction common;
  for (const Literal &literal : left)
    if (llvm::is_contained(right, literal))
      common.push_back(literal);
  return common;
}

Value Conditions::flagOf(const Conjunction &conjunction) {
  auto isSame = [&](const std::pair<Conjunction, Value> &known) {
    return known.first.size() == conjunction.size() &&
           either(known.first, conjunction).size() == conjunction.size();
  };
  if (auto known = llvm::find_if(flags, isSame); known != flags.end())
    return known->second;
  OpBuilder builder(rule.getBody().front().getTerminator());
  // Without a name: the flag isn't the rule, and its formula says more than that of a condition.
  Location loc = rule.getLoc();
  while (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  Value flag;
  for (auto [condition, mustHold] : conjunction) {
    Value holds = condition;
    if (!mustHold) {
      Value one = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
      holds = arith::XOrIOp::create(builder, loc, condition, one);
    }
    flag = flag ? arith::AndIOp::create(builder, loc, flag, holds).getResult() : holds;
  }
  flags.push_back({conjunction, flag});
  return flag;
}
