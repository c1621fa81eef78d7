//===- Bytecode.h - Types in MLIR bytecode ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_BYTECODE_H
#define UPDRAFT_IR_BYTECODE_H

namespace updraft {

class UpdraftDialect;

/// Registers the bytecode encoding of the dialect's types: numbers instead of text to parse.
void addBytecodeInterface(UpdraftDialect &dialect);

} // namespace updraft

#endif // UPDRAFT_IR_BYTECODE_H
