//===- TensorRun.cpp - Executes one tensor's part of a step -----------------------------------===//

#include "TensorRun.h"

#include "runtime/matrix/MatrixCall.h"
#include "updraft/Reference/Philox.h"

#include <cmath>

using namespace updraft;
using namespace updraft::reference;

static TensorStep withChosen(TensorStep tensor, double chosen) {
  Shape &shape = tensor.shape;
  shape.chosen =
      static_cast<int64_t>(std::ceil(chosen * double(std::min(shape.rows, shape.columns))));
  return tensor;
}

TensorRun::TensorRun(const GroupFacts &facts, const TensorStep &tensor, int64_t groupSize)
    : facts(facts), program(tensor.rule->getProgram()), tensor(withChosen(tensor, program.chosen)),
      blocks(tensor.shape, program.isMatrix), registers(program.registers),
      spreads(program.registers.size()) {
  for (auto [index, target] : llvm::enumerate(program.hyperRegisters))
    registers[target].real = facts.hypers[index];
  for (uint32_t target : program.stepRegisters)
    registers[target].real = tensor.step;
  for (uint32_t target : program.firstRegisters)
    registers[target].bits = tensor.first;
  for (SizeRegister size : program.sizeRegisters)
    registers[size.target].real = size.over == Extent::group    ? groupSize
                                  : size.over == Extent::row    ? tensor.shape.columns
                                  : size.over == Extent::column ? tensor.shape.rows
                                                                : tensor.shape.count();
  loadStates();
}

/// Elements are loaded when they are processed; all other values are small.
void TensorRun::loadStates() {
  for (auto [index, stream] : llvm::enumerate(program.streams)) {
    const uint32_t target = program.loadRegisters[index];
    if (stream.over == Extent::element)
      continue;
    if (!isSpread(stream.over)) {
      registers[target].real = loadElement(stream.format, tensor.buffers[index], 0);
      continue;
    }
    for (int64_t place = 0; place < tensor.shape.places(stream.over); ++place)
      spreads[target].push_back({loadValue(index, place), 0});
  }
}

double TensorRun::loadValue(size_t stream, int64_t place) const {
  const Stream &from = program.streams[stream];
  const void *data = tensor.buffers[stream];
  double value = isBlocked(from.format) ? loadElement(from.format, blocks, data, place)
                                        : loadElement(from.format, data, place);
  if (from.rounding == Rounding::Corrected) {
    const void *corrections = tensor.buffers[program.correctionOf(stream)];
    value = combineCorrected({value, int(loadElement(StorageFormat::I8, corrections, place))});
  }
  return program.computesSingle ? static_cast<float>(value) : value;
}

std::optional<TensorRun::GroupReduction> TensorRun::advance() {
  for (; position < program.actions.size(); ++position) {
    const Action &action = program.actions[position];
    if (action.kind == Action::Reduce && action.extent == Extent::group)
      return GroupReduction{action.reduction, reduceAll(action)};
    runAction(action);
  }
  return std::nullopt;
}

void TensorRun::resume(double value) {
  registers[program.actions[position].instruction.result].real = value;
  ++position;
}

void TensorRun::runAction(const Action &action) {
  if (action.kind == Action::Product)
    return runProduct(action);
  if (action.kind == Action::Transpose)
    return runTranspose(action);
  if (action.kind == Action::Apply)
    return runFunction(action);
  if (action.kind == Action::Identity)
    return makeIdentity(action);
  if (action.extent == Extent::element)
    return; // run at each element by the code that needs its value
  if (action.kind == Action::Reduce)
    return runReduction(action);
  if (!isSpread(action.extent))
    return execute(action.instruction, registers.data());

  Spread &results = spreads[action.instruction.result];
  for (int64_t place = 0; place < tensor.shape.places(action.extent); ++place) {
    for (uint32_t input : action.instruction.inputs())
      registers[input] = at(input, placeOf(action.extent, place));
    execute(action.instruction, registers.data());
    results.push_back(registers[action.instruction.result]);
  }
}

