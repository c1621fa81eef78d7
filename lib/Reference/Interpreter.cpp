//===- Interpreter.cpp - Runs a rule as it is written -----------------------------------------===//

#include "updraft/Reference/Interpreter.h"

#include "Program.h"

using namespace updraft;
using namespace updraft::reference;

/// The registers after the scalars of a step have been computed.
static std::vector<Register> runScalars(const Program &program, llvm::ArrayRef<double> hypers,
                                        double step, bool first) {
  std::vector<Register> registers = program.registers;
  for (auto [index, target] : llvm::enumerate(program.hyperRegisters))
    registers[target].real = hypers[index];
  for (uint32_t target : program.stepRegisters)
    registers[target].real = step;
  for (uint32_t target : program.firstRegisters)
    registers[target].bits = first;
  run(program.scalars, registers.data());
  return registers;
}

llvm::Expected<Interpreter> Interpreter::create(RuleOp rule, Precision precision) {
  llvm::Expected<Program> program = resolve(rule, precision);
  if (!program)
    return program.takeError();
  return Interpreter(std::make_shared<const Program>(std::move(*program)));
}

const std::vector<std::string> &Interpreter::hyperNames() const { return program->hyperNames; }
const std::vector<double> &Interpreter::hyperDefaults() const { return program->hyperDefaults; }
const std::vector<Stream> &Interpreter::streams() const { return program->streams; }

std::vector<double> Interpreter::initialStates(llvm::ArrayRef<double> hypers) const {
  const std::vector<Register> registers = runScalars(*program, hypers, 1, true);
  std::vector<double> values;
  for (uint32_t source : program->initialRegisters)
    values.push_back(registers[source].real);
  return values;
}

std::optional<Interpreter::BrokenRequirement>
Interpreter::firstBrokenRequirement(llvm::ArrayRef<double> hypers) const {
  const std::vector<Register> registers = runScalars(*program, hypers, 1, true);
  for (auto [index, requirement] : llvm::enumerate(program->requirements))
    if (!registers[requirement.condition].bits)
      return BrokenRequirement{unsigned(index), requirement.message};
  return std::nullopt;
}

void Interpreter::step(llvm::ArrayRef<double> hypers, double step, bool first,
                       llvm::ArrayRef<void *> buffers, int64_t count) const {
  std::vector<Register> registers = runScalars(*program, hypers, step, first);
  const std::vector<Stream> &streams = program->streams;
  for (int64_t element = 0; element < count; ++element) {
    for (size_t i = 0; i < streams.size(); ++i) {
      const double value = loadElement(streams[i].format, buffers[i], element);
      registers[program->loadRegisters[i]].real =
          program->computesSingle ? static_cast<float>(value) : value;
    }

    run(program->elements, registers.data());

    // Every next value is known before the first is stored.
    for (size_t i = 0; i < program->nextRegisters.size(); ++i) {
      const size_t stream = i == 0 ? 0 : i + 1;
      storeElement(streams[stream].format, buffers[stream], element,
                   registers[program->nextRegisters[i]].real);
    }
  }
}
