//===- PlanChecks.cpp - Whether a plan's interface is consistent ------------------------------===//

#include "runtime/base/DType.h"
#include "runtime/base/RuleChecks.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

using namespace updraft::runtime;

// Far above the needs of any rule. This limits what a damaged file can make the runtime allocate.
static constexpr uint32_t maxRowScalars = 1 << 16;

/// Includes the article.
static std::string textOf(Extent over) {
  if (over == Extent::RowsByRows)
    return "rows x rows";
  if (over == Extent::ColumnsByColumns)
    return "columns x columns";
  if (over == Extent::ChosenByColumns)
    return "chosen rows x columns";
  if (over == Extent::RowsByChosen)
    return "rows x chosen columns";
  if (over == Extent::ChosenByChosen)
    return "chosen x chosen";
  return fmt::format("{} {}", over == Extent::Element ? "an" : "a", nameOf(over));
}

/// Whether a matrix of values over `matrix` has the values over `over`, a row, column or batch, or
/// is over them itself.
static bool isOfMatrix(Extent over, Extent matrix) {
  return over == matrix || over == Extent::Batch ||
         (over == Extent::Row && sidesOf(matrix).down == Side::Rows) ||
         (over == Extent::Column && sidesOf(matrix).along == Side::Columns);
}

static const char *loopOf(const SweepInterface &sweep) {
  return sweep.isBatches ? "batch" : sweep.isMatrix ? "matrix" : "flat";
}

namespace {

class PlanChecks {
public:
  PlanChecks(const RuleInterface &rule, const PlanInterface &plan) : rule(rule), plan(plan) {}

  std::string run() {
    if (plan.prefix.empty())
      fail("a plan has no prefix");
    if (plan.rowScalars < 1 || plan.rowScalars > maxRowScalars)
      fail(fmt::format("a row has {} scalars, expected 1 to {}", plan.rowScalars, maxRowScalars));
    if (!(plan.chosen >= 0 && plan.chosen <= 1))
      fail(fmt::format("a plan chooses {} of the rows or columns, expected 0 to 1", plan.chosen));
    checkStreams();
    for (const SweepInterface &sweep : plan.sweeps)
      if (problem.empty()) // streams and their numbers are valid
        checkSweep(sweep);
    for (const ProductInterface &product : plan.products)
      if (problem.empty())
        checkProduct(product);
    for (const CallInterface &call : plan.calls)
      if (problem.empty())
        checkCall(call);
    for (const StageInterface &stage : plan.sequence)
      if (stage.condition >= plan.rowScalars)
        fail(fmt::format("a stage has the condition {} of a row of {} scalars", stage.condition,
                         plan.rowScalars));
    checkExclusiveConditions();
    return std::move(problem);
  }

private:
  using Kind = StreamInterface::Kind;

  void fail(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }

  void checkExclusiveConditions() {
    const auto &pairs = plan.exclusiveConditions;
    for (const auto &[first, second] : pairs)
      if (first == 0 || first >= second || second >= plan.rowScalars)
        fail(fmt::format("the conditions {} and {} exclude each other, expected two from 1 to {}, "
                         "the smaller one first",
                         first, second, plan.rowScalars - 1));
    if (std::adjacent_find(pairs.begin(), pairs.end(), std::greater_equal<>()) != pairs.end())
      fail("pairs of conditions that exclude each other are not in ascending order");
  }

