//===- TorchSource.cpp - A rule as Python text ------------------------------------------------===//
// Prints the functions of the module. Each is a slice of the rule: the initial states, one function
// for every round of reductions over the group, and the update itself. Functions recompute shared
// values, so autograd has nothing to keep between them.

#include "updraft/Target/TorchSource.h"

#include "TorchExpression.h"
#include "Updraft/IR/Extent.h"
#include "Updraft/Transforms/SharedReductions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace updraft;

static constexpr llvm::StringLiteral helpers = R"(

def scalar(value):
    return torch.as_tensor(value, dtype=torch.float64)


def spread(value, shape, param, dtype):
    return (param.new_zeros(shape, dtype=dtype) + value).to(dtype)
)";

static constexpr llvm::StringLiteral largestHelper = R"(

def largest(value):
    return value.amax() if value.numel() else value.new_full((), -torch.inf)
)";

namespace {

class Source {
public:
  Source(ModuleOp module, raw_ostream &os, std::string &reason) : os(os), reason(reason) {
    llvm::append_range(rules, formsIn<RuleOp>(module));
    for (RuleOp rule : rules)
      for (Operation &op : rule.getBody().front()) {
        if (auto size = dyn_cast<SizeOp>(op))
          usesSize |= size.getOver() == Extent::group;
        if (auto state = dyn_cast<StateOp>(op))
          hasGroupStates |= state.getOver() == Extent::group;
        if (auto reduce = dyn_cast<ReduceOp>(op))
          usesLargest |=
              reduce.getKind() == ReductionKind::max && isWithin(reduce.getOver(), Extent::tensor);
      }
  }

  LogicalResult print();

private:
  /// A reduction over the group, with one operation in each rule.
  struct Reduction {
    SmallVector<ReduceOp, 2> operations;
    unsigned round = 0; // needs the results of earlier rounds
  };

  void findReductions();
  unsigned roundOf(ReduceOp reduce);
  LogicalResult checkStorage(RuleOp rule);
  LogicalResult printInit(RuleOp rule, StringRef suffix);
  LogicalResult printInitGroup(RuleOp rule);
  LogicalResult printRound(RuleOp rule, unsigned index, unsigned round, StringRef suffix);
  LogicalResult printUpdate(RuleOp rule, StringRef suffix);
  LogicalResult printUpdateGroup(RuleOp rule);
  LogicalResult printVariants(StringRef name, StringRef arguments,
                              llvm::function_ref<LogicalResult(unsigned, StringRef)> print);
  void printStep();
  void begin(StringRef name, StringRef arguments) {
    os << "\n\ndef " << name << "(" << arguments << "):\n";
  }

  /// Returns the arguments that don't belong to one tensor.
  std::string shared() const {
    return std::string("hyper") + (hasGroupStates ? ", group" : "") +
           (reductions.empty() ? "" : ", reduced") + (usesSize ? ", size" : "");
  }

  raw_ostream &os;
  std::string &reason;
  SmallVector<RuleOp, 2> rules;
  SmallVector<Reduction> reductions; // by rounds
  torch::ReductionPlaces places;
  bool usesSize = false, hasGroupStates = false, usesLargest = false;
};

NextOp nextOf(RuleOp rule) { return cast<NextOp>(rule.getBody().front().getTerminator()); }

/// Returns the shape of a state over `over`, with size 1 in the dimensions that it lacks.
StringRef shapeOf(Extent over) {
  switch (over) {
  case Extent::row:
    return "(*param.shape[:-1], 1)";
  case Extent::column:
    return "(*param.shape[:-2], 1, param.shape[-1])";
  default:
    return "param.shape";
  }
}

/// Returns `value` as it is stored in memory.
std::string stored(torch::FunctionBody &body, Value value, Extent over, Type storage) {
  if (!isWithin(over, Extent::tensor) && extentOf(value) != over)
    return "spread(" + body.textOf(value) + ", " + shapeOf(over).str() + ", param, " +
           torch::dtypeOf(storage) + ")";
  if (value.getType() != storage)
    return body.primaryOf(value) + ".to(" + torch::dtypeOf(storage) + ")";
  return body.tensorOf(value);
}

} // namespace

