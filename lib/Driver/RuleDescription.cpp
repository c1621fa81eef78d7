//===- RuleDescription.cpp - The interface of scheduled plans ---------------------------------===//

#include "RuleDescription.h"

#include "TypeName.h"
#include "Updraft/Transforms/ExclusiveConditions.h"
#include "runtime/base/DType.h"
#include "updraft/Conversion/PlanInterface.h"
#include "updraft/Conversion/StateList.h"
#include "llvm/ADT/SetVector.h"

#include <cassert>
#include <optional>

using namespace mlir;
using namespace updraft;

/// Returns all plans of the rule of a plan that are for the same kind of steps.
static SmallVector<PlanOp> formsWith(PlanOp plan) {
  auto variants = dyn_cast<VariantsOp>(plan->getParentOp());
  if (!variants)
    return {plan};
  return llvm::map_to_vector(variants.getForms(),
                             [](Operation *form) { return cast<PlanOp>(form); });
}

static upd_dtype dtypeOf(Type type) {
  const std::optional<upd_dtype> dtype = runtime::parseDType(typeName(type));
  assert(dtype && "a plan has a type that the runtime doesn't know");
  return dtype.value_or(UPD_F32);
}

static runtime::Extent extentOf(Extent over) {
  switch (over) {
  case Extent::model: // no value is stored over the model
  case Extent::group:
    return runtime::Extent::Group;
  case Extent::tensor:
    return runtime::Extent::Tensor;
  case Extent::batch:
    return runtime::Extent::Batch;
  case Extent::row:
    return runtime::Extent::Row;
  case Extent::column:
    return runtime::Extent::Column;
  case Extent::element:
    return runtime::Extent::Element;
  case Extent::rows_by_rows:
    return runtime::Extent::RowsByRows;
  case Extent::columns_by_columns:
    return runtime::Extent::ColumnsByColumns;
  case Extent::chosen_by_columns:
    return runtime::Extent::ChosenByColumns;
  case Extent::rows_by_chosen:
    return runtime::Extent::RowsByChosen;
  case Extent::chosen_by_chosen:
    return runtime::Extent::ChosenByChosen;
  case Extent::chosen_by_rows:
  case Extent::columns_by_chosen:
  case Extent::transposed:
  case Extent::transposed_row:
  case Extent::transposed_column:
    break; // no value in memory has these
  }
  llvm_unreachable("unknown extent");
}

static void addStates(PlanOp plan, PlanOp matrix, runtime::RuleInterface &rule) {
  using runtime::TensorClass;
  for (const PlanState &state : statesOf(plan, matrix))
    rule.states.push_back({state.name.str(), dtypeOf(state.storage), extentOf(state.over),
                           !matrix || (state.inFirst && state.inMatrix) ? TensorClass::Any
                           : state.inFirst                              ? TensorClass::Vector
                                                                        : TensorClass::Matrix,
                           state.fromStep});
}

/// Returns the largest extent that an element's update depends on: that of its reductions and
/// sizes, the tensor if there is a state of square matrices, or the group if there is a state over
/// the group. Rows, columns and batches count as the tensor.
static runtime::Extent dependsOn(PlanOp plan, const runtime::RuleInterface &rule) {
  runtime::Extent result = runtime::Extent::Element;
  auto include = [&](bool isGroup) {
    if (result != runtime::Extent::Group)
      result = isGroup ? runtime::Extent::Group : runtime::Extent::Tensor;
  };
  for (PlanOp each : formsWith(plan))
    each.walk([&](Operation *op) {
      if (auto size = dyn_cast<SizeOp>(op))
        include(size.getOver() == Extent::group);
      else if (isOfWholeMatrices(op))
        include(false);
      else if (auto sweep = dyn_cast<SweepOp>(op))
        for (auto reduction : sweep.getReductionRange())
          include(reduction.getOver() == Extent::group);
    });
  for (const runtime::StateInterface &state : rule.states)
    if (state.over == runtime::Extent::Group || runtime::isSquare(state.over))
      include(state.over == runtime::Extent::Group);
  return result;
}

static void addRequirements(PlanOp plan, const RuleFacts &facts, runtime::RuleInterface &rule) {
  for (auto validate : plan.getBody().getOps<ValidateOp>())
    for (auto message : validate.getMessages().getAsRange<StringAttr>())
      rule.messages.push_back(message.getValue().str());
  for (const DerivedFlag &flag : facts.derived) {
    auto message = llvm::find(rule.messages, flag.message);
    if (message == rule.messages.end())
      continue; // the requirement holds for all values, so the flag depends on none
    runtime::DerivedInterface derived{flag.name, {}, uint32_t(message - rule.messages.begin())};
    for (const std::string &name : flag.hypers)
      derived.hypers.push_back(uint32_t(
          llvm::find_if(rule.hypers, [&](const auto &hyper) { return hyper.name == name; }) -
          rule.hypers.begin()));
    rule.derived.push_back(std::move(derived));
  }
}

namespace {

/// Describes one plan with the numbers that the compiler gave its values.
class PlanDescription {
public:
  PlanDescription(const PlanInterface &numbers, const runtime::RuleInterface &rule)
      : numbers(numbers), rule(rule) {}