void TensorRun::runReduction(const Action &action) {
  const Shape shape = tensor.shape.of(action.from);
  const uint32_t target = action.instruction.result;
  if (action.extent == Extent::row) {
    for (int64_t row = 0; row < shape.batches * shape.rows; ++row)
      spreads[target].push_back({reduceRow(action.reduction, shape.columns,
                                           [&](int64_t column) {
                                             return operandAt(action, row * shape.columns + column);
                                           }),
                                 0});
    return;
  }
  if (action.extent == Extent::column) {
    for (int64_t place = 0; place < shape.batches * shape.columns; ++place) {
      const int64_t batch = place / shape.columns, column = place % shape.columns;
      spreads[target].push_back(
          {reduceColumn(action.reduction, shape.rows,
                        [&](int64_t row) {
                          return operandAt(action,
                                           (batch * shape.rows + row) * shape.columns + column);
                        }),
           0});
    }
    return;
  }
  if (action.extent == Extent::batch) {
    const int64_t count = action.from == Extent::row ? shape.rows : shape.columns;
    const Spread &values = spreads[action.instruction.operands[0]];
    for (int64_t batch = 0; batch < shape.batches; ++batch)
      spreads[target].push_back(
          {reduceRow(action.reduction, count,
                     [&](int64_t index) { return values[batch * count + index].real; }),
           0});
    return;
  }
  registers[target].real = reduceAll(action);
}

std::vector<TensorRun::Spread> TensorRun::matrices(const Action &action) {
  std::vector<Spread> result;
  bool needsElements = false;
  for (uint32_t input : action.instruction.inputs()) {
    result.push_back(spreads[input]);
    needsElements |= spreads[input].empty();
  }
  for (int64_t element = 0; needsElements && element < tensor.shape.count(); ++element) {
    runElement(action.slice, element);
    for (auto [input, values] : llvm::zip(action.instruction.inputs(), result))
      if (spreads[input].empty())
        values.push_back(registers[input]);
  }
  return result;
}

// Element (i, j) is a chain of fused multiply-adds in the order of k.
void TensorRun::runProduct(const Action &action) {
  const std::vector<Spread> operands = matrices(action);
  auto shapeOf = [&](uint32_t index) { return tensor.shape.of(program.extents[index]); };
  const Shape left = shapeOf(action.instruction.operands[0]);
  const Shape right = shapeOf(action.instruction.operands[1]);
  Spread &result = spreads[action.instruction.result];
  result.assign(left.batches * left.rows * right.columns, Register());
  for (int64_t batch = 0; batch < left.batches; ++batch)
    for (int64_t row = 0; row < left.rows; ++row)
      for (int64_t column = 0; column < (action.symmetric ? row + 1 : right.columns); ++column) {
        double sum = 0;
        for (int64_t k = 0; k < left.columns; ++k) {
          const double a = operands[0][(batch * left.rows + row) * left.columns + k].real;
          const double b = operands[1][(batch * right.rows + k) * right.columns + column].real;
          sum = action.instruction.single ? std::fma(float(a), float(b), float(sum))
                                          : std::fma(a, b, sum);
        }
        result[(batch * left.rows + row) * right.columns + column].real = sum;
        if (action.symmetric)
          result[(batch * left.rows + column) * right.columns + row].real = sum;
      }
}

void TensorRun::runTranspose(const Action &action) {
  const Spread from = matrices(action)[0];
  const Shape shape = tensor.shape.of(action.extent);
  Spread &result = spreads[action.instruction.result];
  for (int64_t batch = 0; batch < shape.batches; ++batch)
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t column = 0; column < shape.columns; ++column)
        result.push_back(from[(batch * shape.columns + column) * shape.rows + row]);
}