unsigned Source::roundOf(ReduceOp reduce) {
  unsigned round = 0;
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> open = {reduce.getInput()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!seen.insert(op).second || isa<StateOp>(op))
      continue;
    if (auto earlier = dyn_cast<ReduceOp>(op); earlier && earlier.getOver() == Extent::group)
      round = std::max(round, roundOf(earlier) + 1);
    else
      llvm::append_range(open, op->getOperands());
  }
  return round;
}

void Source::findReductions() {
  std::map<unsigned, Reduction> found;
  for (RuleOp rule : rules) {
    unsigned count = 0;
    for (auto reduce : rule.getBody().getOps<ReduceOp>()) {
      if (reduce.getOver() != Extent::group)
        continue;
      std::optional<unsigned> number = sharedNumberOf(reduce);
      if (rules.size() > 1 && !number)
        continue; // neither rule needs it
      Reduction &reduction = found[number.value_or(count++)];
      reduction.operations.push_back(reduce);
      reduction.round = std::max(reduction.round, roundOf(reduce));
    }
  }
  for (unsigned round = 0; reductions.size() < found.size(); ++round)
    for (auto &[number, reduction] : found)
      if (reduction.round == round)
        reductions.push_back(reduction);
  for (auto [place, reduction] : llvm::enumerate(reductions))
    for (ReduceOp reduce : reduction.operations)
      places[reduce] = place;
}

LogicalResult Source::checkStorage(RuleOp rule) {
  for (auto state : rule.getBody().getOps<StateOp>())
    if (!isa<FloatType>(state.getStorage())) {
      reason = ("torch has no storage of state `" + state.getName() + "` in blocks or codes").str();
      return failure();
    }
  NextOp next = nextOf(rule);
  if (hasGroupStates && next.getSkip() && !isWithin(extentOf(next.getSkip()), Extent::group)) {
    reason = "a step that some tensors skip cannot change states over the group";
    return failure();
  }
  return success();
}

LogicalResult Source::printInit(RuleOp rule, StringRef suffix) {
  SmallVector<StateOp> states;
  SmallVector<Value> initial;
  for (auto state : rule.getBody().getOps<StateOp>())
    if (state.getOver() != Extent::group) {
      states.push_back(state);
      initial.push_back(state.getInitial());
    }
  begin(("init" + suffix).str(), "param, hyper");
  torch::FunctionBody body(initial, places);
  if (failed(body.print(os, reason)))
    return failure();
  os << "    return {\n        \"step\": scalar(0),\n";
  for (auto [state, value] : llvm::zip(states, initial))
    os << "        " << torch::quoted(state.getName()) << ": "
       << stored(body, value, state.getOver(), state.getStorage()) << ",\n";
  os << "    }\n";
  return success();
}

LogicalResult Source::printInitGroup(RuleOp rule) {
  SmallVector<StateOp> states;
  SmallVector<Value> initial;
  for (auto state : rule.getBody().getOps<StateOp>())
    if (state.getOver() == Extent::group) {
      states.push_back(state);
      initial.push_back(state.getInitial());
    }
  begin("init_group", "hyper");
  torch::FunctionBody body(initial, places);
  if (failed(body.print(os, reason)))
    return failure();
  os << "    return {\n";
  for (auto [state, value] : llvm::zip(states, initial))
    os << "        " << torch::quoted(state.getName()) << ": "
       << stored(body, value, Extent::group, state.getStorage()) << ",\n";
  os << "    }\n";
  return success();
}

LogicalResult Source::printRound(RuleOp rule, unsigned index, unsigned round, StringRef suffix) {
  SmallVector<Value> inputs;
  SmallVector<ReduceOp> operations;
  for (const Reduction &reduction : reductions)
    if (reduction.round == round) {
      operations.push_back(reduction.operations[index]);
      inputs.push_back(operations.back().getInput());
    }
  begin("reduce_" + std::to_string(round) + suffix.str(), "param, grad, state, " + shared());
  torch::FunctionBody body(inputs, places);
  if (failed(body.print(os, reason)))
    return failure();
  os << "    return [\n";
  for (auto [reduce, input] : llvm::zip(operations, inputs)) {
    std::string text = body.primaryOf(input);
    if (!input.getType().isF64())
      text += ".to(torch.float64)";
    os << "        "
       << (reduce.getKind() == ReductionKind::sum ? text + ".sum()" : "largest(" + text + ")")
       << ",\n";
  }
  os << "    ]\n";
  return success();
}

