//===- RandomMatrixRuleTests.cpp - Random rules with matrices and conditions ------------------===//
// Products, functions of matrices and states that only some steps need or change, in combinations
// that the shipped rules lack: what a plan keeps in memory, stores early and leaves out must not
// change a bit. The seeds are fixed, so the number of a failure reproduces it.

#include "Choices.h"
#include "GroupRun.h"

using namespace updraft::differential;

namespace {

/// The shape of what a name stands for.
enum class Shape : uint8_t { Elements, Rows, Columns }; // the last two are square matrices

class Generator {
public:
  explicit Generator(uint64_t seed) : choices(seed) {}

  std::string make();

private:
  unsigned below(unsigned limit) { return choices.below(limit); }
  bool chance(unsigned percent) { return below(100) < percent; }
  std::string pick(const std::vector<std::string> &from) { return from[below(from.size())]; }
  /// Often a name that was added last.
  std::string name(Shape shape) {
    const std::vector<std::string> &from = names[size_t(shape)];
    return chance(40) ? from.back() : pick(from);
  }
  void addState(Shape shape);
  std::string flag(unsigned depth);
  std::string value(Shape shape);
  std::string sum(Shape shape, Shape square);
  std::string square(Shape shape, const std::string &elements);
  std::string next(const std::string &state, Shape shape, unsigned depth);

