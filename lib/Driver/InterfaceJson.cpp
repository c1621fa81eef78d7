//===- InterfaceJson.cpp - The interface of plans as JSON -------------------------------------===//

#include "InterfaceJson.h"

#include "TypeName.h"
#include "updraft/Conversion/StateList.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace updraft;
using nlohmann::ordered_json;

namespace {

ordered_json hypersOf(PlanOp plan) {
  auto hypers = ordered_json::array();
  for (auto hyper : plan.getBody().getOps<HyperOp>()) {
    ordered_json value = hyper.getDefaultValue().convertToDouble();
    if (hyper.getDefaultValue().isInfinity()) // JSON has no infinity
      value = hyper.getDefaultValue().isNegative() ? "-inf" : "inf";
    hypers.push_back({{"name", hyper.getName().str()}, {"default", std::move(value)}});
  }
  return hypers;
}

ordered_json statesJson(PlanOp plan, PlanOp matrix) {
  auto states = ordered_json::array();
  for (const PlanState &state : statesOf(plan, matrix)) {
    ordered_json json{{"name", state.name.str()}, {"dtype", typeName(state.storage)}};
    if (state.over != Extent::element)
      json["over"] = stringifyExtent(state.over).str();
    if (matrix && !(state.inFirst && state.inMatrix))
      json["for"] = state.inFirst ? "vector" : "matrix";
    if (state.fromStep)
      json["from_step"] = true;
    states.push_back(std::move(json));
  }
  return states;
}

/// Returns the largest extent that an element's update depends on: that of its reductions and
/// sizes, or the group if there is a state over the group. Rows, columns and batches count as the
/// tensor.
Extent dependsOn(PlanOp plan, PlanOp matrix) {
  Extent result = Extent::element;
  auto include = [&](Extent over) {
    if (result != Extent::group)
      result = over == Extent::group ? Extent::group : Extent::tensor;
  };
  for (PlanOp each : {plan, matrix})
    if (each)
      each.walk([&](Operation *op) {
        if (auto size = dyn_cast<SizeOp>(op))
          include(size.getOver());
        else if (auto pass = dyn_cast<PassOp>(op))
          for (auto reduction : pass.getReductionRange())
            include(reduction.getOver());
      });
  for (const PlanState &state : statesOf(plan, matrix))
    if (state.over == Extent::group)
      include(state.over);
  return result;
}

ordered_json messagesOf(PlanOp plan) {
  auto messages = ordered_json::array();
  for (auto validate : plan.getBody().getOps<ValidateOp>())
    for (auto message : validate.getMessages().getAsRange<StringAttr>())
      messages.push_back(message.getValue().str());
  return messages;
}

/// Omits flags whose requirements hold for all values: they don't depend on hyperparameters.
ordered_json derivedJson(const ImportedRule &imported, const ordered_json &messages) {
  auto derived = ordered_json::array();
  for (const DerivedFlag &flag : imported.derived)
    if (auto found = llvm::find(messages, flag.message); found != messages.end())
      derived.push_back({{"flag", flag.name},
                         {"from", flag.hypers},
                         {"message", std::distance(messages.begin(), found)}});
  return derived;
}

/// The sequence of one plan, with its temporaries numbered after its streams.
class PlanJson {
public:
  explicit PlanJson(PlanOp plan) : plan(plan) {
    for (auto stream : plan.getBody().getOps<StreamOp>())
      streams.insert({stream.getResult(), streams.size()});
    for (auto stream : plan.getBody().getOps<StreamOp>())
      scales += isa<BlockedType>(stream.getType().getStorage());
  }

  ordered_json make(StringRef tensors) {
    for (Operation &op : plan.getBody().front()) {
      if (auto prologue = dyn_cast<PrologueOp>(op))
        add(prologue);
      else if (auto pass = dyn_cast<PassOp>(op))
        add(pass);
    }
    bool usesRandom = plan.walk([](RandomOp) { return WalkResult::interrupt(); }).wasInterrupted();
    return {{"for", tensors.str()},           {"prefix", plan.getSymName().str()},
            {"row_scalars", rowScalars},      {"random", usesRandom},
            {"prologues", prologues},         {"temporaries", std::move(temporaries)},
            {"sequence", std::move(sequence)}};
  }

private:
  ordered_json indicesOf(ValueRange values) {
    auto indices = ordered_json::array();
    for (Value value : values)
      indices.push_back(streams.lookup(value));
    return indices;
  }