  runtime::PlanInterface make(runtime::TensorClass tensors) {
    result.tensors = tensors;
    if (std::optional<MatrixShapes> shapes = numbers.plan.getShapes())
      result.shapes = shapesOf(*shapes);
    if (std::optional<llvm::APFloat> chosen = numbers.plan.getChosen())
      result.chosen = chosen->convertToDouble();
    result.prefix = numbers.plan.getSymName().str();
    result.rowScalars = numbers.rowScalarCount;
    result.isProbed = numbers.plan.isProbed();
    result.usesRandom =
        numbers.plan.walk([](RandomOp) { return WalkResult::interrupt(); }).wasInterrupted();
    result.skips = llvm::any_of(numbers.plan.getBody().getOps<CommitOp>(),
                                [](CommitOp commit) { return bool(commit.getSkip()); });
    addStreams();
    result.scalarStates.resize(numbers.scalarIndex.size());
    for (Operation &op : numbers.plan.getBody().front())
      if (auto scalar = dyn_cast<ScalarOp>(op))
        result.scalarStates[numbers.scalarIndex.lookup(scalar.getResult())] =
            stateNamed(scalar.getName());
      else if (auto prologue = dyn_cast<PrologueOp>(op))
        add(prologue);
      else if (auto sweep = dyn_cast<SweepOp>(op))
        add(sweep);
      else if (auto product = dyn_cast<MultiplyOp>(op))
        add(product);
      else if (auto call = dyn_cast<CallOp>(op))
        add(call);
    addExclusiveConditions();
    return std::move(result);
  }

private:
  using Kind = runtime::StreamInterface::Kind;
  using Stage = runtime::StageInterface;

  static uint32_t shapesOf(MatrixShapes shapes) {
    auto has = [&](MatrixShapes shape) { return bitEnumContainsAny(shapes, shape); };
    return (has(MatrixShapes::wide) ? runtime::WideMatrices : 0) |
           (has(MatrixShapes::square) ? runtime::SquareMatrices : 0) |
           (has(MatrixShapes::tall) ? runtime::TallMatrices : 0);
  }

  uint32_t stateNamed(StringRef name) const {
    return uint32_t(
        llvm::find_if(rule.states, [&](const auto &state) { return state.name == name; }) -
        rule.states.begin());
  }

  void addStreams() {
    result.streams.resize(numbers.streamCount());
    result.firstTemporary = numbers.streamCount();
    for (auto [value, index] : numbers.streamIndex)
      result.streams[index] = {Kind::Temporary,
                               dtypeOf(cast<StreamType>(value.getType()).getStorage()),
                               extentOf(cast<StreamType>(value.getType()).getOver())};
    for (auto stream : numbers.plan.getBody().getOps<StreamOp>()) {
      runtime::StreamInterface &described = result.streams[indexOf(stream.getResult())];
      described.kind = stream.getName() == "param"  ? Kind::Param
                       : stream.getName() == "grad" ? Kind::Grad
                                                    : Kind::State;
      if (described.kind == Kind::State)
        described.state = stateNamed(stream.getName());
      if (auto scales = numbers.scaleIndex.find(stream.getResult());
          scales != numbers.scaleIndex.end()) {
        described.scales = scales->second;
        result.streams[scales->second] = {Kind::Scales, UPD_F32, runtime::Extent::Element};
      }
    }
    while (result.firstTemporary != 0 &&
           result.streams[result.firstTemporary - 1].kind == Kind::Temporary)
      --result.firstTemporary;
  }

  uint32_t indexOf(Value stream) const { return numbers.streamIndex.lookup(stream); }

  std::vector<uint32_t> indicesOf(ValueRange streams) const {
    std::vector<uint32_t> result;
    for (Value stream : streams)
      result.push_back(indexOf(stream));
    return result;
  }

  void add(PrologueOp prologue) {
    const bool byTensor =
        prologue.isPerTensor() || llvm::any_of(prologue.getResults(), [&](Value value) {
          ScalarOp state = numbers.nextScalars.lookup(value);
          return state && state.getOver() == Extent::tensor;
        });
    result.sequence.push_back(Stage::prologue(result.prologues++, byTensor));
  }

  /// Returns 0 for null.
  uint32_t rowPositionOf(Value scalar) const {
    return scalar ? numbers.rowIndex.lookup(scalar) : 0;
  }

  void addStage(Stage stage, Value condition) {
    stage.condition = rowPositionOf(condition);
    result.sequence.push_back(stage);
    if (stage.condition != 0)
      conditions.insert(condition);
  }

  void addExclusiveConditions() {
    for (size_t second = 0; second < conditions.size(); ++second)
      for (size_t first = 0; first < second; ++first)
        if (neverHoldTogether(conditions[first], conditions[second]))
          result.exclusiveConditions.push_back(
              std::minmax({rowPositionOf(conditions[first]), rowPositionOf(conditions[second])}));
    llvm::sort(result.exclusiveConditions);
  }

