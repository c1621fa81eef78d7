//===- Resolve.cpp - From a rule to a flat list of instructions -------------------------------===//

#include "Program.h"
#include "Updraft/IR/Extent.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/base/MatrixFunction.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace updraft;
using namespace updraft::reference;

/// Returns the opcode of an operation that is a single instruction.
static std::optional<Opcode> opcodeOf(StringRef name) {
  static const llvm::StringMap<Opcode> opcodes = {
      {"arith.addf", Opcode::Add},
      {"arith.subf", Opcode::Subtract},
      {"arith.mulf", Opcode::Multiply},
      {"arith.divf", Opcode::Divide},
      {"arith.remf", Opcode::Remainder},
      {"arith.negf", Opcode::Negate},
      {"arith.maximumf", Opcode::Maximum},
      {"arith.minimumf", Opcode::Minimum},
      {"arith.maxnumf", Opcode::MaximumNumber},
      {"arith.minnumf", Opcode::MinimumNumber},
      {"arith.truncf", Opcode::Convert},
      {"arith.extf", Opcode::Convert},
      {"updraft.broadcast", Opcode::Convert},
      {"math.absf", Opcode::Absolute},
      {"math.copysign", Opcode::CopySign},
      {"math.fma", Opcode::FusedMultiplyAdd},
      {"math.sqrt", Opcode::SquareRoot},
      {"math.floor", Opcode::Floor},
      {"math.ceil", Opcode::Ceiling},
      {"math.trunc", Opcode::Truncate},
      {"math.round", Opcode::Round},
      {"math.roundeven", Opcode::RoundEven},
      {"math.exp", Opcode::Exp},
      {"math.exp2", Opcode::Exp2},
      {"math.expm1", Opcode::ExpMinusOne},
      {"math.log", Opcode::Log},
      {"math.log2", Opcode::Log2},
      {"math.log10", Opcode::Log10},
      {"math.log1p", Opcode::LogOnePlus},
      {"math.tanh", Opcode::Tanh},
      {"math.sin", Opcode::Sine},
      {"math.cos", Opcode::Cosine},
      {"math.powf", Opcode::Power},
      {"math.fpowi", Opcode::IntegerPower},
      {"arith.sitofp", Opcode::SignedToReal},
      {"arith.uitofp", Opcode::UnsignedToReal},
      {"arith.cmpf", Opcode::CompareReal},
      {"arith.fptosi", Opcode::RealToSigned},
      {"arith.cmpi", Opcode::CompareInteger},
      {"arith.andi", Opcode::And},
      {"arith.ori", Opcode::Or},
      {"arith.xori", Opcode::Xor},
      {"arith.addi", Opcode::AddInteger},
      {"arith.subi", Opcode::SubtractInteger},
      {"arith.muli", Opcode::MultiplyInteger},
      {"arith.extui", Opcode::ExtendUnsigned},
      {"arith.extsi", Opcode::ExtendSigned},
      {"arith.trunci", Opcode::TruncateInteger},
      {"arith.shli", Opcode::ShiftLeft},
      {"arith.shrui", Opcode::ShiftRightUnsigned},
      {"arith.shrsi", Opcode::ShiftRightSigned},
      {"arith.select", Opcode::Select},
  };
  auto found = opcodes.find(name);
  if (found == opcodes.end())
    return std::nullopt;
  return found->second;
}

/// Returns the width of an integer type. Other types return 64, which is not used.
static uint8_t integerWidth(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? integer.getWidth() : 64;
}

static bool isSupported(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() >= 1 && integer.getWidth() <= 64;
  return isa<Float32Type, Float64Type>(type);
}

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::formatv(format, std::forward<Args>(args)...).str().c_str());
}

