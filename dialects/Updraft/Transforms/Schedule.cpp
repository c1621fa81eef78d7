//===- Schedule.cpp - From a rule to a plan ---------------------------------------------------===//
// Runs each operation of a rule at its smallest extent: what is below the element goes to host
// functions, in f64, and the rest to a pass over data. The pass takes the host's results as
// scalars.

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/Slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

/// Builds the plan of one rule, operation by operation.
class Scheduler {
public:
  Scheduler(RuleOp rule, OpBuilder &builder)
      : rule(rule), builder(builder), extents(rule),
        next(cast<NextOp>(rule.getBody().front().getTerminator())) {}

  /// Makes the plan before the rule; null, with an error emitted, if a value cannot cross into a
  /// pass.
  PlanOp run();

  /// How many scalars cross from the prologue.
  unsigned hoistedScalars() const { return hoisted; }

private:
  void collectElementInputs();
  void createInterface();
  void createInitial();
  void createValidate();
  LogicalResult createPrologue(const Slice &elements);
  void createPass(const Slice &elements);

  Slice sliceScalars(ValueRange roots) const;
  Slice sliceElements() const;
  template <typename HostOp> void fillHostFunction(HostOp op, const Slice &slice, ValueRange roots);

  RuleOp rule;
  OpBuilder &builder;
  ExtentAnalysis extents;
  NextOp next;
  /// The rule's param and states, in the order of `next`'s operands.
  SmallVector<Value> current;
  Value gradient;
  /// Those of `current` whose next value is another, and that value.
  SmallVector<Value> written, stored;
  unsigned hoisted = 0;
  /// From values of the rule to values of the plan: an element input to its stream, a
  /// hyperparameter to itself, a scalar that a pass needs to the result of the prologue.
  IRMapping planValues;
};

/// Where `scalar` comes from, with the name that a reader of the pass knows it by: that of the
/// value which was rounded to the compute type, if it has none itself.
Location locationInPass(Value scalar) {
  if (isa<NameLoc>(scalar.getLoc()))
    return scalar.getLoc();
  auto rounding = scalar.getDefiningOp<arith::TruncFOp>();
  if (!rounding)
    return scalar.getLoc();
  if (auto hyper = rounding.getIn().getDefiningOp<HyperOp>())
    return NameLoc::get(hyper.getNameAttr(), scalar.getLoc());
  if (auto named = dyn_cast<NameLoc>(rounding.getIn().getLoc()))
    return NameLoc::get(named.getName(), scalar.getLoc());
  return scalar.getLoc();
}

bool isRuleInput(Value value) {
  return isa<HyperOp, StepOp, FirstOp, ParamOp, GradOp, StateOp>(value.getDefiningOp());
}

PlanOp Scheduler::run() {
  collectElementInputs();
  builder.setInsertionPoint(rule);
  auto plan = PlanOp::create(builder, rule.getLoc(), rule.getSymName(), rule.getCompute());
  builder.createBlock(&plan.getBody());
  Slice elements = sliceElements();
  createInterface();
  createInitial();
  createValidate();
  if (failed(createPrologue(elements))) {
    plan.erase();
    return {};
  }
  createPass(elements);
  return plan;
}

void Scheduler::collectElementInputs() {
  Block &body = rule.getBody().front();
  for (auto param : body.getOps<ParamOp>())
    current.push_back(param);
  for (auto state : body.getOps<StateOp>())
    current.push_back(state);
  for (auto grad : body.getOps<GradOp>())
    gradient = grad;
  for (auto [now, then] : llvm::zip(current, next.getOperands())) {
    if (now == then)
      continue;
    written.push_back(now);
    stored.push_back(then);
  }
}

void Scheduler::createInterface() {
  Block &body = rule.getBody().front();
  for (Operation &operation : body)
    if (isa<HyperOp>(operation))
      builder.clone(operation, planValues);
  for (Operation &operation : body)
    if (isa<StepOp, FirstOp>(operation) && !operation.use_empty())
      builder.clone(operation, planValues);

  auto createStream = [&](Value element, StringRef name, Type storage) {
    planValues.map(element, StreamOp::create(builder, element.getLoc(),
                                             StreamType::get(builder.getContext(), storage), name));
  };
  createStream(current.front(), "param", current.front().getDefiningOp<ParamOp>().getStorage());
  createStream(gradient, "grad", gradient.getDefiningOp<GradOp>().getStorage());
  for (auto state : body.getOps<StateOp>())
    createStream(state, state.getName(), state.getStorage());
}

