//===- PlanReader.cpp - The JSON form of a plan's interface -----------------------------------===//
// Checks everything that the engine relies on. The engine doesn't check the numbers of streams,
// passes and prologues.

#include "runtime/base/InterfaceReader.h"

#include <algorithm>
#include <fmt/format.h>

using namespace updraft::runtime;
using Json = InterfaceReader::Json;

// Far above the needs of any rule. These limit what a damaged file can make the runtime allocate.
static constexpr uint32_t maxRowScalars = 1 << 16;
static constexpr uint32_t maxPrologues = 1 << 12;

/// Includes the article.
static const char *textOf(Extent over) {
  switch (over) {
  case Extent::Group:
    return "a group";
  case Extent::Tensor:
    return "a tensor";
  case Extent::Batch:
    return "a batch";
  case Extent::Row:
    return "a row";
  case Extent::Column:
    return "a column";
  case Extent::Element:
    return "an element";
  }
  return "";
}

/// The value of `loop`.
static const char *nameOf(const PassInterface &pass) {
  return pass.isBatches ? "batch" : pass.isMatrix ? "matrix" : "flat";
}

namespace {

class PlanReader {
public:
  PlanReader(InterfaceReader &reader, const RuleInterface &rule, PlanInterface &plan)
      : reader(reader), rule(rule), plan(plan) {}

  void read(const Json &json) {
    static constexpr const char *classes[] = {"any", "vector", "matrix"};
    plan.tensors = static_cast<TensorClass>(reader.word(json, "for", classes, true));
    plan.prefix = reader.name(json, "prefix");
    plan.rowScalars = reader.count(json, "row_scalars", maxRowScalars);
    if (plan.rowScalars < 1)
      reader.fail("`row_scalars` is 0, but a row has a skip flag");
    plan.usesRandom = reader.flag(json, "random", true);
    plan.prologues = reader.count(json, "prologues", maxPrologues);
    for (const Json &temporary : reader.array(json, "temporaries"))
      readTemporary(temporary);
    streams = rule.streamsOf(plan);
    for (const Json &stage : reader.array(json, "sequence"))
      readStage(stage);
    if (prologuesSeen != plan.prologues)
      reader.fail(fmt::format("`sequence` has {} prologues, but `prologues` is {}", prologuesSeen,
                              plan.prologues));
  }

private:
  void readTemporary(const Json &json) {
    plan.temporaries.push_back({reader.dtype(json, "dtype"), reader.extent(json, true)});
    const Extent over = plan.temporaries.back().over;
    if (isScalar(over) || over == Extent::Element)
      reader.fail(fmt::format("a temporary is over {}, not a row, column or batch", textOf(over)));
  }

  void readStage(const Json &json) {
    if (json.is_object() && json.contains("prologue")) {
      readNumber(json, "prologue", prologuesSeen);
      static constexpr const char *rowKinds[] = {"step", "tensor"};
      const bool byTensor = reader.word(json, "rows_by", rowKinds, true) == 1;
      plan.sequence.push_back({false, prologuesSeen++, byTensor});
      return;
    }
    readNumber(json, "pass", static_cast<uint32_t>(plan.passes.size()));
    plan.sequence.push_back({true, static_cast<uint32_t>(plan.passes.size())});
    readPass(json);
  }

  void readNumber(const Json &json, const char *key, uint32_t expected) {
    const uint32_t number = reader.count(json, key, ~uint32_t(0));
    if (number != expected)
      reader.fail(fmt::format("`sequence` has {} {}, where {} comes next", key, number, expected));
  }

  void readPass(const Json &json) {
    static constexpr const char *loops[] = {"flat", "matrix", "batch"};
    PassInterface pass;
    pass.over = reader.extent(json, true);
    if (isScalar(pass.over))
      reader.fail(fmt::format("a pass is over {}", textOf(pass.over)));
    const size_t loop = reader.word(json, "loop", loops, true);
    pass.isMatrix = loop == 1;
    pass.isBatches = loop == 2;
    if (pass.isMatrix && pass.over != Extent::Element)
      reader.fail(fmt::format("a matrix loop is over {}, not an element", textOf(pass.over)));
    if (pass.isBatches && pass.over != Extent::Row && pass.over != Extent::Column)
      reader.fail(
          fmt::format("a loop over batches is over {}, not a row or column", textOf(pass.over)));
    pass.reads = readStreams(json, "reads", pass);
    pass.writes = readStreams(json, "writes", pass);
    for (uint32_t index : pass.writes) {
      if (index == StreamIndex::Grad)
        reader.fail("a pass writes the gradient");
      else if (streams[index].over != pass.over)
        reader.fail(fmt::format("a pass over {} writes stream {}, which is over {}",
                                textOf(pass.over), index, textOf(streams[index].over)));
    }
    pass.makes = readStreams(json, "makes", pass);
    for (uint32_t index : pass.makes)
      if (!isTemporary(index) || streams[index].over != pass.over)
        reader.fail(fmt::format("a pass over {} makes stream {}, which is no temporary over one",
                                textOf(pass.over), index));
    for (const Json &reduction : reader.array(json, "reductions"))
      readReduction(reduction, pass);
    plan.passes.push_back(std::move(pass));
  }