  void checkStreams() {
    const std::vector<StreamInterface> &streams = plan.streams;
    if (streams.size() < StreamIndex::FirstState ||
        streams[StreamIndex::Param].kind != Kind::Param ||
        streams[StreamIndex::Grad].kind != Kind::Grad)
      return fail("the first streams of a plan are not the parameter and the gradient");
    std::vector<uint32_t> found(rule.states.size());
    for (uint32_t i = 0; i < streams.size(); ++i) {
      checkStream(i);
      if (streams[i].kind == Kind::State && streams[i].state < found.size())
        ++found[streams[i].state];
    }
    for (const uint32_t state : plan.scalarStates) {
      if (state >= rule.states.size() || !isScalar(rule.states[state].over))
        return fail(
            fmt::format("`scalars` has state {}, which has no value per tensor or group", state));
      ++found[state];
    }
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i] != (rule.states[i].isOf(plan.tensors) ? 1 : 0))
        fail(fmt::format("a plan has state `{}` {} times", rule.states[i].name, found[i]));
  }

  void checkStream(uint32_t number) {
    const StreamInterface &stream = plan.streams[number];
    upd_dtype dtype = stream.dtype;
    Extent over = Extent::Element;
    switch (stream.kind) {
    case Kind::Param:
    case Kind::Grad:
      if (number >= StreamIndex::FirstState)
        return fail(fmt::format("stream {} is another parameter or gradient", number));
      dtype = stream.kind == Kind::Param ? rule.param : rule.grad;
      break;
    case Kind::State:
      if (stream.state >= rule.states.size())
        return fail(
            fmt::format("stream {} is state {} of {}", number, stream.state, rule.states.size()));
      dtype = rule.states[stream.state].dtype;
      over = rule.states[stream.state].over;
      break;
    case Kind::Scales:
      dtype = UPD_F32;
      break;
    case Kind::Temporary:
      over = stream.over;
      if (isScalar(over) || isBlocked(dtype))
        return fail(fmt::format("temporary {} is of `{}` over {}, expected elements within the "
                                "tensor",
                                number, nameOf(dtype), textOf(over)));
      break;
    }
    if (stream.dtype != dtype || stream.over != over || isScalar(over))
      fail(fmt::format("stream {} is of `{}` over {}, expected `{}` over {}", number,
                       nameOf(stream.dtype), textOf(stream.over), nameOf(dtype), textOf(over)));
    else if (isBlocked(dtype) && stream.scales == StreamInterface::none)
      fail(fmt::format("stream {} has blocks, but no scales", number));
  }

  void checkSweep(const SweepInterface &sweep) {
    if (isScalar(sweep.over))
      fail(fmt::format("a sweep is over {}", textOf(sweep.over)));
    if (sweep.isMatrix && !isMatrix(sweep.over))
      fail(fmt::format("a matrix loop is over {}, not an element", textOf(sweep.over)));
    if (sweep.isBatches && sweep.over != Extent::Row && sweep.over != Extent::Column)
      fail(fmt::format("a loop over batches is over {}, not a row or column", textOf(sweep.over)));
    checkList("reads", sweep.reads, sweep);
    checkList("writes", sweep.writes, sweep);
    checkList("makes", sweep.makes, sweep);
    if (!problem.empty())
      return;
    for (const uint32_t index : sweep.writes)
      if (index == StreamIndex::Grad)
        fail("a sweep writes the gradient");
      else if (plan.streams[index].over != sweep.over)
        fail(fmt::format("a sweep over {} writes stream {}, which is over {}", textOf(sweep.over),
                         index, textOf(plan.streams[index].over)));
    for (const uint32_t index : sweep.makes)
      if (plan.streams[index].kind != Kind::Temporary || plan.streams[index].over != sweep.over)
        fail(fmt::format("a sweep over {0} makes stream {1}, expected a temporary over {0}",
                         textOf(sweep.over), index));
    for (const ReductionInterface &reduction : sweep.reductions)
      checkReduction(reduction, sweep);
  }

  /// Accepts streams that fit the loop: of its extent, for a matrix loop also of rows, columns and
  /// batches that the matrix has, and for a loop over batches of batches.
  void checkList(const char *list, const std::vector<uint32_t> &indices,
                 const SweepInterface &sweep) {
    for (const uint32_t index : indices) {
      if (index >= plan.streams.size())
        return fail(fmt::format("`{}` has stream {} of {}", list, index, plan.streams.size()));
      const StreamInterface &stream = plan.streams[index];
      if (stream.kind == Kind::Scales)
        fail(fmt::format("`{}` has stream {}, which is of scales", list, index));
      if (stream.over != sweep.over && !(sweep.isMatrix && isOfMatrix(stream.over, sweep.over)) &&
          !(sweep.isBatches && stream.over == Extent::Batch))
        fail(fmt::format("`{}` of a {} sweep over {} has stream {}, which is over {}", list,
                         loopOf(sweep), textOf(sweep.over), index, textOf(stream.over)));
    }
  }

  void checkReduction(const ReductionInterface &reduction, const SweepInterface &sweep) {
    if (isMatrix(reduction.over))
      fail(fmt::format("a reduction is over {}", textOf(reduction.over)));
    const bool fits = sweep.isBatches ? reduction.over == Extent::Batch
                                      : isScalar(reduction.over) ||
                                            (sweep.isMatrix && reduction.over != Extent::Batch &&
                                             isOfMatrix(reduction.over, sweep.over));
    if (!fits)
      fail(
          fmt::format("a {} sweep has a reduction over {}", loopOf(sweep), textOf(reduction.over)));
    if (isScalar(reduction.over))
      return;
    if (reduction.into >= plan.streams.size() ||
        plan.streams[reduction.into].kind != Kind::Temporary ||
        plan.streams[reduction.into].over != reduction.over ||
        plan.streams[reduction.into].dtype != UPD_F64)
      fail(fmt::format(
          "a reduction over {0} goes into stream {1}, expected a temporary of `f64` over {0}",
          textOf(reduction.over), reduction.into));
  }

  /// Returns the sides of a matrix as it is multiplied: of an operand or a result, which must be a
  /// matrix of the compute type.
  Sides sidesOfFactor(uint32_t index, bool transposed, const char *what) {
    if (index >= plan.streams.size()) {
      fail(fmt::format("{} of a product is stream {} of {}", what, index, plan.streams.size()));
      return {};
    }
    const StreamInterface &stream = plan.streams[index];
    if (stream.kind == Kind::Scales)
      fail(fmt::format("{} of a product has scales of blocks, expected a matrix of `{}`", what,
                       nameOf(rule.compute)));
    if (!isMatrix(stream.over) || stream.dtype != rule.compute)
      fail(fmt::format("{} of a product is of `{}` over {}, expected a matrix of `{}`", what,
                       nameOf(stream.dtype), textOf(stream.over), nameOf(rule.compute)));
    const Sides sides = sidesOf(stream.over);
    return transposed ? Sides{sides.along, sides.down} : sides;
  }

  void checkProduct(const ProductInterface &product) {
    const Sides lhs = sidesOfFactor(product.lhs, product.lhsTransposed, "the left operand");
    const Sides rhs = sidesOfFactor(product.rhs, product.rhsTransposed, "the right operand");
    const Sides result = sidesOfFactor(product.result, false, "the result");
    if (!problem.empty())
      return;
    if (plan.streams[product.result].kind != Kind::Temporary || product.result == product.lhs ||
        product.result == product.rhs)
      fail(fmt::format("the result of a product is stream {}, expected a temporary that is no "
                       "operand",
                       product.result));
    if (lhs.along != rhs.down || lhs.down != result.down || rhs.along != result.along)
      fail(fmt::format("the streams {} and {} have no product over {}", product.lhs, product.rhs,
                       textOf(plan.streams[product.result].over)));
    if (product.operandFormat && rule.compute != UPD_F32)
      fail(fmt::format("{} product of `{}`, expected `f32`",
                       product.operandFormat == UPD_F16 ? "an f16" : "a bf16",
                       nameOf(rule.compute)));
    checkSum(product);
    checkTarget(product);
    if (product.symmetric && result.down != result.along)
      fail(fmt::format("the result of a symmetric product is over {}",
                       textOf(plan.streams[product.result].over)));
  }

  void checkScales(uint32_t first, uint32_t second) {
    if (first >= plan.rowScalars || second >= plan.rowScalars)
      fail(fmt::format("a product has the scales {} and {} of a row of {} scalars", first, second,
                       plan.rowScalars));
  }

  void checkTarget(const ProductInterface &product) {
    checkScales(product.sumScale, product.targetScale);
    if (!product.target) {
      if ((product.sumScale | product.targetScale) != 0)
        fail("a product has a scale of the sum or of the target, but no target");
      return;
    }
    if (!rule.gpu.empty())
      fail("a product of a rule for a GPU has a target");
    const uint32_t target = *product.target;
    sidesOfFactor(target, false, "the target");
    if (!problem.empty())
      return;
    const Kind kind = plan.streams[target].kind;
    if ((kind != Kind::Param && kind != Kind::State) || target == product.lhs ||
        target == product.rhs || target == product.addend || product.symmetric ||
        plan.streams[target].over != plan.streams[product.result].over)
      fail(fmt::format("the target of a product is stream {}, expected the parameter or a state "
                       "over {} that the product doesn't read, and no symmetric product",
                       target, textOf(plan.streams[product.result].over)));
  }

  void checkSum(const ProductInterface &product) {
    checkScales(product.scale, product.addendScale);
    if (!product.addend) {
      if ((product.scale | product.addendScale) != 0)
        fail("a product has a scale, but no addend");
      return;
    }
    sidesOfFactor(*product.addend, false, "the addend");
    if (!problem.empty())
      return;
    const StreamInterface &result = plan.streams[product.result];
    if (*product.addend == product.result || plan.streams[*product.addend].over != result.over)
      fail(fmt::format("the addend of a product is stream {}, expected another one over {} than "
                       "the result",
                       *product.addend, textOf(result.over)));
    if (!rule.gpu.empty())
      fail("a product of a rule for a GPU has an addend");
  }

  /// Returns the extent of a stream of a call, which must be of the compute type.
  Extent operandOf(const CallInterface &call, uint32_t index) {
    if (index >= plan.streams.size()) {
      fail(fmt::format("a call of `{}` has stream {} of {}", nameOf(call.function), index,
                       plan.streams.size()));
      return Extent::Element;
    }
    if (plan.streams[index].dtype != rule.compute || plan.streams[index].kind == Kind::Scales)
      fail(fmt::format("a call of `{}` has stream {} of `{}`, expected `{}`", nameOf(call.function),
                       index, nameOf(plan.streams[index].dtype), nameOf(rule.compute)));
    return plan.streams[index].over;
  }

  void checkCall(const CallInterface &call) {
    const Extent matrix = operandOf(call, call.operands[0]);
    const Extent other = call.operands.size() == 1 ? matrix : operandOf(call, call.operands[1]);
    const Extent result = operandOf(call, call.result);
    if (!problem.empty())
      return;
    const bool isByRows = matrix == Extent::RowsByRows;
    bool fits = isSquare(matrix);
    Extent expected = matrix;
    if (usesChosen(call.function)) {
      const bool ofRows = isOfRows(call.function);
      const Extent chosen = ofRows ? Extent::ChosenByColumns : Extent::RowsByChosen;
      const bool gathers = isGather(call.function);
      if (call.function == MatrixFunction::Largest) {
        fits = matrix == Extent::Row || matrix == Extent::Column;
      } else {
        fits = matrix == (gathers ? Extent::Element : chosen) &&
               other == (ofRows ? Extent::Row : Extent::Column);
        expected = gathers ? chosen : Extent::Element;
      }
      if (plan.chosen == 0)
        fail(fmt::format("a call of `{}` is in a plan that chooses no rows or columns",
                         nameOf(call.function)));
    } else if (isSort(call.function)) {
      const bool byRow =
          matrix == Extent::Element ? call.function == MatrixFunction::SortRows : isByRows;
      fits = (matrix == Extent::Element || isSquare(matrix)) &&
             other == (byRow ? Extent::Row : Extent::Column);
    } else if (isSolver(call.function)) {
      fits = fits && isMatrix(other) && sidesOf(other).down == sidesOf(matrix).down;
      expected = other;
    } else if (call.function == MatrixFunction::Eigenvalues) {
      expected = isByRows ? Extent::Row : Extent::Column;
    }
    if (!fits || result != expected)
      fail(fmt::format("a call of `{}` takes {}{} and makes {}", nameOf(call.function),
                       textOf(matrix), call.operands.size() == 1 ? "" : " and " + textOf(other),
                       textOf(result)));
    if (plan.streams[call.result].kind != Kind::Temporary ||
        std::find(call.operands.begin(), call.operands.end(), call.result) != call.operands.end())
      fail(fmt::format("the result of a call of `{}` is stream {}, expected a temporary that is no "
                       "operand",
                       nameOf(call.function), call.result));
  }

  const RuleInterface &rule;
  const PlanInterface &plan;
  std::string problem;
};

} // namespace

std::string updraft::runtime::problemOf(const RuleInterface &rule, const PlanInterface &plan) {
  return PlanChecks(rule, plan).run();
}
