//===- Importer.cpp - From a checked rule to updraft.rule -------------------------------------===//
// Creates the operations of one rule with its static flags and storage types: the interface first,
// then the requirements, then the stages' updates.

#include "Chain.h"
#include "Requirements.h"
#include "StageImporter.h"
#include "Usage.h"

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/ScopeExit.h"

using namespace updraft;
using llvm::StringRef;
using mlir::Location;

namespace {
mlir::Type elementType(mlir::Builder &builder, StorageType type) {
  switch (type) {
  case StorageType::F64:
    return builder.getF64Type();
  case StorageType::BF16:
    return builder.getBF16Type();
  case StorageType::F16:
    return builder.getF16Type();
  case StorageType::BF16Stochastic:
    return StochasticType::get(builder.getContext(), builder.getBF16Type());
  case StorageType::BF16Corrected:
    return CorrectedType::get(builder.getContext(), builder.getBF16Type());
  case StorageType::Q8Linear:
    return BlockedType::get(builder.getContext(), Quantisation::linear);
  case StorageType::Q8Companded:
    return BlockedType::get(builder.getContext(), Quantisation::companded);
  case StorageType::F32:
    break;
  }
  return builder.getF32Type();
}

/// Imports the rule for vectors or the rule for matrices.
class RuleImporter {
public:
  /// `shapes` are the candidates. The rule's conditions on shapes decide for which of them this
  /// form is.
  RuleImporter(mlir::MLIRContext &context, const ResolvedRequest &request, StringRef numerics,
               bool isMatrix, MatrixShapes shapes, DiagnosticEngine &diagnostics)
      : builder(&context), request(request), isMatrix(isMatrix), diagnostics(diagnostics),
        compute(request.computesInF64() ? mlir::Type(builder.getF64Type())
                                        : mlir::Type(builder.getF32Type())),
        evaluator(builder, compute, numerics, diagnostics) {
    evaluator.isMatrix = isMatrix;
    evaluator.shapes = shapes;
  }

  /// Creates the rule at the end of `place`. Returns the flags that are derived from
  /// hyperparameters.
  std::vector<DerivedFlag> importInto(mlir::Block *place, StringRef numerics) {
    const size_t before = diagnostics.diagnostics().size();
    Location loc = evaluator.location(request.rule->name);
    builder.setInsertionPointToEnd(place);
    std::string name = request.rule->name.text.str() + (isMatrix ? "_matrix" : "");
    auto op = RuleOp::create(builder, loc, name, compute, isMatrix, /*shapes=*/MatrixShapesAttr(),
                             /*chosen=*/mlir::FloatAttr(), numerics == fastNumerics);
    builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());

    for (const ResolvedStage &stage : request.stages)
      importParameters(stage);
    std::vector<DerivedFlag> derived;
    for (auto [stage, names] : llvm::zip(request.stages, stageNames)) {
      evaluator.setCalls(stage.calls);
      llvm::append_range(derived,
                         importRequirements(builder, evaluator, stage, names, diagnostics));
    }
    evaluator.setCalls({});
    // Otherwise a function could refuse a value that a requirement has named.
    if (diagnostics.diagnostics().size() != before)
      return derived;
    importUpdates();
    if (evaluator.emit.chosenFraction)
      op.setChosen(llvm::APFloat(*evaluator.emit.chosenFraction));
    if (isMatrix && shapes() != allShapes) {
      op.setShapes(shapes());
      op.setSymName(request.rule->name.text.str() + suffixOf(shapes()));
    }
    return derived;
  }

  /// The shapes of matrices that the imported rule is for.
  MatrixShapes shapes() const { return evaluator.shapes; }

private:
  void importParameters(const ResolvedStage &stage) {
    evaluator.setCalls(stage.calls);
    Names &names = stageNames.emplace_back();
    names.file = stage.rule->file;
    for (const ResolvedParameter &parameter : stage.parameters) {
      const Identifier &name = parameter.declaration->name;
      if (parameter.declaration->isStatic) {
        names.add(name.text, parameter.value);
        continue;
      }
      Identifier known{parameter.name, name.range};
      auto op = HyperOp::create(builder, evaluator.location(known), builder.getF64Type(),
                                builder.getStringAttr(parameter.name),
                                builder.getF64FloatAttr(parameter.value.number));
      names.add(name.text, Value::ofIr(Kind::Number, Extent::group, op));
    }
  }