namespace {

/// Walks the block of a rule once, in order.
class Resolver {
public:
  Resolver(RuleOp rule, Precision precision) : rule(rule), extents(rule) {
    program.precision = precision;
    program.isMatrix = rule.getMatrix();
    program.shapes = rule.getShapes().value_or(allShapes);
    if (std::optional<llvm::APFloat> chosen = rule.getChosen())
      program.chosen = chosen->convertToDouble();
    program.computesSingle = precision == Precision::Stated && rule.getCompute().isF32();
  }

  llvm::Expected<Program> resolve() {
    for (Operation &op : rule.getBody().front())
      if (llvm::Error failure = visit(op))
        return std::move(failure);
    if (!param || !grad || program.nextRegisters.size() != states.size() + 1)
      return error("rule `{0}` needs a parameter, a gradient and a next value for each state",
                   rule.getSymName());
    // Uses the order of the kernel's arguments, whatever the order of the operations.
    program.nextStreams.push_back(0);
    addStream(*param);
    addStream(*grad);
    addCorrection(*param);
    for (const Port &port : states) {
      program.nextStreams.push_back(program.streams.size());
      addStream(port);
      addCorrection(port);
    }
    std::vector<uint32_t> roots;
    for (auto [stream, next] : llvm::zip(program.nextStreams, program.nextRegisters))
      if (program.streams[stream].over == Extent::element)
        roots.push_back(next);
    program.nextSlice = elementSlice(roots);
    return std::move(program);
  }

private:
  llvm::Error visit(Operation &op);
  llvm::Error visitConstant(arith::ConstantOp op);
  llvm::Error visitArithmetic(Operation &op);

  llvm::Error visitReduce(ReduceOp op);
  llvm::Error visitMatrix(Operation &op, Action action);

  /// A stream and the register of its value.
  struct Port {
    Stream stream;
    uint32_t value;
  };
  llvm::Expected<Port> makePort(StringRef name, Type storage, Value value);
  void addStream(const Port &port) {
    program.streams.push_back(port.stream);
    program.loadRegisters.push_back(port.value);
  }
  void addCorrection(const Port &port) {
    if (port.stream.rounding != Rounding::Corrected)
      return;
    Stream correction{port.stream.name + "_correction", StorageFormat::I8, Extent::element};
    correction.isCorrection = true;
    addStream({correction, port.value});
  }

  uint32_t define(Value value) {
    const uint32_t index = program.registers.size();
    program.registers.emplace_back();
    program.extents.push_back(extents.of(value));
    program.isWhole.push_back(
        isa_and_present<ProductOp, TransposeOp, ApplyOp>(value.getDefiningOp()));
    registerOf[value] = index;
    return index;
  }

  /// Returns the operations on elements that the values of `roots` need, in order.
  std::vector<uint32_t> elementSlice(ArrayRef<uint32_t> roots) const;

  RuleOp rule;
  ExtentAnalysis extents;
  Program program;
  std::optional<Port> param, grad;
  std::vector<Port> states;
  unsigned stochasticStreams = 0;
  llvm::DenseMap<Value, uint32_t> registerOf;
};

} // namespace