  /// Accepts streams that fit the loop: of its extent, for a matrix loop of any extent, and for a
  /// loop over batches of batches.
  std::vector<uint32_t> readStreams(const Json &json, const char *key, const PassInterface &pass) {
    std::vector<uint32_t> result;
    for (const Json &value : reader.array(json, key)) {
      if (!value.is_number_unsigned() || value.get<uint64_t>() >= streams.size()) {
        reader.fail(fmt::format("`{}` holds what is not the index of a stream", key));
        return {};
      }
      const auto index = value.get<uint32_t>();
      if (std::any_of(streams.begin(), streams.end(),
                      [&](const StreamInterface &stream) { return stream.scales == index; }))
        reader.fail(fmt::format("`{}` has stream {}, which is of scales", key, index));
      if (!pass.isMatrix && streams[index].over != pass.over &&
          !(pass.isBatches && streams[index].over == Extent::Batch))
        reader.fail(fmt::format("`{}` of a {} pass over {} has stream {}, which is over {}", key,
                                nameOf(pass), textOf(pass.over), index,
                                textOf(streams[index].over)));
      result.push_back(index);
    }
    return result;
  }

  bool isTemporary(uint32_t index) const {
    return index >= streams.size() - plan.temporaries.size();
  }

  void readReduction(const Json &json, PassInterface &pass) {
    static constexpr const char *kinds[] = {"sum", "max"};
    ReductionInterface reduction;
    reduction.kind = static_cast<ReductionInterface::Kind>(reader.word(json, "kind", kinds, true));
    reduction.over = reader.extent(json, true);
    if (reduction.over == Extent::Element)
      reader.fail("a reduction is over an element");
    const bool fits = pass.isBatches  ? reduction.over == Extent::Batch
                      : pass.isMatrix ? reduction.over != Extent::Batch
                                      : isScalar(reduction.over);
    if (!fits)
      reader.fail(
          fmt::format("a {} pass has a reduction over {}", nameOf(pass), textOf(reduction.over)));
    if (!isScalar(reduction.over)) {
      reduction.into = reader.count(json, "into", ~uint32_t(0));
      if (reduction.into >= streams.size() || !isTemporary(reduction.into) ||
          streams[reduction.into].over != reduction.over ||
          streams[reduction.into].dtype != UPD_F64)
        reader.fail(fmt::format("a reduction over {} goes into stream {}, which is no temporary "
                                "over one of f64",
                                textOf(reduction.over), reduction.into));
    }
    pass.reductions.push_back(reduction);
  }

  InterfaceReader &reader;
  const RuleInterface &rule;
  PlanInterface &plan;
  std::vector<StreamInterface> streams;
  uint32_t prologuesSeen = 0;
};

} // namespace

PlanInterface updraft::runtime::readPlan(InterfaceReader &reader, const Json &json,
                                         const RuleInterface &rule) {
  PlanInterface plan;
  // Invalid streams must not be used as indices.
  if (!reader.failed())
    PlanReader(reader, rule, plan).read(json);
  return plan;
}

void updraft::runtime::checkPlans(InterfaceReader &reader, const RuleInterface &rule) {
  const std::vector<PlanInterface> &plans = rule.plans;
  if (plans.empty())
    return reader.fail("`plans` is empty");
  const bool forAll = plans.size() == 1 && plans[0].tensors == TensorClass::Any;
  for (size_t i = 0; i < plans.size() && !forAll; ++i)
    if (plans[i].tensors == TensorClass::Any ||
        (i != 0 && (i > 1 || plans[i].tensors == plans[0].tensors)))
      return reader.fail("`plans` has more than one plan for a tensor");
  for (const StateInterface &state : rule.states)
    if (std::none_of(plans.begin(), plans.end(), [&](const PlanInterface &plan) {
          return state.tensors == TensorClass::Any || state.tensors == plan.tensors;
        }))
      return reader.fail(fmt::format("no plan has state `{}`", state.name));
  if (plans.size() == 2 && plans[0].groupReductions() != plans[1].groupReductions())
    return reader.fail("the plans have different reductions over the group");
}