  void importUpdates() {
    Location loc = evaluator.location(request.rule->name.range);
    Inputs inputs(builder, evaluator, loc);
    inputs.createParam(compute, elementType(builder, request.param), nameOf("param"));
    inputs.createGrad(compute, elementType(builder, request.grad), nameOf("grad"));

    std::vector<std::unique_ptr<StageImporter>> stages;
    for (auto [stage, names] : llvm::zip(request.stages, stageNames)) {
      Names known = names;
      known.add("matrix", Value::ofBool(isMatrix));
      stages.push_back(std::make_unique<StageImporter>(builder, evaluator, stage, std::move(known),
                                                       isMatrix, diagnostics));
    }
    for (auto &stage : stages) {
      stage->createInputs(inputs);
      if (stage->holds())
        break;
    }
    for (auto &stage : stages)
      stage->createStates(
          [&](const ResolvedState &state) { return elementType(builder, state.storage); });
    Progress progress(inputs);
    for (auto &stage : stages)
      stage->importUpdate(progress);
    for (auto &stage : llvm::reverse(stages))
      stage->importFinish(progress);
    llvm::SmallVector<mlir::Value> states;
    for (auto &stage : stages)
      stage->appendNext(states);
    importRequestedProbes(stages, progress);
    createProbes(progress);
    evaluator.setCalls({});
    mlir::Value skip = progress.skip ? evaluator.emit.flag(*progress.skip, loc) : mlir::Value();
    llvm::SmallVector<Location> places{loc};
    llvm::append_range(places, progress.writes);
    auto next =
        NextOp::create(builder, mlir::FusedLoc::get(places, mlir::Attribute(), loc.getContext()),
                       evaluator.emit.element(progress.newParam, loc), states, skip);
    if (progress.skipOfTensor && diagnostics.diagnostics().empty())
      checkSkip(next, *progress.skipOfTensor);
  }

  void importRequestedProbes(llvm::ArrayRef<std::unique_ptr<StageImporter>> stages,
                             Progress &progress) {
    llvm::BumpPtrAllocator arena;
    llvm::StringSaver saver(arena);
    for (const RequestedProbe &requested : request.probes) {
      // The last of several names counts.
      Names known{requested.file, {}};
      known.add("new_param", progress.newParam);
      for (const auto &stage : stages)
        stage->addNext(known, saver, /*arePublic=*/true);
      known.add("param", progress.inputs.param);
      known.add("grad", progress.ruleGrad);
      known.add("step", progress.inputs.step());
      known.add("first", progress.inputs.first());
      known.add("matrix", Value::ofBool(isMatrix));
      for (const auto &stage : stages)
        stage->addPublic(known);
      if (auto probe = importProbe(evaluator, requested.name, *requested.value, known, diagnostics))
        progress.probes.push_back(*probe);
    }
  }

  // The name of a probe of a transform that another stage has, too, starts with the transform's.
  void createProbes(const Progress &progress) {
    auto isShared = [&](const ImportedProbe &probe) {
      return llvm::count_if(progress.probes, [&](const ImportedProbe &other) {
               return other.stage && other.name.text == probe.name.text;
             }) > 1;
    };
    llvm::StringMap<const ImportedProbe *> seen;
    for (const ImportedProbe &probe : progress.probes) {
      std::string name = probe.name.text.str();
      if (probe.stage && probe.stage->rule->isTransform && isShared(probe))
        name = probe.stage->label + "_" + name;
      if (const auto [known, isNew] = seen.try_emplace(name, &probe); !isNew) {
        diagnostics.report(DiagnosticKind::DuplicateProbe, probe.name.range, name)
            .note(DiagnosticKind::FirstNext, known->second->name.range);
        continue;
      }
      Location loc = evaluator.location(Identifier{name, probe.name.range});
      for (auto [index, value] : llvm::enumerate(probe.values))
        ProbeOp::create(builder, loc, builder.getStringAttr(name), value, endOf(probe, index));
    }
    size_t count = 0;
    const ImportedProbe *excess = nullptr;
    for (const ImportedProbe &probe : progress.probes) {
      count += probe.values.size();
      if (count > maxProbes && !excess)
        excess = &probe;
    }
    if (excess)
      diagnostics.report(DiagnosticKind::TooManyProbes, excess->name.range, request.rule->name.text,
                         count, maxProbes);
  }