llvm::Error Resolver::visit(Operation &op) {
  for (Type type : op.getResultTypes())
    if (!isSupported(type))
      return error("`{0}` has a result of type `{1}`; the reference interpreter runs f32, f64 and "
                   "integers of at most 64 bits",
                   op.getName(), type);

  return llvm::TypeSwitch<Operation *, llvm::Error>(&op)
      .Case([&](HyperOp hyper) {
        program.hyperNames.push_back(hyper.getName().str());
        program.hyperDefaults.push_back(hyper.getDefaultValue().convertToDouble());
        program.hyperRegisters.push_back(define(hyper));
        return llvm::Error::success();
      })
      .Case([&](StepOp step) {
        program.stepRegisters.push_back(define(step));
        return llvm::Error::success();
      })
      .Case([&](FirstOp first) {
        program.firstRegisters.push_back(define(first));
        return llvm::Error::success();
      })
      .Case([&](SizeOp size) {
        program.sizeRegisters.push_back({size.getOver(), define(size)});
        return llvm::Error::success();
      })
      .Case([&](ParamOp op) -> llvm::Error {
        return makePort("param", op.getStorage(), op).moveInto(param);
      })
      .Case([&](GradOp op) -> llvm::Error {
        return makePort("grad", op.getStorage(), op).moveInto(grad);
      })
      .Case([&](StateOp op) -> llvm::Error {
        program.initialRegisters.push_back(registerOf.lookup(op.getInitial()));
        llvm::Expected<Port> port = makePort(op.getName(), op.getStorage(), op);
        if (!port)
          return port.takeError();
        states.push_back(std::move(*port));
        return llvm::Error::success();
      })
      .Case([&](RequireOp require) {
        program.requirements.push_back(
            {registerOf.lookup(require.getCondition()), require.getMessage().str()});
        return llvm::Error::success();
      })
      .Case([&](NextOp next) {
        program.nextRegisters.push_back(registerOf.lookup(next.getParam()));
        for (Value value : next.getStates())
          program.nextRegisters.push_back(registerOf.lookup(value));
        if (Value skip = next.getSkip())
          program.skipRegister = registerOf.lookup(skip);
        return llvm::Error::success();
      })
      .Case([&](ProbeOp probe) {
        program.probeNames.push_back(probe.getName().str());
        program.probeRegisters.push_back(registerOf.lookup(probe.getValue()));
        return llvm::Error::success();
      })
      .Case([&](ReduceOp reduce) { return visitReduce(reduce); })
      .Case([&](ProductOp product) {
        Action action;
        action.kind = Action::Product;
        action.symmetric = product.getSymmetric();
        return visitMatrix(op, std::move(action));
      })
      .Case([&](TransposeOp) {
        Action action;
        action.kind = Action::Transpose;
        return visitMatrix(op, std::move(action));
      })
      .Case([&](ApplyOp apply) {
        Action action;
        action.kind = Action::Apply;
        action.function = apply.getFunction();
        if (needsLapack(static_cast<runtime::MatrixFunction>(apply.getFunction())))
          if (runtime::Status status = runtime::Lapack::load(program.lapack); !status.ok())
            return error("{0}", status.message());
        return visitMatrix(op, std::move(action));
      })
      .Case([&](IdentityOp identity) {
        Action action;
        action.kind = Action::Identity;
        action.extent = identity.getOver();
        action.instruction.result = define(identity);
        program.actions.push_back(std::move(action));
        return llvm::Error::success();
      })
      .Case([&](RandomOp random) {
        Action action;
        action.kind = Action::Random;
        action.extent = Extent::element;
        action.randomStream = random.getStream();
        action.instruction.result = define(random);
        program.actions.push_back(std::move(action));
        return llvm::Error::success();
      })
      .Case([&](arith::ConstantOp constant) { return visitConstant(constant); })
      .Default([&](Operation *other) { return visitArithmetic(*other); });
}

llvm::Error Resolver::visitConstant(arith::ConstantOp op) {
  const uint32_t index = define(op);
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    program.registers[index].real = real.getValueAsDouble();
  else if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
    program.registers[index].bits = integer.getValue().getZExtValue();
  else
    return error("`arith.constant` has the value `{0}`; the reference interpreter runs scalars",
                 op.getValue());
  return llvm::Error::success();
}

