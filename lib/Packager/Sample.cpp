//===- Sample.cpp - Inputs and results that show that a rule computes the right bits ----------===//

#include "Sample.h"

#include "Updraft/IR/UpdraftOps.h"
#include "Updraft/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/Safetensors.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Reference/BlockedFormat.h"
#include "updraft/Reference/Interpreter.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

using namespace updraft;
using reference::Interpreter;
using reference::StorageFormat;
using runtime::SafetensorsType;

namespace {

constexpr int steps = 2;

/// Neither a multiple of a vector's length, so that all kinds of loops run.
constexpr std::array<int64_t, 1> vectorShape = {151};
constexpr std::array<int64_t, 2> matrixShape = {5, 23};
// For rules with other forms for these shapes.
constexpr std::array<int64_t, 2> squareShape = {6, 6};
constexpr std::array<int64_t, 2> tallShape = {23, 5};

SafetensorsType typeOf(StorageFormat format) {
  switch (format) {
  case StorageFormat::F32:
    return SafetensorsType::F32;
  case StorageFormat::F64:
    return SafetensorsType::F64;
  case StorageFormat::BF16:
    return SafetensorsType::BF16;
  case StorageFormat::F16:
    return SafetensorsType::F16;
  case StorageFormat::I8:
    return SafetensorsType::I8;
  case StorageFormat::Q8Linear:
  case StorageFormat::Q8Companded:
    return SafetensorsType::U8;
  }
  llvm_unreachable("unknown format");
}

/// The memory of one stream of a parameter.
struct StreamMemory {
  StreamMemory(const Interpreter &rule, size_t index, const reference::Shape &shape)
      : format(rule.streams()[index].format), places(shape.places(rule.streams()[index].over)),
        blocks(shape, rule.isMatrix()),
        bytes(isBlocked(format) ? blocks.bytes() : places * reference::elementSize(format)) {}

  void fill(double value) {
    if (isBlocked(format))
      return reference::fillElements(format, blocks, bytes.data(), float(value));
    for (int64_t i = 0; i < places; ++i)
      reference::storeElement(format, bytes.data(), i, value);
  }

  StorageFormat format;
  int64_t places;
  reference::Blocks blocks;
  std::vector<char> bytes;
};

struct Parameter {
  const Interpreter *rule;
  std::vector<int64_t> dimensions;
  std::map<std::string, StreamMemory> streams; // those over a group are in SampleRun
  int taken = 0;                               // steps

  reference::Shape shape() const { return reference::Shape::of(dimensions); }
};

class SampleRun {
public:
  explicit SampleRun(llvm::ArrayRef<Interpreter> rules) : hypers(rules[0].hyperDefaults()) {
    for (const Interpreter &rule : rules) {
      if (rule.isMatrix() || rules.size() == 1)
        add(rule, matrixShapeFor(rule));
      if (!rule.isMatrix() || rules.size() == 1)
        add(rule, vectorShape);
    }
  }

  llvm::Expected<std::string> make() {
    for (auto [number, parameter] : llvm::enumerate(parameters))
      start(number, parameter);
    for (int step = 1; step <= steps; ++step)
      apply(step);
    for (auto [number, parameter] : llvm::enumerate(parameters))
      addResults(number, parameter);
    file.setMetadata("steps", std::to_string(steps));
    std::string bytes;
    if (runtime::Status status = file.write(bytes); !status.ok())
      return makeError(status.code(), status.message());
    return bytes;
  }

private:
  /// Returns the first of some shapes that the form of a rule is for.
  static llvm::ArrayRef<int64_t> matrixShapeFor(const Interpreter &rule) {
    for (llvm::ArrayRef<int64_t> shape : {llvm::ArrayRef(squareShape), llvm::ArrayRef(tallShape)})
      if (rule.isMatrix() && !rule.isFor(matrixShape) && rule.isFor(shape))
        return shape;
    return matrixShape;
  }

  void add(const Interpreter &rule, llvm::ArrayRef<int64_t> shape) {
    parameters.push_back({&rule, shape.vec(), {}});
  }

  StreamMemory &memoryOf(Parameter &parameter, size_t index) {
    const reference::Stream &stream = parameter.rule->streams()[index];
    auto &all = stream.over == Extent::group ? shared : parameter.streams;
    return all.try_emplace(stream.name, *parameter.rule, index, parameter.shape()).first->second;
  }

