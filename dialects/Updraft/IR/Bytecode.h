//===- Bytecode.h - Types in MLIR bytecode ------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_IR_BYTECODE_H
#define UPDRAFT_IR_BYTECODE_H

namespace updraft {

class UpdraftDialect;

/// Lets the dialect's types be written as numbers, not as text to parse.
void addBytecodeInterface(UpdraftDialect &dialect);

} // namespace updraft

#endif // UPDRAFT_IR_BYTECODE_H