  SeededChoices choices;
  std::vector<std::string> names[3];
  std::vector<std::pair<std::string, Shape>> states;
  std::string text;
};

void Generator::addState(Shape shape) {
  const std::string state = "s" + std::to_string(states.size());
  const bool isSquare = shape != Shape::Elements;
  text += "  state " + state;
  if (isSquare)
    text += shape == Shape::Rows ? " over (row, row)" : " over (column, column)";
  const std::string identity =
      shape == Shape::Rows ? "identity(param)" : "identity(transpose(param))";
  text += " = " + pick(isSquare ? std::vector<std::string>{"0", identity, identity}
                                : std::vector<std::string>{"0", "lr", "param"});
  if (chance(15))
    text += " : bf16";
  text += isSquare ? " when matrix\n" : "\n";
  states.push_back({state, shape});
}

/// A flag that is known before the first sweep.
std::string Generator::flag(unsigned depth) {
  if (depth != 0 && chance(40))
    return "(" + flag(depth - 1) + pick({" && ", " || "}) + flag(depth - 1) + ")";
  return pick({"first", "!first", "step == 2", "step > 1", "step < 3", "lr > 0.05",
               "is_multiple(step, 2)", "!is_multiple(step, 2)", "size() > 12", "lr < 0.05"});
}

/// A square matrix by a product or function of matrices. `elements` has the parameter's shape.
std::string Generator::square(Shape shape, const std::string &elements) {
  const std::string turned = shape == Shape::Rows ? elements : "transpose(" + elements + ")";
  switch (below(7)) {
  case 0:
    return "bounded(" + name(shape) + " @ " + name(shape) + ")";
  case 6:
    return "bounded(" + sum(shape, shape) + " @ " + name(shape) + ")";
  case 1:
    return "qr(" + name(shape) + " + identity(" + turned + "))";
  case 2:
    return "sort_columns(" + name(shape) + ", " +
           (shape == Shape::Rows ? "row_sum(" : "column_sum(") + elements + "))";
  case 3:
    return "transpose(" + name(shape) + ")";
  default:
    return "bounded(gram(" + turned + "))";
  }
}

/// A matrix of a shape plus its product with a square matrix, which a product can compute.
std::string Generator::sum(Shape shape, Shape square) {
  const std::string product = name(shape) + " @ " + name(square);
  return "(" + pick({product, "0.5 * (" + product + ")", "lr * (" + product + ")"}) + " + " +
         pick({"", "0.75 * ", "lr * "}) + name(shape) + ")";
}

/// An expression of a shape, whose elements stay small.
std::string Generator::value(Shape shape) {
  if (chance(25))
    return "(if " + flag(1) + " then " + name(shape) + " else " + name(shape) + ")";
  if (chance(30))
    return "bounded(" + name(shape) + pick({" + ", " - ", " * "}) + name(shape) + ")";
  if (shape != Shape::Elements)
    return square(shape, name(Shape::Elements));
  switch (below(6)) {
  case 5:
    return "bounded(" + sum(shape, Shape::Columns) + " @ " + name(Shape::Columns) + ")";
  case 0:
    return "bounded(" + name(Shape::Rows) + " @ " + name(shape) + ")";
  case 1:
    return "bounded(" + name(shape) + " @ " + name(Shape::Columns) + ")";
  case 2:
    return "bounded(transpose(" + name(Shape::Rows) + ") @ " + name(shape) + " @ " +
           name(Shape::Columns) + ")";
  case 3:
    return name(shape) + " / (1 + " + pick({"row_sum", "column_max", "batch_sum", "sum"}) +
           "(abs(" + name(shape) + ")))";
  default:
    return "lerp(" + name(shape) + ", " + name(shape) + ", 0.25)";
  }
}

/// The next value of a state: often a choice among values and the state itself.
std::string Generator::next(const std::string &state, Shape shape, unsigned depth) {
  if (depth == 0 || chance(20))
    return chance(40) ? state : name(shape);
  return "(if " + flag(1) + " then " + next(state, shape, depth - 1) + " else " +
         next(state, shape, depth - 1) + ")";
}

std::string Generator::make() {
  text = "fn bounded(x) = max(-2, min(x, 2))\n\nrule R(lr = 0.1) {\n";
  for (unsigned i = 0, count = 1 + below(3); i < count; ++i)
    addState(Shape(below(3)));
  addState(Shape::Elements);
  text += "\n  update(param, grad, step, first) {\n"
          "    let rows0    = if matrix then bounded(gram(grad)) else 0\n"
          "    let columns0 = if matrix then bounded(gram(transpose(grad))) else 0\n";
  names[size_t(Shape::Elements)] = {"param", "grad"};
  names[size_t(Shape::Rows)] = {"rows0"};
  names[size_t(Shape::Columns)] = {"columns0"};
  for (const auto &[state, shape] : states)
    names[size_t(shape)].push_back(state);
  for (unsigned i = 0, count = 3 + below(6); i < count; ++i) {
    const Shape shape = Shape(below(3));
    const std::string let = "v" + std::to_string(i);
    text += "    let " + let + " = if matrix then " + value(shape) + " else " +
            (shape == Shape::Elements ? "bounded(grad)" : "0") + "\n";
    names[size_t(shape)].push_back(let);
  }
  text += "\n";
  if (chance(15))
    text += "    skip when sum(grad) > 6\n";
  for (const auto &[state, shape] : states)
    text += "    next " + state + " = " +
            (shape == Shape::Elements ? next(state, shape, 2)
                                      : next(state, shape, 2) + " when matrix") +
            "\n";
  return text + "    next param = bounded(param - lr * " + name(Shape::Elements) + ")\n  }\n}\n";
}

constexpr uint64_t rulesPerTest = 12;

class RandomMatrixRules : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomMatrixRules, StepAsInterpreted) {
  for (uint64_t i = 0; i < rulesPerTest; ++i) {
    RuleCase ruleCase;
    ruleCase.source = Generator(GetParam() * rulesPerTest + i).make();
    ruleCase.filename = "random.upd";
    SCOPED_TRACE(ruleCase.source);
    GroupRun run;
    ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, {{5}, {1, 4}, {5, 3}, {17, 33}, {2, 4, 4}}, 2));
    for (int step = 1; step <= 5; ++step)
      ASSERT_NO_FATAL_FAILURE(run.step(step));
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomMatrixRules, testing::Range<uint64_t>(0, 8));

} // namespace