  void add(SweepOp sweep) {
    addStage(Stage::sweep(uint32_t(result.sweeps.size())), sweep.getCondition());
    runtime::SweepInterface described{indicesOf(sweep.getReads()), indicesOf(sweep.getWrites()),
                                      indicesOf(sweep.getTemporaries())};
    described.over = extentOf(sweep.getOver());
    described.isMatrix = sweep.runsByRows();
    described.isBatches = sweep.runsByBatches();
    for (auto [index, reduction] : llvm::enumerate(sweep.getReductionRange())) {
      const auto kind = reduction.getKind() == ReductionKind::max
                            ? runtime::ReductionInterface::Kind::Max
                            : runtime::ReductionInterface::Kind::Sum;
      described.reductions.push_back({kind, extentOf(reduction.getOver())});
      if (!isWithin(reduction.getOver(), Extent::tensor))
        described.reductions.back().into = indexOf(sweep.getResult(index));
    }
    result.sweeps.push_back(std::move(described));
  }

  void add(MultiplyOp product) {
    addStage(Stage::product(uint32_t(result.products.size())), product.getCondition());
    result.products.push_back({indexOf(product.getLhs()), indexOf(product.getRhs()),
                               indexOf(product.getResult()), product.getLhsTransposed(),
                               product.getRhsTransposed(), product.getSymmetric(),
                               formatOf(product.getOperandFormat())});
    runtime::ProductInterface &described = result.products.back();
    if (product.getAddend())
      described.addend = indexOf(product.getAddend());
    described.scale = rowPositionOf(product.getScale());
    described.addendScale = rowPositionOf(product.getAddendScale());
    if (product.getTarget())
      described.target = indexOf(product.getTarget());
    described.sumScale = rowPositionOf(product.getSumScale());
    described.targetScale = rowPositionOf(product.getTargetScale());
  }

  static std::optional<upd_dtype> formatOf(std::optional<OperandFormat> format) {
    if (!format)
      return std::nullopt;
    return format == OperandFormat::bf16 ? UPD_BF16 : UPD_F16;
  }

  void add(CallOp call) {
    addStage(Stage::call(uint32_t(result.calls.size())), call.getCondition());
    result.calls.push_back({static_cast<runtime::MatrixFunction>(call.getFunction()),
                            indicesOf(call.getInputs()), indexOf(call.getResult())});
  }

  const PlanInterface &numbers;
  const runtime::RuleInterface &rule;
  runtime::PlanInterface result;
  llvm::SetVector<Value> conditions; // of stages
};

} // namespace

FailureOr<runtime::PlanInterface> updraft::describePlan(PlanOp plan) {
  FailureOr<PlanInterface> numbers = PlanInterface::of(plan);
  if (failed(numbers))
    return failure();
  return PlanDescription(*numbers, runtime::RuleInterface()).make(runtime::TensorClass::Matrix);
}

FailureOr<runtime::RuleInterface> updraft::describeRule(PlanOp plan, StringRef numerics,
                                                        StringRef gpu, const RuleFacts &facts) {
  using runtime::TensorClass;
  PlanOp matrix = matrixPlanOf(plan);
  runtime::RuleInterface rule;
  rule.name = plan.getSymName().str();
  rule.compute = dtypeOf(plan.getCompute());
  rule.numerics = numerics.str();
  rule.gpu = gpu.str();
  rule.statics = facts.statics;
  for (auto hyper : plan.getBody().getOps<HyperOp>())
    rule.hypers.push_back({hyper.getName().str(), hyper.getDefaultValue().convertToDouble()});
  for (auto stream : plan.getBody().getOps<StreamOp>())
    if (stream.getName() == "param")
      rule.param = dtypeOf(stream.getType().getStorage());
    else if (stream.getName() == "grad")
      rule.grad = dtypeOf(stream.getType().getStorage());
  addStates(plan, matrix, rule);
  rule.dependsOn = dependsOn(plan, rule);
  addRequirements(plan, facts, rule);
  const TensorClass first = plan.getMatrix()                         ? TensorClass::Matrix
                            : matrix || facts.tensors == UPD_VECTORS ? TensorClass::Vector
                                                                     : TensorClass::Any;
  auto addForms = [&](PlanOp firstForm) -> LogicalResult {
    for (PlanOp each : formsWith(firstForm)) {
      FailureOr<PlanInterface> numbers = PlanInterface::of(each);
      if (failed(numbers))
        return failure();
      rule.plans.push_back(
          PlanDescription(*numbers, rule).make(each == firstForm ? first : TensorClass::Matrix));
    }
    return success();
  };
  if (failed(addForms(plan)))
    return failure();
  for (PlanOp probed : formsIn<PlanOp>(plan->getParentOfType<ModuleOp>())) {
    if (!probed.isBesideUnprobed())
      continue;
    for (auto probe : probed.getBody().getOps<ProbeOp>())
      rule.probes.push_back(
          {probe.getName().str(), llvm::transformOptional(probe.getEnd(), [](const APFloat &end) {
             return end.convertToDouble();
           })});
    if (failed(addForms(probed)))
      return failure();
    break;
  }
  return rule;
}