// The runtime calls the same functions. Their bits are those of the LAPACK library.
void TensorRun::runFunction(const Action &action) {
  const auto function = static_cast<runtime::MatrixFunction>(action.function);
  const std::vector<Spread> operands = matrices(action);
  auto shapeOf = [&](Extent extent) { return tensor.shape.of(extent); };
  const int shapedBy = runtime::shapedBy(function);
  Shape shape = shapeOf(shapedBy < 0 ? action.extent
                                     : program.extents[action.instruction.operands[shapedBy]]);
  if (function == runtime::MatrixFunction::Largest)
    shape = {shape.batches, action.extent == Extent::row ? shape.rows : shape.columns, 1};
  const int64_t results = tensor.shape.places(action.extent) / std::max<int64_t>(shape.batches, 1);
  Spread &made = spreads[action.instruction.result];
  auto run = [&]<typename T>(T) {
    for (int64_t batch = 0; batch < shape.batches; ++batch) {
      std::vector<std::vector<T>> values;
      runtime::MatrixCall call{function,
                               sizeof(T) == 4 ? UPD_F32 : UPD_F64,
                               shape.rows,
                               shape.columns,
                               tensor.shape.chosen,
                               {},
                               nullptr,
                               nullptr};
      for (const Spread &operand : operands) {
        const auto perBatch = static_cast<int64_t>(operand.size()) / shape.batches;
        std::vector<T> &of = values.emplace_back();
        for (int64_t i = 0; i < perBatch; ++i)
          of.push_back(static_cast<T>(operand[batch * perBatch + i].real));
      }
      for (auto [index, of] : llvm::enumerate(values))
        call.operands[index] = of.data();
      std::vector<T> result(results);
      std::vector<std::max_align_t> workspace(
          runtime::workspaceOf(function, shape.rows, shape.columns) / sizeof(std::max_align_t) + 1);
      call.result = result.data();
      call.workspace = workspace.data();
      runtime::run(call, program.lapack);
      for (T value : result)
        made.push_back({value, 0});
    }
  };
  if (action.instruction.single)
    run(float());
  else
    run(double());
}

void TensorRun::makeIdentity(const Action &action) {
  const Shape shape = tensor.shape.of(action.extent);
  Spread &result = spreads[action.instruction.result];
  for (int64_t batch = 0; batch < shape.batches; ++batch)
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t column = 0; column < shape.columns; ++column)
        result.push_back({row == column ? 1.0 : 0.0, 0});
}

/// Returns the place with the given index in an extent.
TensorRun::Place TensorRun::placeOf(Extent extent, int64_t index) const {
  if (isMatrixExtent(extent)) {
    const Shape shape = tensor.shape.of(extent);
    const int64_t row = index / shape.columns, batch = row / shape.rows;
    return {batch, row, batch * shape.columns + index % shape.columns, index};
  }
  const int64_t perBatch = extent == Extent::row      ? tensor.shape.rows
                           : extent == Extent::column ? tensor.shape.columns
                                                      : 1;
  return {isSpread(extent) ? index / perBatch : 0, index, index, 0};
}

/// Reduces the operand of a reduction over the tensor or the group over this tensor.
double TensorRun::reduceAll(const Action &action) {
  const auto operand = [&](int64_t place) { return operandAt(action, place); };
  if (isMatrixExtent(action.from) && program.isMatrix)
    return reduceBlocks(action.reduction, tensor.shape.of(action.from), operand);
  return reduceFlat(action.reduction, tensor.shape.places(action.from), operand);
}

/// Returns the operand of a reduction at a place of its extent.
double TensorRun::operandAt(const Action &action, int64_t place) {
  const uint32_t input = action.instruction.operands[0];
  if (!spreads[input].empty())
    return spreads[input][place].real;
  runElement(action.slice, place);
  return registers[input].real;
}

/// Returns the value of a register at a place.
const Register &TensorRun::at(uint32_t index, Place place) const {
  switch (program.extents[index]) {
  case Extent::batch:
    return spreads[index][place.batch];
  case Extent::row:
    return spreads[index][place.row];
  case Extent::column:
    return spreads[index][place.column];
  default:
    return spreads[index].empty() ? registers[index] : spreads[index][place.element];
  }
}

