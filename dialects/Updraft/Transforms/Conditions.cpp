//===- Conditions.cpp - When the step needs a value -------------------------------------------===//

#include "Updraft/Transforms/Conditions.h"

#include "Updraft/IR/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace updraft;

/// The most conjunctions of a condition.
static constexpr size_t maxConjunctions = 4;

static Literal opposite(Literal literal) { return {literal.first, !literal.second}; }

static bool holdsIn(const Conjunction &part, const Conjunction &whole) {
  return llvm::all_of(part,
                      [&](const Literal &literal) { return llvm::is_contained(whole, literal); });
}

/// Removes literals and conjunctions that the other conjunctions make needless:
/// `a || !a && b` is `a || b`, and `a || a && b` is `a`.
static void simplify(Disjunction &condition) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Conjunction &known : condition)
      for (Conjunction &other : condition)
        for (const Literal &literal : known) {
          Conjunction rest = known;
          llvm::erase(rest, literal);
          if (&known == &other || !llvm::is_contained(other, opposite(literal)) ||
              !holdsIn(rest, other))
            continue;
          llvm::erase(other, opposite(literal));
          changed = true;
        }
    for (size_t index = 0; index < condition.size();) {
      const bool isNeedless = llvm::any_of(llvm::enumerate(condition), [&](auto other) {
        return other.index() != index && holdsIn(other.value(), condition[index]);
      });
      if (isNeedless)
        condition.erase(condition.begin() + index);
      else
        ++index;
    }
  }
}

Disjunction updraft::either(const Disjunction &left, const Disjunction &right) {
  Disjunction result = left;
  llvm::append_range(result, right);
  simplify(result);
  if (result.size() <= maxConjunctions)
    return result;
  Conjunction common = result.front();
  llvm::erase_if(common, [&](const Literal &literal) {
    return !llvm::all_of(result, [&](const Conjunction &conjunction) {
      return llvm::is_contained(conjunction, literal);
    });
  });
  return {common};
}

bool updraft::isAlways(const Disjunction &condition) {
  return llvm::any_of(condition,
                      [](const Conjunction &conjunction) { return conjunction.empty(); });
}

static Conjunction with(Conjunction conjunction, Literal literal) {
  if (!llvm::is_contained(conjunction, literal))
    conjunction.push_back(literal);
  return conjunction;
}

/// Drops conjunctions that the literal contradicts.
static Disjunction with(Disjunction condition, Literal literal) {
  llvm::erase_if(condition, [&](const Conjunction &conjunction) {
    return llvm::is_contained(conjunction, opposite(literal));
  });
  for (Conjunction &conjunction : condition)
    conjunction = with(conjunction, literal);
  simplify(condition);
  return condition;
}

Conditions::Conditions(RuleOp rule, const ExtentAnalysis &extents, const StageAnalysis &stages)
    : rule(rule), extents(extents), stages(stages) {
  const Disjunction always{{}};
  for (Operation &operation : llvm::reverse(rule.getBody().front())) {
    // Every tensor of the group takes part in a reduction over it.
    if (auto reduce = dyn_cast<ReduceOp>(operation); reduce && reduce.getOver() == Extent::group)
      needed[reduce.getResult()] = always;
    Disjunction when = always;
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

void Conditions::need(Value value, const Disjunction &when) {
  Disjunction &known = needed[value];
  known = either(known, when);
}

Disjunction Conditions::neededWhen(Value value) const { return needed.lookup(value); }

void Conditions::forBranches(Value value, llvm::function_ref<bool(Value)> isBranch,
                             llvm::function_ref<void(Value, const Conjunction &)> visit) const {
  constexpr unsigned maxChoices = 64; // of a value, whose branches may be many more
  unsigned choices = 0;
  SmallVector<std::pair<Value, Conjunction>> left{{value, {}}};
  while (!left.empty()) {
    const auto [branch, chosen] = left.pop_back_val();
    auto select = branch.getDefiningOp<arith::SelectOp>();
    if (isBranch(branch) || !select || !isKnownFlag(select.getCondition()) ||
        choices++ == maxChoices) {
      visit(branch, chosen);
      continue;
    }
    const auto take = [&](Value arm, bool isTrue) {
      const Literal literal{select.getCondition(), isTrue};
      if (!llvm::is_contained(chosen, opposite(literal)))
        left.push_back({arm, with(chosen, literal)});
    };
    take(select.getFalseValue(), false);
    take(select.getTrueValue(), true);
  }
}

/// Combines values by an operation, from left to right.
template <typename CombineOp>
static Value combine(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  Value result = values.front();
  for (Value value : values.drop_front())
    result = CombineOp::create(builder, loc, result, value);
  return result;
}

Value Conditions::flagOf(const Disjunction &condition) {
  auto isSame = [&](const std::pair<Disjunction, Value> &known) {
    auto isPart = [](const Disjunction &part, const Disjunction &whole) {
      return llvm::all_of(part, [&](const Conjunction &conjunction) {
        return llvm::any_of(whole, [&](const Conjunction &other) {
          return other.size() == conjunction.size() && holdsIn(conjunction, other);
        });
      });
    };
    return isPart(known.first, condition) && isPart(condition, known.first);
  };
  if (auto known = llvm::find_if(flags, isSame); known != flags.end())
    return known->second;
  OpBuilder builder(rule.getBody().front().getTerminator());
  // Without a name: the flag isn't the rule, and its formula says more than that of a condition.
  Location loc = unnamed(rule.getLoc());
  SmallVector<Value> alternatives;
  if (condition.empty())
    alternatives.push_back(arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false)));
  for (const Conjunction &conjunction : condition) {
    SmallVector<Value> literals;
    for (auto [flag, mustHold] : conjunction) {
      Value holds = flag;
      if (!mustHold) {
        Value one = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
        holds = arith::XOrIOp::create(builder, loc, flag, one);
      }
      literals.push_back(holds);
    }
    alternatives.push_back(combine<arith::AndIOp>(builder, loc, literals));
  }
  Value flag = combine<arith::OrIOp>(builder, loc, alternatives);
  flags.push_back({condition, flag});
  return flag;
}