LogicalResult Source::printUpdate(RuleOp rule, StringRef suffix) {
  NextOp next = nextOf(rule);
  ParamOp param = *rule.getBody().getOps<ParamOp>().begin();
  SmallVector<Value> roots = {next.getParam()};
  SmallVector<std::pair<StateOp, Value>> states;
  for (auto [state, value] : llvm::zip(rule.getBody().getOps<StateOp>(), next.getStates()))
    if (state.getOver() != Extent::group) {
      states.push_back({state, value});
      roots.push_back(value);
    }
  if (next.getSkip())
    roots.push_back(next.getSkip());
  begin(("update" + suffix).str(), "param, grad, state, " + shared());
  torch::FunctionBody body(roots, places, next.getSkip());
  if (failed(body.print(os, reason)))
    return failure();
  auto unlessSkipped = [&](const std::string &before, const std::string &after) {
    return next.getSkip() && before != after
               ? "torch.where(" + body.tensorOf(next.getSkip()) + ", " + before + ", " + after + ")"
               : after;
  };
  os << "    next_param = "
     << unlessSkipped("param", stored(body, next.getParam(), Extent::element, param.getStorage()))
     << "\n    return next_param, {\n        \"step\": "
     << unlessSkipped("state[\"step\"]", "state[\"step\"] + 1") << ",\n";
  for (auto [state, value] : states)
    os << "        " << torch::quoted(state.getName()) << ": "
       << unlessSkipped("state[" + torch::quoted(state.getName()) + "]",
                        stored(body, value, state.getOver(), state.getStorage()))
       << ",\n";
  os << "    }\n";
  return success();
}

LogicalResult Source::printUpdateGroup(RuleOp rule) {
  NextOp next = nextOf(rule);
  SmallVector<Value> roots;
  SmallVector<std::pair<StateOp, Value>> states;
  for (auto [state, value] : llvm::zip(rule.getBody().getOps<StateOp>(), next.getStates()))
    if (state.getOver() == Extent::group) {
      states.push_back({state, value});
      roots.push_back(value);
    }
  if (next.getSkip())
    roots.push_back(next.getSkip());
  begin("update_group", shared());
  torch::FunctionBody body(roots, places, next.getSkip());
  if (failed(body.print(os, reason)))
    return failure();
  os << "    return {\n";
  for (auto [state, value] : states) {
    std::string name = torch::quoted(state.getName());
    std::string text = stored(body, value, Extent::group, state.getStorage());
    if (next.getSkip())
      text = llvm::formatv("torch.where({0}, group[{1}], {2})", body.tensorOf(next.getSkip()), name,
                           text);
    os << "        " << name << ": " << text << ",\n";
  }
  os << "    }\n";
  return success();
}

/// Returns the end of the names of a form's functions, of a rule with several forms.
static std::string suffixOf(RuleOp form) {
  if (!form.getMatrix())
    return "_vector";
  return form.getShapes() ? suffixOf(*form.getShapes()) : "_matrix";
}

/// Returns the condition under which a form is for the parameter `param`.
static std::string conditionOf(RuleOp form) {
  if (!form.getMatrix())
    return "param.dim() < 2";
  std::string comparisons;
  for (auto [shape, comparison] : {std::pair(MatrixShapes::wide, "<"),
                                   {MatrixShapes::square, "=="},
                                   {MatrixShapes::tall, ">"}})
    if (bitEnumContainsAny(form.getShapes().value_or(allShapes), shape))
      comparisons += (comparisons.empty() ? "" : " or ") +
                     ("param.shape[-2] " + Twine(comparison) + " param.shape[-1]").str();
  return comparisons;
}