  /// Whether a result is the next value of a state with one value per tensor.
  bool hasNextOfTensor(PrologueOp prologue) {
    for (auto commit : plan.getBody().getOps<CommitOp>())
      for (auto [value, scalar] :
           llvm::zip_equal(commit.getScalars(), plan.getBody().getOps<ScalarOp>()))
        if (value.getDefiningOp() == prologue && scalar.getOver() == Extent::tensor)
          return true;
    return false;
  }

  void add(PrologueOp prologue) {
    const bool byTensor = prologue.isPerTensor() || hasNextOfTensor(prologue);
    sequence.push_back({{"prologue", prologues++}, {"rows_by", byTensor ? "tensor" : "step"}});
    rowScalars += prologue.getNumResults();
  }

  void add(PassOp pass) {
    for (Value result : pass.getResults())
      if (auto stream = dyn_cast<StreamType>(result.getType())) {
        streams.insert({result, streams.size() + scales});
        temporaries.push_back({{"dtype", typeName(stream.getStorage())},
                               {"over", stringifyExtent(stream.getOver()).str()}});
      }
    auto reductions = ordered_json::array();
    for (auto [index, reduction] : llvm::enumerate(pass.getReductionRange())) {
      ordered_json json{{"kind", stringifyReductionKind(reduction.getKind()).str()},
                        {"over", stringifyExtent(reduction.getOver()).str()}};
      if (!isWithin(reduction.getOver(), Extent::tensor))
        json["into"] = streams.lookup(pass.getResult(index));
      reductions.push_back(std::move(json));
    }
    sequence.push_back({{"pass", passes++},
                        {"over", stringifyExtent(pass.getOver()).str()},
                        {"loop", pass.runsByRows()      ? "matrix"
                                 : pass.runsByBatches() ? "batch"
                                                        : "flat"},
                        {"reads", indicesOf(pass.getReads())},
                        {"writes", indicesOf(pass.getWrites())},
                        {"makes", indicesOf(pass.getTemporaries())},
                        {"reductions", std::move(reductions)}});
  }

  PlanOp plan;
  llvm::DenseMap<Value, unsigned> streams;
  ordered_json temporaries = ordered_json::array(), sequence = ordered_json::array();
  unsigned rowScalars = 1; // the skip flag
  unsigned prologues = 0, passes = 0;
  unsigned scales = 0; // streams of scales, between the states and the temporaries
};

/// Returns the kind of tensors that the first plan is for.
StringRef tensorsOf(PlanOp plan, PlanOp matrix, const ImportedRule &imported) {
  if (plan.getMatrix())
    return "matrix";
  return matrix || imported.tensors == UPD_VECTORS ? "vector" : "any";
}

} // namespace

std::string updraft::interfaceJson(PlanOp plan, llvm::StringRef numerics, llvm::StringRef gpu,
                                   const ImportedRule &imported) {
  PlanOp matrix = matrixPlanOf(plan);
  ordered_json json{{"format", 3},
                    {"name", plan.getSymName().str()},
                    {"compute", typeName(plan.getCompute())},
                    {"numerics", numerics.str()}};
  if (!gpu.empty())
    json["gpu"] = gpu.str();
  json["statics"] = ordered_json::object();
  for (const auto &[name, value] : imported.statics)
    json["statics"][name] = value;
  for (auto stream : plan.getBody().getOps<StreamOp>())
    if (stream.getName() == "param" || stream.getName() == "grad")
      json[stream.getName().str()] = typeName(stream.getType().getStorage());
  json["states"] = statesJson(plan, matrix);
  if (const Extent extent = dependsOn(plan, matrix); extent != Extent::element)
    json["depends_on"] = stringifyExtent(extent).str();
  json["hypers"] = hypersOf(plan);
  json["messages"] = messagesOf(plan);
  if (ordered_json derived = derivedJson(imported, json["messages"]); !derived.empty())
    json["derived"] = std::move(derived);
  json["plans"] = ordered_json::array({PlanJson(plan).make(tensorsOf(plan, matrix, imported))});
  if (matrix)
    json["plans"].push_back(PlanJson(matrix).make("matrix"));
  return json.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}