  /// Returns the bound below which a bucket of a histogram is, or null for a number.
  mlir::FloatAttr endOf(const ImportedProbe &probe, size_t index) {
    if (probe.bounds.empty())
      return {};
    return builder.getF64FloatAttr(index < probe.bounds.size()
                                       ? probe.bounds[index]
                                       : std::numeric_limits<double>::infinity());
  }

  // The schedule must not determine whether a skipped tensor takes part in a reduction over the
  // group.
  void checkSkip(NextOp next, SourceRange condition) {
    auto rule = next->getParentOfType<RuleOp>();
    ExtentAnalysis extents(rule);
    if (StageAnalysis(rule, extents).groupReductionAfterSkip(next))
      diagnostics.report(DiagnosticKind::SkipBeforeGroup, condition);
  }

  // Returns the location of an input in the first update that lists it.
  Location nameOf(StringRef input) {
    for (const ResolvedStage &stage : request.stages)
      if (stage.rule->update)
        for (const Identifier &name : stage.rule->update->inputs)
          if (name.text == input)
            return evaluator.location(name);
    return evaluator.location(request.rule->name.range);
  }

  mlir::OpBuilder builder;
  const ResolvedRequest &request;
  bool isMatrix;
  DiagnosticEngine &diagnostics;
  mlir::Type compute;
  Evaluator evaluator;
  /// The hyperparameters and flags of each stage.
  std::vector<Names> stageNames;
};

/// Whether the forms of the rule have the same reductions over the group, in the same order.
bool reduceAlike(mlir::ModuleOp module) {
  llvm::SmallVector<llvm::SmallVector<ReductionKind>, 2> kinds;
  for (RuleOp rule : formsIn<RuleOp>(module)) {
    kinds.emplace_back();
    for (auto reduce : rule.getBody().getOps<ReduceOp>())
      if (reduce.getOver() == Extent::group)
        kinds.back().push_back(reduce.getKind());
  }
  return llvm::all_equal(kinds);
}

/// Returns a probe that is a number in one form and a histogram in another, or a histogram of other
/// bounds. Empty if there is none.
StringRef probeThatDiffers(mlir::ModuleOp module) {
  llvm::SmallVector<llvm::SmallVector<ProbeOp>, 2> probes;
  for (RuleOp rule : formsIn<RuleOp>(module))
    probes.push_back(llvm::to_vector(rule.getBody().getOps<ProbeOp>()));
  for (const auto &others : llvm::ArrayRef(probes).drop_front())
    for (size_t i = 0; i < std::min(others.size(), probes.front().size()); ++i)
      if (ProbeOp probe = probes.front()[i], other = others[i];
          probe.getNameAttr() != other.getNameAttr() || probe.getEndAttr() != other.getEndAttr())
        return probe.getName();
  return "";
}

/// Leaves the forms of a rule for the requested tensors. Returns the tensors of the remaining
/// rules.
upd_tensors keepOnly(mlir::ModuleOp module, upd_tensors tensors) {
  auto found = module.getOps<VariantsOp>();
  if (found.empty() || tensors == UPD_ALL_TENSORS)
    return UPD_ALL_TENSORS;
  VariantsOp variants = *found.begin();
  auto vectors = cast<RuleOp>(variants.getVectorForm());
  auto rule = tensors == UPD_VECTORS ? vectors : cast<RuleOp>(variants.getMatrixForm());
  rule.setSymName(vectors.getSymName());
  if (tensors == UPD_MATRICES && !llvm::hasSingleElement(variants.getMatrices().front())) {
    vectors.erase();
    return tensors;
  }
  rule->moveBefore(variants);
  variants.erase();
  return tensors;
}

