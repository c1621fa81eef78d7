//===- Bytecode.cpp - Types in MLIR bytecode --------------------------------------------------===//
// A type is a code followed by its parameters. The codes are part of the format: a new type gets a
// new code, and codes are never reused.

#include "Bytecode.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace updraft;

namespace {

constexpr uint64_t streamCode = 0;     // storage, over elements
constexpr uint64_t streamOverCode = 1; // storage, extent
constexpr uint64_t stochasticCode = 2; // storage
constexpr uint64_t correctedCode = 3;  // storage
constexpr uint64_t blockedCode = 4;    // quantisation
constexpr uint64_t elementsCode = 5;   // element, space

struct UpdraftBytecodeInterface : BytecodeDialectInterface {
  explicit UpdraftBytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  LogicalResult writeType(Type type, DialectBytecodeWriter &writer) const override {
    auto writeStorage = [&](uint64_t code, Type storage) {
      writer.writeVarInt(code);
      writer.writeType(storage);
      return success();
    };
    if (auto stochastic = dyn_cast<StochasticType>(type))
      return writeStorage(stochasticCode, stochastic.getStorage());
    if (auto corrected = dyn_cast<CorrectedType>(type))
      return writeStorage(correctedCode, corrected.getStorage());
    if (auto blocked = dyn_cast<BlockedType>(type)) {
      writer.writeVarInt(blockedCode);
      writer.writeVarInt(static_cast<uint64_t>(blocked.getQuantisation()));
      return success();
    }
    if (auto elements = dyn_cast<ElementsType>(type)) {
      writer.writeVarInt(elementsCode);
      writer.writeType(elements.getElement());
      writer.writeVarInt(elements.getSpace());
      return success();
    }
    auto stream = dyn_cast<StreamType>(type);
    if (!stream)
      return failure();
    const bool overElements = stream.getOver() == Extent::element;
    writer.writeVarInt(overElements ? streamCode : streamOverCode);
    writer.writeType(stream.getStorage());
    if (!overElements)
      writer.writeVarInt(static_cast<uint64_t>(stream.getOver()));
    return success();
  }

  Type readType(DialectBytecodeReader &reader) const override {
    uint64_t code = 0;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code == stochasticCode)
      return readRounded<StochasticType>(reader);
    if (code == correctedCode)
      return readRounded<CorrectedType>(reader);
    if (code == blockedCode)
      return readBlocked(reader);
    if (code == elementsCode)
      return readElements(reader);
    if (code != streamCode && code != streamOverCode) {
      reader.emitError() << "type code " << code << " is unknown to dialect `updraft`";
      return {};
    }
    Type storage;
    auto over = static_cast<uint64_t>(Extent::element);
    if (failed(reader.readType(storage)) ||
        (code == streamOverCode && failed(reader.readVarInt(over))))
      return {};
    std::optional<Extent> extent = symbolizeExtent(static_cast<uint32_t>(over));
    if (!extent || over > std::numeric_limits<uint32_t>::max()) {
      reader.emitError() << "extent code " << over << " is unknown to dialect `updraft`";
      return {};
    }
    return StreamType::getChecked([&] { return reader.emitError(); }, storage.getContext(), storage,
                                  *extent);
  }

  template <typename RoundedType> Type readRounded(DialectBytecodeReader &reader) const {
    Type storage;
    if (failed(reader.readType(storage)))
      return {};
    return RoundedType::getChecked([&] { return reader.emitError(); }, getContext(), storage);
  }

  Type readElements(DialectBytecodeReader &reader) const {
    Type element;
    uint64_t space = 0;
    if (failed(reader.readType(element)) || failed(reader.readVarInt(space)))
      return {};
    if (space > std::numeric_limits<unsigned>::max()) {
      reader.emitError() << "space " << space << " is too large";
      return {};
    }
    return ElementsType::getChecked([&] { return reader.emitError(); }, element,
                                    static_cast<unsigned>(space));
  }

  Type readBlocked(DialectBytecodeReader &reader) const {
    uint64_t number = 0;
    if (failed(reader.readVarInt(number)))
      return {};
    std::optional<Quantisation> quantisation = symbolizeQuantisation(static_cast<uint32_t>(number));
    if (!quantisation || number > static_cast<uint64_t>(Quantisation::companded)) {
      reader.emitError() << "quantisation code " << number << " is unknown to dialect `updraft`";
      return {};
    }
    return BlockedType::get(getContext(), *quantisation);
  }
};

} // namespace

void updraft::addBytecodeInterface(UpdraftDialect &dialect) {
  dialect.addInterfaces<UpdraftBytecodeInterface>();
}
