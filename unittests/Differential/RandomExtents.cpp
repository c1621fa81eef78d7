//===- RandomExtents.cpp - Rules in the dialect with values of all extents --------------------===//

#include "RandomExtents.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <random>

using namespace updraft;
using namespace updraft::differential;
using reference::Shape;

namespace {

struct Named {
  std::string name;
  Extent extent;
};

class Generator {
public:
  Generator(Choices &choices, bool isMatrix, uint64_t seed)
      : choices(choices), seed(seed), matrix(isMatrix), compute(below(4) ? "f32" : "f64") {}

  PlanCase make();

private:
  unsigned below(unsigned limit) { return choices.below(limit); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

  template <typename... Args> std::string define(const char *format, Args &&...args) {
    std::string name = "%v" + std::to_string(count++);
    text += "  " + name + " = " + llvm::formatv(format, std::forward<Args>(args)...).str() + "\n";
    return name;
  }
  std::string storage() { return pick<std::string>({"f32", "f32", "bf16", "f16", compute}); }

  /// A storage type of the parameter or of states over elements.
  std::string roundedStorage() {
    return below(4) ? storage()
                    : pick<std::string>({"!updraft.stochastic<bf16>", "!updraft.corrected<bf16>"});
  }

  /// A storage type of states over elements.
  std::string elementStorage() {
    return below(4)
               ? roundedStorage()
               : pick<std::string>({"!updraft.blocked<linear>", "!updraft.blocked<companded>"});
  }

  void addInputs();
  void addStates();
  void addScalar();
  void addSpread();
  void addReduction();
  void addRandom();
  std::string asOperand(const Named &value);
  const Named *within(const std::vector<Named> &values, Extent extent);
  void addNext();

  Choices &choices;
  uint64_t seed;
  bool matrix;
  std::string compute;
  std::string text;
  unsigned count = 0;
  bool reducesGroup = false;
  std::vector<Named> scalars; // f64
  std::vector<Named> spread;  // in the compute type
  std::vector<Named> states;
};

void Generator::addInputs() {
  for (const char *value : {"0.5", "1.0", "-0.25"})
    scalars.push_back({define("arith.constant {0} : f64", value), Extent::model});
  for (int i = 0; i < 2; ++i)
    scalars.push_back({define("updraft.hyper \"h{0}\" = 0.{1}", i, 1 + below(9)), Extent::group});
  scalars.push_back({define("updraft.step"), Extent::tensor});
  scalars.push_back({define("updraft.size over tensor"), Extent::tensor});
  scalars.push_back({define("updraft.size over group"), Extent::group});
  scalars.push_back({define("updraft.size over row"), Extent::tensor});
  scalars.push_back({define("updraft.size over column"), Extent::tensor});
  spread.push_back(
      {define("updraft.param stored {0} : {1}", roundedStorage(), compute), Extent::element});
  spread.push_back({define("updraft.grad stored {0} : {1}", storage(), compute), Extent::element});
}

void Generator::addStates() {
  std::vector<Extent> extents = {Extent::element, Extent::tensor, Extent::group};
  if (matrix)
    extents = {Extent::element, Extent::row, Extent::column, Extent::tensor, Extent::group};
  for (unsigned i = 0, many = below(5); i < many; ++i) {
    const Extent over = pick(extents);
    const bool scalar = isWithin(over, Extent::tensor);
    const std::string name =
        define("updraft.state \"s{0}\"{1} stored {2} initial {3} : {4}", i,
               over == Extent::element ? "" : (" over " + stringifyExtent(over)).str(),
               over == Extent::element ? elementStorage() : storage(), scalars[below(3)].name,
               scalar ? "f64" : compute);
    (scalar ? scalars : spread).push_back({name, over});
    states.push_back({name, over});
  }
}

void Generator::addScalar() {
  const Named a = pick(scalars), b = pick(scalars);
  const Extent extent = join(a.extent, b.extent);
  std::string name;
  switch (below(6)) {
  case 0: {
    const std::string size = define("math.absf {0} : f64", a.name);
    name = define("math.sqrt {0} : f64", size);
    scalars.push_back({name, a.extent});
    return;
  }
  case 1: {
    const std::string less = define("arith.cmpf olt, {0}, {1} : f64", a.name, b.name);
    name = define("arith.select {0}, {1}, {2} : f64", less, b.name, a.name);
    break;
  }
  default:
    name = define("arith.{0} {1}, {2} : f64",
                  pick<std::string>({"addf", "subf", "mulf", "divf", "maximumf"}), a.name, b.name);
  }
  scalars.push_back({name, extent});
}

/// A scalar or another value as an operand of the compute type.
std::string Generator::asOperand(const Named &value) {
  const bool scalar = isWithin(value.extent, Extent::tensor);
  return scalar && compute == "f32" ? define("arith.truncf {0} : f64 to f32", value.name)
                                    : value.name;
}

void Generator::addSpread() {
  const Named a = pick(spread), b = chance(35) ? pick(scalars) : pick(spread);
  const std::string other = asOperand(b);
  std::string name;
  if (chance(15)) {
    const std::string less = define("arith.cmpf olt, {0}, {1} : {2}", a.name, other, compute);
    name = define("arith.select {0}, {1}, {2} : {3}", less, other, a.name, compute);
  } else {
    name = define("arith.{0} {1}, {2} : {3}",
                  pick<std::string>({"addf", "subf", "mulf", "divf", "maximumf", "minimumf"}),
                  a.name, other, compute);
  }
  spread.push_back({name, join(a.extent, b.extent)});
}

void Generator::addReduction() {
  Named operand = pick(spread);
  std::vector<Extent> overs;
  for (Extent over : {Extent::group, Extent::tensor, Extent::batch, Extent::row, Extent::column}) {
    const bool elementsOfBatch = over == Extent::batch && operand.extent == Extent::element;
    if (over != operand.extent && isWithin(over, operand.extent) && !elementsOfBatch &&
        (matrix || isWithin(over, Extent::tensor)))
      overs.push_back(over);
  }
  if (overs.empty())
    return;
  const Extent over = pick(overs);
  reducesGroup |= over == Extent::group;
  std::string type = compute;
  if (type == "f32" && chance(50)) { // a sum of squares
    const std::string wide = define("arith.extf {0} : f32 to f64", operand.name);
    operand.name = define("arith.mulf {0}, {0} : f64", wide);
    type = "f64";
  }
  const std::string result =
      define("updraft.reduce {0} {1} over {2} : {3}", chance(70) ? "sum" : "max", operand.name,
             stringifyExtent(over), type);
  if (isWithin(over, Extent::tensor))
    scalars.push_back({result, over});
  else
    spread.push_back(
        {compute == "f32" ? define("arith.truncf {0} : f64 to f32", result) : result, over});
}

void Generator::addRandom() {
  const std::string bits = define("updraft.random {0}", below(16));
  const std::string shift = define("arith.constant {0} : i64", compute == "f32" ? 40 : 11);
  const std::string high = define("arith.shrui {0}, {1} : i64", bits, shift);
  spread.push_back({define("arith.uitofp {0} : i64 to {1}", high, compute), Extent::element});
}

const Named *Generator::within(const std::vector<Named> &values, Extent extent) {
  std::vector<const Named *> fitting;
  for (const Named &value : values)
    if (isWithin(value.extent, extent))
      fitting.push_back(&value);
  // The latest values have the largest expressions.
  if (fitting.size() > 6)
    fitting.erase(fitting.begin(), fitting.end() - 6);
  return fitting.empty() ? nullptr : pick(fitting);
}

void Generator::addNext() {
  std::string values, types = compute;
  const std::string param = pick(spread).name;
  values = spread.back().extent == Extent::element ? spread.back().name : param;
  for (const Named &state : states) {
    const bool scalar = isWithin(state.extent, Extent::tensor);
    const Named *next = within(scalar ? scalars : spread, state.extent);
    const std::string value = next ? next->name : asOperand(scalars[1]);
    values += ", " + (chance(15) ? state.name : value);
    types += scalar ? ", f64" : ", " + compute;
  }
  std::string skip;
  // Not all plans support a condition of one tensor together with reductions over the group.
  const Named *measure = within(scalars, reducesGroup ? Extent::group : Extent::tensor);
  if (chance(25))
    skip = " skip(" +
           define("arith.cmpf ogt, {0}, {1} : f64", measure->name, scalars[below(3)].name) + ")";
  text += "  updraft.next " + values + skip + " : " + types + "\n";
}

PlanCase Generator::make() {
  text = "updraft.rule @R compute " + compute + (matrix ? " matrix {\n" : " {\n");
  addInputs();
  addStates();
  for (unsigned i = 0, many = 4 + below(12); i < many; ++i) {
    const unsigned kind = below(100);
    if (kind < 40)
      addSpread();
    else if (kind < 75)
      addReduction();
    else if (kind < 95)
      addScalar();
    else
      addRandom();
  }
  for (int i = 0; i < 2; ++i)
    addSpread();
  addNext();

  PlanCase planCase;
  planCase.source = text + "}\n";
  planCase.seed = seed;
  const std::vector<Shape> matrices = {
      {1, 1, 1},    {1, 3, 5},  {1, 64, 64}, {1, 65, 129}, {6, 4, 5}, {1, 130, 1}, {1, 1, 300},
      {2, 128, 17}, {3, 70, 3}, {1, 0, 4},   {1, 4, 0},    {2, 0, 3}, {5, 3, 140}};
  const std::vector<int64_t> vectors = {0, 1, 7, 127, 128, 129, 1003, 8191, 8192, 8193, 20000};
  for (unsigned i = 0, many = 1 + below(4); i < many; ++i)
    planCase.tensors.push_back(matrix ? pick(matrices) : Shape::vector(pick(vectors)));
  return planCase;
}

} // namespace

PlanCase updraft::differential::randomExtents(Choices &choices, bool isMatrix, uint64_t seed) {
  return Generator(choices, isMatrix, seed).make();
}

PlanCase updraft::differential::randomExtents(uint64_t seed) {
  SeededChoices choices(seed);
  return randomExtents(choices, seed % 2, seed);
}
