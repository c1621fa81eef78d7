//===- RandomRule.cpp - Random rules ----------------------------------------------------------===//

#include "RandomRule.h"

#include "TransformTable.h"

#include <random>

using namespace updraft::differential;

namespace {

class Generator {
public:
  explicit Generator(Choices &choices) : choices(choices) {}

  RuleCase make();

private:
  unsigned below(unsigned limit) { return choices.below(limit); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

  std::string literal();
  std::string scalar(unsigned depth);
  std::string tensor(unsigned depth);
  std::string condition(unsigned depth, bool ofScalars);
  /// An operand that is combined with a tensor.
  std::string operand(unsigned depth) {
    return chance(30) ? scalar(depth) : chance(6) ? reduction(depth) : tensor(depth);
  }
  std::string reduction(unsigned depth);
  std::string update();

  Choices &choices;
  std::vector<std::string> hypers;
  std::vector<std::string> scalars; // names that hold a scalar, inside `update`
  std::vector<std::string> tensors;
  std::vector<std::string> states;
  std::vector<std::string> functions; // of two operands
  unsigned reductions = 0;
};

/// Often a value that enables a simplification.
std::string Generator::literal() {
  return pick<std::string>({"0", "1", "2", "-1", "0.5", "3", "1e-3", "0.1", "-0.3", "7.25"});
}

std::string Generator::scalar(unsigned depth) {
  if (depth == 0)
    return chance(30) ? literal() : pick(scalars);
  const std::string a = scalar(depth - 1);
  const auto b = [&] { return scalar(depth - 1); };
  switch (below(16)) {
  case 0:
  case 1:
    return "(" + a + " + " + b() + ")";
  case 2:
  case 3:
    return "(" + a + " - " + b() + ")";
  case 4:
  case 5:
    return "(" + a + " * " + b() + ")";
  case 6:
    return "(" + a + " / " + b() + ")";
  case 7:
    return "(-" + a + ")";
  case 8:
    return "(" + pick(hypers) + " ^ step)";
  case 9:
    return pick<std::string>({"sqrt(abs(", "exp(-abs(", "log(1 + abs(", "abs(tanh("}) + a + "))";
  case 10:
    return pick<std::string>({"max(", "min("}) + a + ", " + b() + ")";
  case 11:
    return "(if " + condition(depth - 1, true) + " then " + a + " else " + b() + ")";
  case 12:
    return "(" + a + " ^ " + pick<std::string>({"2", "3", "-1", "0.5"}) + ")";
  case 13:
    return pick<std::string>({"floor(", "ceil("}) + a + ")";
  default:
    return a;
  }
}

std::string Generator::condition(unsigned depth, bool ofScalars) {
  const auto value = [&] { return ofScalars ? scalar(depth) : tensor(depth); };
  if (depth > 0 && chance(30)) {
    const std::string a = condition(depth - 1, ofScalars);
    if (chance(30))
      return "!(" + a + ")";
    return "(" + a + pick<std::string>({" && ", " || "}) +
           condition(depth - 1, ofScalars || chance(50)) + ")";
  }
  if (ofScalars && chance(25))
    return pick<std::string>({"first", "flag", "!flag"});
  return "(" + value() + pick<std::string>({" < ", " <= ", " > ", " >= ", " == ", " != "}) +
         value() + ")";
}

std::string Generator::tensor(unsigned depth) {
  if (depth == 0)
    return pick(tensors);
  const std::string a = tensor(depth - 1);
  const auto b = [&] { return operand(depth - 1); };
  switch (below(22)) {
  case 20:
    return pick<std::string>({"exp(", "log(", "tanh("}) + a + ")";
  case 21:
    return "(" + a + " ^ " + b() + ")";
  case 0:
  case 1:
    return "(" + a + " + " + b() + ")";
  case 18:
    // Combines zeros of both signs.
    return pick<std::string>({"max(0, ", "min(0, ", "max(-0, ", "min(-0, ", "(0 + ", "(-0 - "}) +
           a + ")";
  case 2:
    return "(" + b() + " - " + a + ")";
  case 3:
    return "(" + a + " - " + b() + ")";
  case 4:
  case 5:
    return "(" + a + " * " + b() + ")";
  case 6:
    return "(" + b() + " / " + a + ")";
  case 7:
    return "(" + a + " / " + b() + ")";
  case 8:
    return "(-" + a + ")";
  case 9:
    return pick<std::string>({"sqrt(", "sqrt(abs(1) * ", "abs(", "floor(", "ceil("}) + a + ")";
  case 10:
  case 11:
    return pick<std::string>({"max(", "min("}) + a + ", " + b() + ")";
  case 12:
    return "fma(" + a + ", " + b() + ", " + b() + ")";
  case 13:
    return "(if " + condition(depth - 1, false) + " then " + a + " else " + b() + ")";
  case 14:
    return "(if " + condition(depth - 1, true) + " then " + b() + " else " + a + ")";
  case 15:
    return "(" + a + " ^ " + pick<std::string>({"1", "2", "3", "4"}) + ")";
  case 16:
    return functions.empty() ? a : pick(functions) + "(" + a + ", " + b() + ")";
  default:
    // Uses the same operand twice, which enables simplifications.
    return "(" + a + pick<std::string>({" - ", " / ", " * ", " + "}) + a + ")";
  }
}

/// Few reductions, because each may need a sweep. An expression of tensors may be a scalar if a
/// flag is known, and is not reduced by itself.
std::string Generator::reduction(unsigned depth) {
  if (reductions == 3)
    return tensor(depth);
  ++reductions;
  return pick<std::string>({"sum(", "mean(", "norm(", "rms(", "max(", "group_sum(", "group_max(",
                            "global_norm("}) +
         pick<std::string>({"param", "grad"}) + pick<std::string>({" * ", " + ", " - "}) +
         tensor(depth) + ")";
}

std::string Generator::update() {
  std::string text = "  update(param, grad, step, first) {\n";
  tensors = {"param", "grad"};
  tensors.insert(tensors.end(), states.begin(), states.end());
  scalars = hypers;
  scalars.push_back("step");
  const unsigned lets = 2 + below(6);
  for (unsigned i = 0; i < lets; ++i) {
    const bool isScalar = chance(35);
    const std::string name = (isScalar ? "s" : "t") + std::to_string(i);
    text += "    let " + name + " = " + (isScalar ? scalar(3) : tensor(3)) + "\n";
    (isScalar ? scalars : tensors).push_back(name);
  }
  for (const std::string &state : states)
    if (chance(85))
      text += "    next " + state + " = " + tensor(2) + "\n";
  return text + "    next param = " + tensor(2) + "\n  }\n";
}

RuleCase Generator::make() {
  RuleCase ruleCase;
  std::string text;
  const auto number = [&] { return std::to_string(1 + below(199)) + "e-2"; };

  for (unsigned i = 0, count = below(3); i < count; ++i) {
    const std::string name = "f" + std::to_string(i);
    hypers = {"a"};
    scalars = tensors = {"a", "b"};
    text += "fn " + name + "(a, b) = " +
            pick<std::string>({"a * b + a", "max(a, b) - b", "if a > b then a else -b",
                               "fma(a, a, b)", "(a + b) / 2", "lerp(a, b, 0.25)"}) +
            "\n";
    functions.push_back(name);
  }

  hypers.clear();
  text += "rule Random(";
  for (unsigned i = 0, count = 1 + below(4); i < count; ++i) {
    hypers.push_back("h" + std::to_string(i));
    text += hypers.back() + " = " + number() + ", ";
  }
  text += "static flag = false)\n{\n";

  scalars = hypers;
  for (unsigned i = 0, count = below(4); i < count; ++i) {
    states.push_back("state" + std::to_string(i));
    text += "  state " + states.back() + " = ";
    text += pick<std::string>({"0", "0", "0.5", pick(hypers), pick(hypers) + " * 2 - 1"}) + "\n";
  }
  text += update() + "}\n";

  constexpr StorageType types[] = {StorageType::F32, StorageType::F64, StorageType::BF16,
                                   StorageType::F16};
  ruleCase.storage = {{"param", types[below(4)]}, {"grad", types[below(4)]}};
  for (const std::string &state : states)
    ruleCase.storage.emplace_back(state, types[below(4)]);
  // Rarely f64, because it would make all arithmetic f64.
  if (chance(60))
    for (auto &[name, dtype] : ruleCase.storage)
      if (dtype == StorageType::F64)
        dtype = StorageType::F32;
  if (chance(30))
    for (auto &[name, dtype] : ruleCase.storage)
      if (name != "grad")
        dtype = pick<StorageType>({StorageType::BF16Stochastic, StorageType::BF16Corrected, dtype});
  ruleCase.numerics = pick<std::string>({"ieee", "ieee", "torch", "fast"});
  const bool hasBlocks = chance(30);
  if (hasBlocks)
    for (auto &[name, dtype] : ruleCase.storage)
      if (name != "param" && name != "grad")
        dtype = pick<StorageType>({StorageType::Q8Linear, StorageType::Q8Companded, dtype});
  ruleCase.settings = {{"flag", chance(50) ? "true" : "false"}};
  for (int step = 2; step <= 3; ++step)
    ruleCase.changes.push_back({step, pick(hypers), (1 + below(199)) * 0.01});
  ruleCase.steps = 3;
  for (int64_t count : {17, hasBlocks ? 523 : 205})
    for (bool aligned : {true, false})
      ruleCase.tensors.push_back({count, aligned});
  ruleCase.source = std::move(text);
  if (below(4) == 3)
    ruleCase.rule = around(transformChains[below(std::size(transformChains))], "Random");
  // If a special value in one element affects all elements, mostly without special values.
  ruleCase.ordinary = (reductions > 0 || !ruleCase.rule.empty()) && below(4) != 0;
  return ruleCase;
}

} // namespace

RuleCase updraft::differential::randomRule(Choices &choices) { return Generator(choices).make(); }

RuleCase updraft::differential::randomRule(uint64_t seed) {
  SeededChoices choices(seed);
  RuleCase ruleCase = randomRule(choices);
  ruleCase.filename = "random" + std::to_string(seed) + ".upd";
  ruleCase.seed = seed;
  return ruleCase;
}