Slice Scheduler::sliceScalars(ValueRange roots) const { return Slice::compute(roots, isRuleInput); }

/// What a pass must compute: the next values that differ from the current ones, back to scalars and
/// element inputs. Constants cost nothing in a pass, so they don't cross into it.
Slice Scheduler::sliceElements() const {
  return Slice::compute(stored, [&](Value value) {
    if (isRuleInput(value))
      return true;
    return extents.isScalar(value) && !matchPattern(value, m_Constant());
  });
}

template <typename HostOp>
void Scheduler::fillHostFunction(HostOp op, const Slice &slice, ValueRange roots) {
  OpBuilder::InsertionGuard guard(builder);
  IRMapping map;
  createEntryBlock(builder, op.getBody(), slice.inputs, map);
  slice.cloneInto(builder, map);
  YieldOp::create(builder, op.getLoc(), lookupAll(map, roots));
}

void Scheduler::createInitial() {
  SmallVector<Value> roots;
  for (auto state : rule.getBody().getOps<StateOp>())
    roots.push_back(state.getInitial());
  Slice slice = sliceScalars(roots);
  auto initial = InitialOp::create(builder, rule.getLoc(), lookupAll(planValues, slice.inputs));
  fillHostFunction(initial, slice, roots);
}

void Scheduler::createValidate() {
  SmallVector<Value> conditions;
  SmallVector<StringRef> messages;
  for (auto require : rule.getBody().getOps<RequireOp>()) {
    conditions.push_back(require.getCondition());
    messages.push_back(require.getMessage());
  }
  Slice slice = sliceScalars(conditions);
  auto validate = ValidateOp::create(builder, rule.getLoc(), lookupAll(planValues, slice.inputs),
                                     builder.getStrArrayAttr(messages));
  fillHostFunction(validate, slice, conditions);
}

LogicalResult Scheduler::createPrologue(const Slice &elements) {
  SmallVector<Value> crossing;
  for (Value input : elements.inputs) {
    if (!extents.isScalar(input))
      continue;
    if (!isa<Float32Type, Float64Type>(input.getType()) && !input.getType().isInteger(1))
      return emitError(input.getLoc())
             << "a scalar of type " << input.getType()
             << " is used by element arithmetic; only f32, f64 and i1 can cross into a pass";
    crossing.push_back(input);
  }
  Slice slice = sliceScalars(crossing);
  Location location = NameLoc::get(builder.getStringAttr("scalars"), rule.getLoc());
  auto prologue = PrologueOp::create(builder, location, ValueRange(crossing).getTypes(),
                                     lookupAll(planValues, slice.inputs));
  fillHostFunction(prologue, slice, crossing);
  planValues.map(crossing, prologue.getResults());
  hoisted = crossing.size();
  return success();
}

void Scheduler::createPass(const Slice &elements) {
  SmallVector<Value> scalars, reads;
  for (Value input : elements.inputs)
    (extents.isScalar(input) ? scalars : reads).push_back(input);
  // Streams in the order of the plan: the gradient comes before the states, wherever the rule
  // declares it.
  auto position = [&](Value element) {
    return cast<StreamOp>(planValues.lookup(element).getDefiningOp());
  };
  llvm::sort(reads, [&](Value left, Value right) {
    return position(left)->isBeforeInBlock(position(right));
  });
  if (written.empty())
    return;

  auto pass = PassOp::create(builder, rule.getLoc(), TypeRange(), Extent::element,
                             lookupAll(planValues, scalars), lookupAll(planValues, reads),
                             lookupAll(planValues, written), builder.getArrayAttr({}));
  OpBuilder::InsertionGuard guard(builder);
  IRMapping map;
  SmallVector<Value> arguments = scalars;
  llvm::append_range(arguments, reads);
  Block *block = createEntryBlock(builder, pass.getBody(), arguments, map);
  for (auto [argument, scalar] : llvm::zip(block->getArguments(), scalars))
    argument.setLoc(locationInPass(scalar));
  elements.cloneInto(builder, map);
  StoreOp::create(builder, next.getLoc(), lookupAll(map, stored), ValueRange(), ValueRange());
}

struct SchedulePass : impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (auto rule : llvm::make_early_inc_range(getOperation().getOps<RuleOp>())) {
      Scheduler scheduler(rule, builder);
      if (!scheduler.run())
        return signalPassFailure();
      hoistedScalars += scheduler.hoistedScalars();
      rule.erase();
    }
  }
};

} // namespace
} // namespace updraft
