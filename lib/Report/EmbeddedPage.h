//===- EmbeddedPage.h - Files that are part of the program --------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_EMBEDDEDPAGE_H
#define UPDRAFT_LIB_REPORT_EMBEDDEDPAGE_H

#include "llvm/ADT/StringRef.h"

namespace updraft {

/// The page without a document: lib/Report/page, with its styles and scripts in it.
llvm::StringRef embeddedPage();
/// rules/adamw.upd.
llvm::StringRef embeddedAdamW();

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_EMBEDDEDPAGE_H
