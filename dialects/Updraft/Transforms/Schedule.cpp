//===- Schedule.cpp - From a rule to a plan ---------------------------------------------------===//
// Runs each operation of a rule at its smallest extent. Scalars go to host functions, in f64. The
// rest goes to sweeps over elements, rows or columns, as few as the reductions allow. A sweep takes
// the host's results as scalars.

#include "Updraft/IR/Extent.h"
#include "Updraft/IR/Locations.h"
#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Conditions.h"
#include "Updraft/Transforms/Passes.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "Updraft/Transforms/Slice.h"
#include "Updraft/Transforms/Stages.h"
#include "Updraft/Transforms/Stores.h"
#include "Updraft/Transforms/SweepDrafts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace updraft {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "Updraft/Transforms/Passes.h.inc"

namespace {

/// Builds the plan of one rule: decides on its sweeps, then creates the sweeps and the prologues
/// between them, stage by stage.
class Scheduler {
public:
  Scheduler(RuleOp rule, OpBuilder &builder)
      : rule(rule), builder(builder), extents(rule), stages(rule, extents),
        conditions(rule, extents, stages), stores(chooseStores(rule, stages, extents, conditions)),
        sweeps(draftSweeps(rule, extents, stages, stores)),
        next(cast<NextOp>(rule.getBody().front().getTerminator())) {}

  /// Creates the plan before the rule. Returns null after emitting an error if a value cannot enter
  /// a sweep.
  PlanOp run();

  /// The number of scalars that prologues pass on to sweeps.
  unsigned hoistedScalars() const { return hoisted; }

private:
  void createInterface();
  void createInitial();
  void createValidate();
  LogicalResult createPrologue(unsigned stage);
  void chooseConditions();
  void createWholeMatrix(Operation &operation);
  LogicalResult createSweep(const SweepDraft &draft, Value condition);
  void createCommit();
  void createProbes();

  Slice sliceScalars(ValueRange roots) const;
  template <typename HostOp> void fillHostFunction(HostOp op, const Slice &slice, ValueRange roots);