/// Returns the places of the rule for vectors, or for all tensors, and of that for matrices, if
/// any.
llvm::SmallVector<mlir::Block *, 2> createPlaces(mlir::ModuleOp module, bool hasMatrixRule) {
  if (!hasMatrixRule)
    return {module.getBody()};
  auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto variants = VariantsOp::create(builder, module.getLoc());
  return {&variants.getVectors().emplaceBlock(), &variants.getMatrices().emplaceBlock()};
}

} // namespace

bool updraft::mayHaveMatrixRule(const Program &program, const RuleRequest &request) {
  const StringRef requested = request.rule;
  // Every file can use all stages of the library, but only has the ones that it names.
  const auto isNamed = [&](StringRef stage) {
    return requested.contains(stage) || llvm::any_of(program.files(), [&](const auto &file) {
             return StringRef(file->text()).contains(stage);
           });
  };
  return llvm::any_of(program.parsed, [&](const auto &file) {
    return llvm::any_of(file->stages, [&](const auto &stage) {
      return isNamed(stage.getKey()) && mentionsMatrix(*stage.getValue());
    });
  });
}

std::optional<ImportedRule> updraft::importRule(mlir::MLIRContext &context, const Program &program,
                                                const RuleRequest &request,
                                                DiagnosticEngine &diagnostics) {
  context.loadDialect<UpdraftDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  size_t first = diagnostics.diagnostics().size();
  llvm::scope_exit leave([&] { program.noteImports(diagnostics, first); });
  mlir::OpBuilder builder(&context);
  Evaluator constants(builder, builder.getF64Type(), request.numerics, diagnostics);
  constants.isComputeKnown = false;
  std::optional<ResolvedRequest> resolved =
      resolveRequest(program, request, constants, diagnostics);
  if (!resolved)
    return std::nullopt;
  size_t before = diagnostics.diagnostics().size();
  ImportedRule imported;
  imported.module = mlir::ModuleOp::create(builder, constants.location(resolved->rule->name));
  imported.name = resolved->rule->name.range;
  imported.source = resolved->rule->file->source;
  auto importForm = [&](mlir::Block *place, bool isMatrix, MatrixShapes shapes) {
    RuleImporter importer(context, *resolved, request.numerics, isMatrix, shapes, diagnostics);
    imported.derived = importer.importInto(place, request.numerics);
    return importer.shapes();
  };
  auto places = createPlaces(*imported.module, resolved->hasMatrixRule);
  importForm(places.front(), /*isMatrix=*/false, allShapes);
  auto remaining = resolved->hasMatrixRule ? allShapes : MatrixShapes(0);
  while (remaining != MatrixShapes(0) && diagnostics.diagnostics().size() == before)
    remaining = remaining & ~importForm(places.back(), /*isMatrix=*/true, remaining);
  if (diagnostics.diagnostics().size() == before && !reduceAlike(*imported.module))
    diagnostics.report(DiagnosticKind::GroupReductionsDiffer, resolved->rule->name.range,
                       resolved->rule->name.text);
  if (diagnostics.diagnostics().size() == before)
    if (StringRef probe = probeThatDiffers(*imported.module); !probe.empty())
      diagnostics.report(DiagnosticKind::ProbeForms, resolved->rule->name.range, probe);
  if (diagnostics.diagnostics().size() != before)
    return std::nullopt;
  imported.tensors = keepOnly(*imported.module, request.tensors);
  for (const ResolvedStage &stage : resolved->stages)
    for (const ResolvedParameter &parameter : stage.parameters)
      if (parameter.declaration->isStatic)
        imported.statics.emplace_back(parameter.name, shown(parameter.value));
  return imported;
}