/// Computes the values of `slice` at an element; returns its row and column, over all batches.
TensorRun::Place TensorRun::runElement(llvm::ArrayRef<uint32_t> slice, int64_t element) {
  const Shape &shape = tensor.shape;
  const int64_t row = element / shape.columns;
  const int64_t batch = row / shape.rows;
  const Place place = {batch, row, batch * shape.columns + element % shape.columns, element};
  for (auto [index, stream] : llvm::enumerate(program.streams))
    if (stream.over == Extent::element && !stream.isCorrection)
      registers[program.loadRegisters[index]].real = loadValue(index, element);
  for (uint32_t index : slice) {
    const Action &action = program.actions[index];
    const Instruction &instruction = action.instruction;
    if (action.kind == Action::Random) {
      registers[instruction.result].bits = randomBits(facts.seed, uint64_t(tensor.step),
                                                      tensor.number, action.randomStream, element);
      continue;
    }
    for (uint32_t input : action.spreadInputs)
      registers[input] = at(input, place);
    execute(instruction, registers.data());
  }
  return place;
}

bool TensorRun::isSkipped() const {
  return program.skipRegister && registers[*program.skipRegister].bits;
}

std::vector<double> TensorRun::probes() const {
  std::vector<double> values;
  for (uint32_t source : program.probeRegisters)
    values.push_back(registers[source].real);
  return values;
}

/// Stores the next value of a place, rounded as the stream specifies.
void TensorRun::storeValue(size_t index, int64_t place, double value) {
  const Stream &stream = program.streams[index];
  if (stream.rounding == Rounding::Stochastic) {
    // Four streams share 64 bits, from random streams that rules can't use.
    const uint64_t bits =
        randomBits(facts.seed, uint64_t(tensor.step), tensor.number, 16 + stream.number / 4, place);
    value = roundStochastically(value, uint16_t(bits >> 16 * (stream.number % 4)));
  }
  if (stream.rounding == Rounding::Corrected) {
    const Corrected parts = splitCorrected(value);
    storeElement(StorageFormat::I8, tensor.buffers[program.correctionOf(index)], place,
                 parts.correction);
    value = parts.upper;
  }
  storeElement(stream.format, tensor.buffers[index], place, value);
}

void TensorRun::store(std::set<std::string> &storedOfGroup) {
  const auto put = [&](size_t next, int64_t index, Place place) {
    storeValue(program.nextStreams[next], index, at(program.nextRegisters[next], place).real);
  };
  // A value that the rule does not change is not stored, so that any pair of parts is kept.
  const auto isKept = [&](size_t next) {
    return program.nextRegisters[next] == program.loadRegisters[program.nextStreams[next]];
  };
  const auto extentOf = [&](size_t next) {
    return program.streams[program.nextStreams[next]].over;
  };
  // Blocks are stored when all of their values are known.
  std::vector<std::vector<float>> blockValues(program.nextRegisters.size());
  const auto formatOf = [&](size_t next) {
    return program.streams[program.nextStreams[next]].format;
  };
  // Rows, columns and scalars are already loaded. Each element is stored before the next is loaded.
  for (int64_t element = 0; element < tensor.shape.count(); ++element) {
    const Place place = runElement(program.nextSlice, element);
    for (size_t next = 0; next < program.nextRegisters.size(); ++next)
      if (isBlocked(formatOf(next)))
        blockValues[next].push_back(
            static_cast<float>(at(program.nextRegisters[next], place).real));
      else if (extentOf(next) == Extent::element && !isKept(next))
        put(next, element, place);
  }
  for (size_t next = 0; next < program.nextRegisters.size(); ++next)
    if (isBlocked(formatOf(next)) && !isKept(next))
      storeElements(formatOf(next), blocks, tensor.buffers[program.nextStreams[next]],
                    blockValues[next]);
  for (size_t next = 0; next < program.nextRegisters.size(); ++next)
    if (extentOf(next) != Extent::element &&
        (extentOf(next) != Extent::group ||
         storedOfGroup.insert(program.streams[program.nextStreams[next]].name).second))
      for (int64_t i = 0; i < tensor.shape.places(extentOf(next)); ++i)
        put(next, i, placeOf(extentOf(next), i));
}