LogicalResult Source::printVariants(StringRef name, StringRef arguments,
                                    llvm::function_ref<LogicalResult(unsigned, StringRef)> print) {
  if (rules.size() == 1)
    return print(0, "");
  for (auto [index, form] : llvm::enumerate(rules))
    if (failed(print(index, suffixOf(form))))
      return failure();
  begin(name, arguments);
  for (RuleOp form : ArrayRef(rules).drop_back())
    os << "    if " << conditionOf(form) << ":\n"
       << "        return " << name << suffixOf(form) << "(" << arguments << ")\n";
  os << "    return " << name << suffixOf(rules.back()) << "(" << arguments << ")\n";
  return success();
}

void Source::printStep() {
  begin("step", "params, grads, states, group, hyper");
  os << "    states = [state or init(param, hyper) for param, state in zip(params, states)]\n";
  if (hasGroupStates)
    os << "    group = group or init_group(hyper)\n";
  if (usesSize)
    os << "    size = sum(param.numel() for param in params)\n";
  os << "    members = list(zip(params, grads, states))\n";
  if (!reductions.empty())
    os << "    reduced = []\n";
  unsigned rounds = reductions.empty() ? 0 : reductions.back().round + 1;
  for (unsigned round = 0; round < rounds; ++round) {
    os << "    parts = list(zip(*[reduce_" << round << "(*member, " << shared()
       << ") for member in members]))\n    reduced = reduced + [";
    unsigned part = 0;
    for (Reduction &reduction : reductions)
      if (reduction.round == round) {
        os << (part ? ", " : "") << "torch.stack(parts[" << part << "])."
           << (reduction.operations.front().getKind() == ReductionKind::sum ? "sum" : "amax")
           << "()";
        ++part;
      }
    os << "]\n";
  }
  os << "    nexts = [update(*member, " << shared() << ") for member in members]\n";
  os << "    next_group = " << (hasGroupStates ? "update_group(" + shared() + ")" : "{}") << "\n";
  os << "    return [param for param, _ in nexts], [state for _, state in nexts], next_group\n";
}

LogicalResult Source::print() {
  for (RuleOp rule : rules)
    if (failed(checkStorage(rule)))
      return failure();
  findReductions();
  os << "# " << rules.front().getSymName() << ", as out-of-place operations of torch.\n"
     << "import torch\n"
     << helpers;
  if (usesLargest)
    os << largestHelper;
  if (failed(printVariants("init", "param, hyper", [&](unsigned index, StringRef suffix) {
        return printInit(rules[index], suffix);
      })))
    return failure();
  if (hasGroupStates && failed(printInitGroup(rules.front())))
    return failure();
  std::string arguments = "param, grad, state, " + shared();
  unsigned rounds = reductions.empty() ? 0 : reductions.back().round + 1;
  for (unsigned round = 0; round < rounds; ++round)
    if (failed(printVariants("reduce_" + std::to_string(round), arguments,
                             [&](unsigned index, StringRef suffix) {
                               return printRound(rules[index], index, round, suffix);
                             })))
      return failure();
  if (failed(printVariants("update", arguments, [&](unsigned index, StringRef suffix) {
        return printUpdate(rules[index], suffix);
      })))
    return failure();
  if (hasGroupStates && failed(printUpdateGroup(rules.front())))
    return failure();
  printStep();
  return success();
}

LogicalResult updraft::printTorchSource(ModuleOp module, raw_ostream &os, std::string &reason) {
  for (RuleOp rule : formsIn<RuleOp>(module))
    if (!rule.getBody().getOps<ProductOp>().empty() ||
        !rule.getBody().getOps<TransposeOp>().empty()) {
      reason = "it multiplies matrices";
      return failure();
    } else if (!rule.getBody().getOps<ApplyOp>().empty()) {
      reason = "it has functions of matrices";
      return failure();
    }
  for (RuleOp rule : formsIn<RuleOp>(module))
    if (llvm::any_of(rule.getBody().getOps<StateOp>(),
                     [](StateOp state) { return isSquareExtent(state.getOver()); })) {
      reason = "it has states of square matrices";
      return failure();
    }
  return Source(module, os, reason).print();
}
