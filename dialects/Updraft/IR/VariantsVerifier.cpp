//===- VariantsVerifier.cpp - Constraints of the forms of a rule ------------------------------===//
// Each check is marked with the label of its constraint in the operation's description.

#include "Updraft/IR/UpdraftOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace updraft;

namespace {

/// Names, and what must be the same under a name.
using Properties = SmallVector<std::pair<StringRef, Attribute>>;

Properties hypersOf(Region &form) {
  Properties hypers;
  for (auto hyper : form.getOps<HyperOp>())
    hypers.push_back({hyper.getName(), hyper.getDefaultValueAttr()});
  return hypers;
}

/// Returns the streams and scalar states with their storage and extent.
Properties statesOf(Region &form) {
  Builder builder(form.getContext());
  Properties states;
  auto add = [&](StringRef name, Type storage, Extent over) {
    const auto extent = builder.getI32IntegerAttr(static_cast<int32_t>(over));
    states.push_back({name, builder.getArrayAttr({TypeAttr::get(storage), extent})});
  };
  for (Operation &op : form.front())
    if (auto param = dyn_cast<ParamOp>(op))
      add("param", param.getStorage(), Extent::element);
    else if (auto grad = dyn_cast<GradOp>(op))
      add("grad", grad.getStorage(), Extent::element);
    else if (auto state = dyn_cast<StateOp>(op))
      add(state.getName(), state.getStorage(), state.getOver());
    else if (auto stream = dyn_cast<StreamOp>(op))
      add(stream.getName(), stream.getType().getStorage(), stream.getType().getOver());
    else if (auto scalar = dyn_cast<ScalarOp>(op))
      add(scalar.getName(), scalar.getStorage(), scalar.getOver());
  return states;
}

/// Returns the messages of the requirements.
Properties requirementsOf(Region &form) {
  Properties messages;
  for (Operation &op : form.front())
    if (auto require = dyn_cast<RequireOp>(op))
      messages.push_back({require.getMessage(), Attribute()});
    else if (auto validate = dyn_cast<ValidateOp>(op))
      for (auto message : validate.getMessages().getAsRange<StringAttr>())
        messages.push_back({message.getValue(), Attribute()});
  return messages;
}

/// Returns the elements of `list` whose names `others` has, too.
Properties sharedWith(const Properties &list, const Properties &others) {
  Properties shared;
  for (const auto &each : list)
    if (llvm::any_of(others, [&](const auto &other) { return other.first == each.first; }))
      shared.push_back(each);
  return shared;
}

/// Reports the first difference between the forms.
LogicalResult verifySame(Operation *matrices, const Properties &ofVectors,
                         const Properties &ofMatrices, StringRef what) {
  for (size_t i = 0; i < std::max(ofVectors.size(), ofMatrices.size()); ++i) {
    const StringRef mine = i < ofMatrices.size() ? ofMatrices[i].first : "",
                    other = i < ofVectors.size() ? ofVectors[i].first : "";
    if (mine != other)
      return matrices->emitOpError()
             << "has the " << what << " \"" << mine << "\" where `vectors` has \"" << other << "\"";
    if (ofVectors[i].second != ofMatrices[i].second)
      return matrices->emitOpError()
             << "has the " << what << " \"" << mine << "\" of another type or value than `vectors`";
  }
  return success();
}

template <typename FormOp> LogicalResult verifyForms(FormOp vectors, FormOp matrices) {
  // variants_c1
  if (vectors.getMatrix())
    return vectors.emitOpError() << "in `vectors` has `matrix`";
  if (!matrices.getMatrix())
    return matrices.emitOpError() << "in `matrices` must have `matrix`";
  const std::string name = (vectors.getSymName() + "_matrix").str();
  if (matrices.getSymName() != name)
    return matrices.emitOpError() << "has the name @" << matrices.getSymName() << ", must be @"
                                  << name;
  // variants_c2
  if (vectors.getCompute() != matrices.getCompute() || vectors.getFast() != matrices.getFast())
    return matrices.emitOpError() << "must have the compute type and numerics of `vectors`";
  Region &first = vectors.getBody(), &second = matrices.getBody();
  if (failed(verifySame(matrices, hypersOf(first), hypersOf(second), "hyperparameter")) ||
      failed(verifySame(matrices, requirementsOf(first), requirementsOf(second), "requirement")))
    return failure();
  // variants_c3
  const Properties states = statesOf(first), others = statesOf(second);
  return verifySame(matrices, sharedWith(states, others), sharedWith(others, states), "state");
}

} // namespace

LogicalResult VariantsOp::verifyRegions() {
  for (Region &region : getOperation()->getRegions())
    if (!llvm::hasSingleElement(region.front()))
      return emitOpError() << "has a region without exactly one operation";
  if (auto vectors = dyn_cast<RuleOp>(getVectorForm()))
    if (auto matrices = dyn_cast<RuleOp>(getMatrixForm()))
      return verifyForms(vectors, matrices);
  if (auto vectors = dyn_cast<PlanOp>(getVectorForm()))
    if (auto matrices = dyn_cast<PlanOp>(getMatrixForm()))
      return verifyForms(vectors, matrices);
  return emitOpError() << "must have two `updraft.rule` or two `updraft.plan`";
}