  /// Returns a number from -1 to 1 that bf16 represents exactly.
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return double(int64_t(state >> 56) - 128) / 128;
  }

  void randomize(StreamMemory &memory) {
    for (int64_t i = 0; i < memory.places; ++i)
      reference::storeElement(memory.format, memory.bytes.data(), i, next());
  }

  void start(size_t number, Parameter &parameter) {
    const std::vector<double> initial = parameter.rule->initialStates(hypers);
    for (size_t i = 2; i < parameter.rule->streams().size(); ++i)
      memoryOf(parameter, i).fill(initial[i - 2]);
    randomize(memoryOf(parameter, 0));
    add("param/" + std::to_string(number), parameter, 0);
  }

  void apply(int step) {
    std::vector<reference::TensorStep> tensors;
    for (auto [number, parameter] : llvm::enumerate(parameters)) {
      randomize(memoryOf(parameter, 1));
      add("grad/" + std::to_string(number) + "/" + std::to_string(step), parameter, 1);
      reference::TensorStep &tensor = tensors.emplace_back();
      tensor.rule = parameter.rule;
      tensor.shape = parameter.shape();
      tensor.step = parameter.taken + 1;
      tensor.first = parameter.taken == 0;
      tensor.number = number;
      for (size_t i = 0; i < parameter.rule->streams().size(); ++i)
        tensor.buffers.push_back(memoryOf(parameter, i).bytes.data());
    }
    const std::vector<bool> skipped = reference::stepGroup({hypers, /*seed=*/0}, tensors);
    for (auto [parameter, isSkipped] : llvm::zip(parameters, skipped))
      parameter.taken += !isSkipped;
  }

  void addResults(size_t number, Parameter &parameter) {
    const std::string param = std::to_string(number);
    add("expected/param/" + param, parameter, 0);
    if (parameter.taken == 0)
      return; // it has no states
    for (size_t i = 2; i < parameter.rule->streams().size(); ++i)
      add("expected/state/" + param + "/" + parameter.rule->streams()[i].name, parameter, i);
  }

  /// Adds a stream with its present content.
  void add(const std::string &name, Parameter &parameter, size_t index) {
    const StreamMemory &memory = memoryOf(parameter, index);
    const Extent over = parameter.rule->streams()[index].over;
    if (isBlocked(memory.format)) {
      const char *scales = memory.bytes.data() + memory.blocks.scalesOffset();
      addBytes(name + ".scale", SafetensorsType::F32, {memory.blocks.count()},
               std::string(scales, 4 * memory.blocks.count()));
    }
    addBytes(
        name, typeOf(memory.format),
        over == Extent::element ? parameter.dimensions : std::vector{memory.places},
        std::string(memory.bytes.data(), memory.places * reference::elementSize(memory.format)));
  }

  void addBytes(const std::string &name, SafetensorsType type, std::vector<int64_t> shape,
                std::string bytes) {
    file.add(name, type, std::move(shape), [bytes = std::move(bytes)](auto &sink) {
      return sink.write(bytes.data(), bytes.size());
    });
  }

  std::vector<double> hypers;
  std::vector<Parameter> parameters;
  std::map<std::string, StreamMemory> shared; // of states over the group
  uint64_t state = 1;
  runtime::SafetensorsWriter file;
};

} // namespace

llvm::Expected<std::string> updraft::makeSample(const Program &program,
                                                const RuleRequest &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine diagnostics;
  auto imported = importRule(context, program, request, diagnostics);
  if (!imported)
    return makeError(UPD_COMPILE_ERROR, diagnostics.render());
  if (request.numerics == fastNumerics) {
    mlir::PassManager passes(&context);
    passes.addPass(createSimplifyPass());
    passes.addPass(createRelaxPass());
    if (failed(passes.run(*imported->module)))
      return makeError(UPD_INTERNAL_ERROR, "cannot relax the rule for its sample");
  }
  std::vector<Interpreter> rules;
  for (RuleOp rule : formsIn<RuleOp>(*imported->module)) {
    auto interpreter = Interpreter::create(rule);
    if (!interpreter)
      return makeError(UPD_INTERNAL_ERROR, llvm::toString(interpreter.takeError()));
    rules.push_back(std::move(*interpreter));
  }
  return SampleRun(rules).make();
}
