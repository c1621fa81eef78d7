//===- Bytecode.cpp - Types in MLIR bytecode --------------------------------------------------===//
// A type is a code, then its parameters. The codes are part of the format: a new type takes a new
// one, and none is given out twice.

#include "Bytecode.h"

#include "Updraft/IR/UpdraftDialect.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace updraft;

namespace {

constexpr uint64_t streamCode = 0;

struct UpdraftBytecodeInterface : BytecodeDialectInterface {
  explicit UpdraftBytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  LogicalResult writeType(Type type, DialectBytecodeWriter &writer) const override {
    auto stream = dyn_cast<StreamType>(type);
    if (!stream)
      return failure();
    writer.writeVarInt(streamCode);
    writer.writeType(stream.getStorage());
    return success();
  }

  Type readType(DialectBytecodeReader &reader) const override {
    uint64_t code = 0;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code != streamCode) {
      reader.emitError() << "type code " << code << " is unknown to dialect `updraft`";
      return {};
    }
    Type storage;
    if (failed(reader.readType(storage)))
      return {};
    return StreamType::getChecked([&] { return reader.emitError(); }, storage.getContext(),
                                  storage);
  }
};

} // namespace

void updraft::addBytecodeInterface(UpdraftDialect &dialect) {
  dialect.addInterfaces<UpdraftBytecodeInterface>();
}
