//===- VariantsVerifier.cpp - Constraints of the forms of a rule ------------------------------===//
// Each check is marked with the label of its constraint in the operation's description.

#include "Updraft/IR/Extent.h"
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
    if (auto input = dyn_cast<TensorInputOpInterface>(op))
      add(input.getTensorName(), input.getStorage(), extentOf(op.getResult(0)));
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

Properties probesOf(Region &form) {
  Properties probes;
  for (auto probe : form.getOps<ProbeOp>())
    probes.push_back({probe.getName(), probe.getEndAttr()});
  return probes;
}

/// Returns the elements of `list` whose names `others` has, too.
Properties sharedWith(const Properties &list, const Properties &others) {
  Properties shared;
  for (const auto &each : list)
    if (llvm::any_of(others, [&](const auto &other) { return other.first == each.first; }))
      shared.push_back(each);
  return shared;
}

/// Reports the first difference from the first form.
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

template <typename FormOp> LogicalResult verifyAgree(FormOp first, FormOp other) {
  // variants_c2
  if (first.getCompute() != other.getCompute() || first.getFast() != other.getFast())
    return other.emitOpError() << "must have the compute type and numerics of @"
                               << first.getSymName();
  if (failed(verifySame(other, hypersOf(first.getBody()), hypersOf(other.getBody()),
                        "hyperparameter")) ||
      failed(verifySame(other, requirementsOf(first.getBody()), requirementsOf(other.getBody()),
                        "requirement")) ||
      // variants_c5
      failed(verifySame(other, probesOf(first.getBody()), probesOf(other.getBody()), "probe")))
    return failure();
  // variants_c3
  const Properties states = statesOf(first.getBody()), others = statesOf(other.getBody());
  if (first.getMatrix())
    return verifySame(other, states, others, "state");
  return verifySame(other, sharedWith(states, others), sharedWith(others, states), "state");
}

template <typename FormOp> LogicalResult verifyName(FormOp first, FormOp form) {
  std::string name = first.getSymName().str();
  if (!form.getShapes())
    name += "_matrix";
  else
    name += suffixOf(*form.getShapes());
  if (form.getSymName() == name)
    return success();
  return form.emitOpError() << "has the name @" << form.getSymName() << ", must be @" << name;
}

template <typename FormOp> LogicalResult verifyForms(VariantsOp variants) {
  auto vectors = dyn_cast_or_null<FormOp>(variants.getVectorForm());
  // variants_c1
  if (vectors && vectors.getMatrix())
    return vectors.emitOpError() << "in `vectors` has `matrix`";
  auto first = cast<FormOp>(variants.getForms().front());
  auto covered = MatrixShapes(0);
  for (auto form : variants.getMatrices().template getOps<FormOp>()) {
    if (!form.getMatrix())
      return form.emitOpError() << "in `matrices` must have `matrix`";
    // variants_c4
    const MatrixShapes shapes = form.getShapes().value_or(allShapes);
    if (bitEnumContainsAny(covered, shapes))
      return form.emitOpError() << "is for a shape of matrices that another form is for, too";
    covered = covered | shapes;
    if (form != first &&
        (failed(verifyName<FormOp>(first, form)) || failed(verifyAgree<FormOp>(first, form))))
      return failure();
  }
  if (covered != allShapes)
    return variants.emitOpError() << "has no form for matrices of the shape `"
                                  << stringifyMatrixShapes(allShapes & ~covered) << "`";
  for (auto form : llvm::drop_begin(variants.getMatrices().template getOps<FormOp>()))
    if (failed(verifyAgree<FormOp>(cast<FormOp>(variants.getMatrixForm()), form)))
      return failure();
  return success();
}

} // namespace

std::string updraft::suffixOf(MatrixShapes shapes) {
  std::string suffix;
  for (MatrixShapes shape : {MatrixShapes::wide, MatrixShapes::square, MatrixShapes::tall})
    if (bitEnumContainsAny(shapes, shape))
      suffix += ("_" + stringifyMatrixShapes(shape));
  return suffix;
}

Operation *VariantsOp::getVectorForm() {
  Block &vectors = getVectors().front();
  return vectors.empty() ? nullptr : &vectors.front();
}

SmallVector<Operation *, 4> VariantsOp::getForms() {
  SmallVector<Operation *, 4> forms;
  for (Region *region : {&getVectors(), &getMatrices()})
    for (Operation &form : region->front())
      forms.push_back(&form);
  return forms;
}

LogicalResult VariantsOp::verifyRegions() {
  const SmallVector<Operation *, 4> forms = getForms();
  Block &vectors = getVectors().front();
  if (forms.size() < 2 || getMatrices().front().empty() ||
      (!vectors.empty() && !llvm::hasSingleElement(vectors)))
    return emitOpError() << "must have at least two forms, and at most one of them in `vectors`";
  if (llvm::all_of(forms, [](Operation *form) { return isa<RuleOp>(form); }))
    return verifyForms<RuleOp>(*this);
  if (llvm::all_of(forms, [](Operation *form) { return isa<PlanOp>(form); }))
    return verifyForms<PlanOp>(*this);
  return emitOpError() << "must have only `updraft.rule` or only `updraft.plan`";
}