llvm::Error Resolver::visitArithmetic(Operation &op) {
  std::optional<Opcode> opcode = opcodeOf(op.getName().getStringRef());
  if (isa<arith::BitcastOp>(op)) {
    bool isReal = isa<FloatType>(op.getResult(0).getType());
    if (isReal != isa<FloatType>(op.getOperand(0).getType()))
      opcode = isReal ? Opcode::BitsToReal : Opcode::RealToBits;
  }
  if (!opcode || op.getNumResults() != 1 || op.getNumOperands() > 3)
    return error("the reference interpreter does not know `{0}`", op.getName());

  Action action;
  action.extent = extents.of(op.getResult(0));
  Instruction &instruction = action.instruction;
  instruction.opcode = *opcode;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    instruction.operands[i] = registerOf.lookup(operand);
    if (isa<IntegerType>(operand.getType()))
      instruction.fromWidth = integerWidth(operand.getType());
  }
  instruction.operandCount = op.getNumOperands();
  instruction.width = integerWidth(op.getResult(0).getType());
  instruction.single = program.precision == Precision::Stated && op.getResult(0).getType().isF32();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instruction.predicate = static_cast<uint64_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instruction.predicate = static_cast<uint64_t>(compare.getPredicate());
  instruction.result = define(op.getResult(0));
  for (uint32_t input : instruction.inputs())
    if (action.extent == Extent::element &&
        (isSpread(program.extents[input]) || program.isWhole[input]))
      action.spreadInputs.push_back(input);
  program.actions.push_back(std::move(action));
  return llvm::Error::success();
}

llvm::Error Resolver::visitReduce(ReduceOp op) {
  Action action;
  action.kind = Action::Reduce;
  action.extent = op.getOver();
  action.reduction = op.getKind();
  action.from = extents.of(op.getInput());
  const uint32_t input = registerOf.lookup(op.getInput());
  action.instruction.operands[0] = input;
  action.instruction.operandCount = 1;
  if (action.from == Extent::element)
    action.slice = elementSlice(input);
  action.instruction.result = define(op);
  program.actions.push_back(std::move(action));
  return llvm::Error::success();
}

llvm::Error Resolver::visitMatrix(Operation &op, Action action) {
  action.extent = extents.of(op.getResult(0));
  std::vector<uint32_t> inputs;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    inputs.push_back(registerOf.lookup(operand));
    action.instruction.operands[i] = inputs.back();
  }
  action.instruction.operandCount = op.getNumOperands();
  action.instruction.single =
      program.precision == Precision::Stated && op.getResult(0).getType().isF32();
  action.slice = elementSlice(inputs);
  action.instruction.result = define(op.getResult(0));
  program.actions.push_back(std::move(action));
  return llvm::Error::success();
}

std::vector<uint32_t> Resolver::elementSlice(ArrayRef<uint32_t> roots) const {
  llvm::DenseSet<uint32_t> needed(roots.begin(), roots.end());
  std::vector<uint32_t> slice;
  for (uint32_t index = program.actions.size(); index-- > 0;) {
    const Action &action = program.actions[index];
    if (action.extent != Extent::element || action.makesMatrix() ||
        !needed.contains(action.instruction.result))
      continue;
    slice.push_back(index);
    for (uint32_t operand : action.instruction.inputs())
      needed.insert(operand);
  }
  std::reverse(slice.begin(), slice.end());
  return slice;
}

llvm::Expected<Resolver::Port> Resolver::makePort(StringRef name, Type storage, Value value) {
  Rounding rounding = Rounding::Nearest;
  if (auto stochastic = dyn_cast<StochasticType>(storage)) {
    rounding = Rounding::Stochastic;
    storage = stochastic.getStorage();
  } else if (auto corrected = dyn_cast<CorrectedType>(storage)) {
    rounding = Rounding::Corrected;
    storage = corrected.getStorage();
  }
  std::optional<StorageFormat> format = storageFormat(storage);
  if (!format)
    return error("`{0}` is stored as `{1}`; the reference interpreter knows f32, f64, bf16, f16, "
                 "i8 and blocks",
                 name, storage);
  if (program.precision == Precision::Double) {
    format = StorageFormat::F64;
    rounding = Rounding::Nearest;
  }
  Stream stream{name.str(), *format, extents.of(value), rounding};
  if (rounding == Rounding::Stochastic)
    stream.number = stochasticStreams++;
  return Port{std::move(stream), define(value)};
}

llvm::Expected<Program> updraft::reference::resolve(RuleOp rule, Precision precision) {
  return Resolver(rule, precision).resolve();
}
