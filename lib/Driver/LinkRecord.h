//===- LinkRecord.h - The one symbol of an object that is linked --------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_DRIVER_LINKRECORD_H
#define UPDRAFT_LIB_DRIVER_LINKRECORD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace updraft {

/// Adds a upd_linked_rule (updraft-c/linked_rule.h) with the name linkSymbol, and makes all other
/// symbols local, so that a program can link several objects of a rule. `module` has the functions
/// and the descriptor of the rule, whose bytes `descriptor` repeats.
void addLinkRecord(llvm::Module &module, llvm::StringRef name, llvm::StringRef target,
                   llvm::StringRef descriptor);

} // namespace updraft

#endif // UPDRAFT_LIB_DRIVER_LINKRECORD_H