  RuleOp rule;
  OpBuilder &builder;
  ExtentAnalysis extents;
  StageAnalysis stages;
  Conditions conditions;
  SmallVector<Store> stores;
  std::vector<SweepDraft> sweeps;
  NextOp next;
  /// The conditions of sweeps, products and functions, as flags of the rule. Null for those that
  /// every step needs.
  SmallVector<Value> sweepConditions;
  llvm::MapVector<Operation *, Value> conditionOf;
  /// The next scalar states and the skip condition, as results of prologues.
  SmallVector<Value> committed;
  Value skip;
  /// The probes' values, as results of prologues.
  SmallVector<Value> probed;
  unsigned hoisted = 0;
  /// Maps values of the rule to values of the plan: an input over elements, rows or columns to its
  /// stream, a scalar input to itself.
  IRMapping planValues;
  /// Maps inputs that a sweep converted to the compute type, for products, to the converted
  /// streams.
  IRMapping convertedInputs;
  /// Maps scalars of the rule that sweeps need to results of prologues.
  IRMapping sweepScalars;
};

/// Returns the location of `scalar` with its name. If it has none, uses the name of the value that
/// was rounded to the compute type.
Location locationInSweep(Value scalar) {
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

PlanOp Scheduler::run() {
  if (ReduceOp reduce = stages.groupReductionAfterSkip(next)) {
    InFlightDiagnostic error = next.emitOpError()
                               << "has a condition of `skip` for one tensor that is known before "
                                  "a reduction over the group, which all tensors take part in";
    error.attachNote(reduce.getLoc()) << "the reduction";
    return {};
  }
  builder.setInsertionPoint(rule);
  auto plan =
      PlanOp::create(builder, rule.getLoc(), rule.getSymName(), rule.getCompute(), rule.getMatrix(),
                     rule.getShapesAttr(), rule.getChosenAttr(), rule.getFast());
  builder.createBlock(&plan.getBody());
  createInterface();
  createInitial();
  createValidate();
  committed.resize(llvm::range_size(plan.getBody().getOps<ScalarOp>()));
  probed.resize(llvm::range_size(rule.getBody().getOps<ProbeOp>()));
  chooseConditions();
  auto sweep = sweeps.begin();
  for (unsigned stage = 0; stage < stages.count(); ++stage) {
    LogicalResult made = createPrologue(stage);
    for (Operation *operation : stages.wholeMatricesOf(stage))
      createWholeMatrix(*operation);
    for (; succeeded(made) && sweep != sweeps.end() && sweep->stage == stage; ++sweep)
      made = createSweep(*sweep, sweepConditions[sweep - sweeps.begin()]);
    if (succeeded(made))
      continue;
    plan.erase();
    return {};
  }
  createCommit();
  createProbes();
  return plan;
}

void Scheduler::createInterface() {
  Block &body = rule.getBody().front();
  for (Operation &operation : body)
    if (isa<HyperOp>(operation))
      builder.clone(operation, planValues);
  for (Operation &operation : body)
    if (isa<StepOp, FirstOp, SizeOp>(operation) && !operation.use_empty())
      builder.clone(operation, planValues);

  auto createStream = [&](Value value, StringRef name, Type storage, Extent over,
                          bool fromStep = false) {
    auto type = StreamType::get(builder.getContext(), storage, over);
    planValues.map(value, StreamOp::create(builder, value.getLoc(), type, name, fromStep));
  };
  for (auto param : body.getOps<ParamOp>())
    createStream(param, "param", param.getStorage(), Extent::element);
  for (auto grad : body.getOps<GradOp>())
    createStream(grad, "grad", grad.getStorage(), Extent::element);
  for (auto state : body.getOps<StateOp>()) {
    if (!extents.isScalar(state))
      createStream(state, state.getName(), state.getStorage(), state.getOver(),
                   state.getFromStep());
    else
      planValues.map(state.getResult(),
                     ScalarOp::create(builder, state.getLoc(), state.getType(), state.getName(),
                                      state.getOver(), state.getStorage())
                         .getResult());
  }
}

Slice Scheduler::sliceScalars(ValueRange roots) const { return Slice::compute(roots, isRuleInput); }

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

// Computes the scalars of this stage that sweeps or the commit need.
LogicalResult Scheduler::createPrologue(unsigned stage) {
  SetVector<Value> crossing;
  for (const SweepDraft &sweep : sweeps)
    for (Value input : sweep.slice.inputs) {
      if (!extents.isScalar(input) || stages.of(input) != stage)
        continue;
      if (input.getType() != rule.getCompute() && !input.getType().isInteger(1))
        return emitError(input.getLoc())
               << "a scalar of type " << input.getType() << " is used by element arithmetic; only "
               << rule.getCompute() << " and i1 can cross into a sweep";
      crossing.insert(input);
    }
  if (stage == 0) {
    for (Value condition : sweepConditions)
      if (condition)
        crossing.insert(condition);
    for (auto [operation, condition] : conditionOf)
      crossing.insert(condition);
  }
  SmallVector<Value> roots(crossing.getArrayRef());
  SmallVector<Value *> commits;
  unsigned scalar = 0;
  for (auto [state, value] : llvm::zip(rule.getBody().getOps<StateOp>(), next.getStates()))
    if (extents.isScalar(state)) {
      if (stages.of(value) == stage) {
        roots.push_back(value);
        commits.push_back(&committed[scalar]);
      }
      ++scalar;
    }
  if (Value condition = next.getSkip(); condition && stages.skipping() == stage) {
    roots.push_back(condition);
    commits.push_back(&skip);
  }
  for (auto [probe, result] : llvm::zip(rule.getBody().getOps<ProbeOp>(), probed))
    if (stages.of(probe.getValue()) == stage) {
      roots.push_back(probe.getValue());
      commits.push_back(&result);
    }
  // The first prologue always exists: it initialises the row.
  if (roots.empty() && stage != 0)
    return success();

  Slice slice = sliceScalars(roots);
  Location location = NameLoc::get(builder.getStringAttr("scalars"), rule.getLoc());
  auto prologue = PrologueOp::create(builder, location, ValueRange(roots).getTypes(),
                                     lookupAll(planValues, slice.inputs));
  fillHostFunction(prologue, slice, roots);
  for (auto [value, result] : llvm::zip(crossing, prologue.getResults()))
    sweepScalars.map(value, result);
  for (auto [commit, result] :
       llvm::zip(commits, prologue.getResults().drop_front(crossing.size())))
    *commit = result;
  hoisted += crossing.size();
  return success();
}

/// Whether storing a value that was read changes nothing.
static bool keepsBits(Value current) {
  return isa<FloatType>(current.getDefiningOp<TensorInputOpInterface>().getStorage());
}

// A stage that no step needs unless a flag holds gets the flag as its condition.
void Scheduler::chooseConditions() {
  for (unsigned stage = 0; stage < stages.count(); ++stage)
    for (Operation *operation : stages.wholeMatricesOf(stage))
      if (Disjunction when = conditions.neededWhen(operation->getResult(0)); !isAlways(when))
        conditionOf[operation] = conditions.flagOf(when);
  for (const SweepDraft &draft : sweeps) {
    Disjunction when;
    for (ReduceOp reduce : draft.reductions)
      when = either(when, conditions.neededWhen(reduce.getResult()));
    for (Value made : draft.made)
      when = either(when, conditions.neededWhen(made));
    for (auto [current, then] : draft.writes)
      when = either(when, keepsBits(current)
                              ? changesWhen({current, then, draft.stage}, stores, conditions)
                              : Disjunction{{}});
    sweepConditions.push_back(isAlways(when) ? Value() : conditions.flagOf(when));
  }
}

void Scheduler::createWholeMatrix(Operation &operation) {
  Value result = operation.getResult(0), condition = conditionOf.lookup(&operation);
  auto type = StreamType::get(builder.getContext(), result.getType(), extents.of(result));
  if (condition)
    condition = sweepScalars.lookup(condition);
  auto isTransposed = [&](Value operand) { return operand != readInMemory(&operation, operand); };
  auto streamOf = [&](Value operand) {
    Value value = readInMemory(&operation, operand),
          converted = convertedInputs.lookupOrNull(value);
    return converted ? converted : planValues.lookup(value);
  };
  Value made;
  if (auto product = dyn_cast<ProductOp>(operation)) {
    const bool mayRound = rule.getFast() && type.getStorage().isF32();
    made = MultiplyOp::create(builder, product.getLoc(), type,
                              mayRound ? product.getOperandFormatAttr() : OperandFormatAttr(),
                              product.getSymmetric(), streamOf(product.getLhs()),
                              isTransposed(product.getLhs()), streamOf(product.getRhs()),
                              isTransposed(product.getRhs()), /*scale=*/Value(),
                              /*addend=*/Value(), /*addend_scale=*/Value(), /*sum_scale=*/Value(),
                              /*target=*/Value(), /*target_scale=*/Value(), condition);
  } else {
    made = CallOp::create(builder, operation.getLoc(), type, cast<ApplyOp>(operation).getFunction(),
                          llvm::map_to_vector(operation.getOperands(), streamOf), condition);
  }
  planValues.map(result, made);
}

LogicalResult Scheduler::createSweep(const SweepDraft &draft, Value condition) {
  SmallVector<Value> scalars, reads;
  for (Value input : draft.slice.inputs)
    (extents.isScalar(input) ? scalars : reads).push_back(input);
  // Orders streams as in the plan: the gradient precedes the states, wherever the rule declares it.
  llvm::sort(reads, [&](Value left, Value right) {
    auto first = cast<OpResult>(planValues.lookup(left));
    auto second = cast<OpResult>(planValues.lookup(right));
    if (first.getOwner() == second.getOwner())
      return first.getResultNumber() < second.getResultNumber();
    return first.getOwner()->isBeforeInBlock(second.getOwner());
  });

  SmallVector<Attribute> reductions;
  SmallVector<Type> results;
  SmallVector<Value> current, stored;
  for (ReduceOp reduce : draft.reductions) {
    Type type = builder.getF64Type();
    if (!isWithin(reduce.getOver(), Extent::tensor))
      type = StreamType::get(builder.getContext(), type, reduce.getOver());
    results.push_back(type);
    reductions.push_back(
        ReductionAttr::get(builder.getContext(), reduce.getKind(), reduce.getOver()));
  }
  for (Value made : draft.made) {
    if (!isa<Float32Type, Float64Type>(made.getType()))
      return emitError(made.getLoc())
             << "a value of type " << made.getType() << " over `" << stringifyExtent(draft.over)
             << "` is used by element arithmetic; only f32 and f64 can cross into a sweep";
    results.push_back(StreamType::get(builder.getContext(), made.getType(), draft.over));
  }
  for (auto [value, then] : draft.writes) {
    current.push_back(value);
    stored.push_back(then);
  }

  auto sweep = SweepOp::create(builder, rule.getLoc(), results, draft.over,
                               lookupAll(sweepScalars, scalars), lookupAll(planValues, reads),
                               lookupAll(planValues, current), builder.getArrayAttr(reductions),
                               condition ? sweepScalars.lookup(condition) : Value());
  {
    OpBuilder::InsertionGuard guard(builder);
    IRMapping map;
    SmallVector<Value> arguments = scalars;
    llvm::append_range(arguments, reads);
    Block *block = createEntryBlock(builder, sweep.getBody(), arguments, map);
    for (auto [argument, scalar] : llvm::zip(block->getArguments(), scalars))
      argument.setLoc(locationInSweep(scalar));
    draft.slice.cloneInto(builder, map);
    SmallVector<Value> reduced;
    for (ReduceOp reduce : draft.reductions) {
      Value value = map.lookup(reduce.getInput());
      if (!value.getType().isF64())
        value = arith::ExtFOp::create(builder, reduce.getLoc(), builder.getF64Type(), value);
      reduced.push_back(value);
    }
    SmallVector<Location> places{next.getLoc()};
    for (ReduceOp reduce : draft.reductions)
      places.push_back(
          NameLoc::get(builder.getStringAttr(reductionPart(places.size() - 1)), reduce.getLoc()));
    StoreOp::create(builder, FusedLoc::get(places, Attribute(), rule.getContext()),
                    lookupAll(map, stored), reduced, lookupAll(map, draft.made));
  }

  for (auto [index, reduce] : llvm::enumerate(draft.reductions))
    planValues.map(reduce->getResult(0), sweep.getResult(index));
  for (auto [made, result] : llvm::zip(draft.made, sweep.getTemporaries()))
    (isRuleInput(made) ? convertedInputs : planValues).map(made, result);
  // Later sweeps read the early store.
  if (isMatrixExtent(draft.over) && draft.stage < stages.writing())
    for (auto [value, then] : draft.writes)
      planValues.map(then, planValues.lookup(value));
  return success();
}

void Scheduler::createCommit() {
  if (!committed.empty() || skip)
    CommitOp::create(builder, next.getLoc(), committed, skip);
}

void Scheduler::createProbes() {
  for (auto [probe, value] : llvm::zip(rule.getBody().getOps<ProbeOp>(), probed))
    ProbeOp::create(builder, probe.getLoc(), probe.getNameAttr(), value, probe.getEndAttr());
}

// Streams must have types that memory can hold directly.
LogicalResult checkExpanded(RuleOp rule) {
  for (Operation &operation : rule.getBody().front()) {
    auto storage = operation.getAttrOfType<TypeAttr>("storage");
    if (storage && isa<StochasticType, CorrectedType>(storage.getValue()))
      return operation.emitOpError() << "is stored as " << storage.getValue()
                                     << ", which is not a type in memory; expand it with "
                                        "`updraft-expand-storage`";
  }
  return success();
}

// Matrices must have shapes that memory can have, and only products read transposes.
LogicalResult checkOriented(RuleOp rule) {
  const ExtentAnalysis extents(rule);
  for (Operation &operation : rule.getBody().front()) {
    if (operation.getNumResults() != 1)
      continue;
    const Extent extent = extents.of(operation.getResult(0));
    const bool isTranspose = isa<TransposeOp>(operation);
    const bool isOriented =
        isTranspose ? llvm::all_of(operation.getUsers(), llvm::IsaPred<ProductOp>)
                    : !isMatrixExtent(extent) || llvm::is_contained(matrixExtents, extent);
    if (!isOriented)
      return operation.emitOpError()
             << (isTranspose ? "is used outside of products" : "has a transposed matrix as result")
             << ", which can't be scheduled; turn the rule with `updraft-orient-products`";
  }
  return success();
}

struct SchedulePass : impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() override {
    if (failed(numberSharedReductions(getOperation()))) {
      getOperation().emitError("the rules for vectors and for matrices must have the same "
                               "reductions over `group`");
      return signalPassFailure();
    }
    dropUnneededReductions(getOperation());
    OpBuilder builder(&getContext());
    for (RuleOp rule : formsIn<RuleOp>(getOperation())) {
      if (failed(checkExpanded(rule)) || failed(checkOriented(rule)))
        return signalPassFailure();
      mergeInterimValues(rule);
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
