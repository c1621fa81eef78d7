//===- Owners.h - The statements that lines of a rule belong to ---------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_REPORT_OWNERS_H
#define UPDRAFT_LIB_REPORT_OWNERS_H

#include "updraft/Frontend/Program.h"

#include <string>
#include <vector>

namespace updraft {

enum class OwnerKind {
  Import,
  Function,
  Rule,
  Hyper,
  Static,
  Requirement,
  State,
  Update,
  Let,
  Next,
  Skip,
  Hold,
  Repeat,
  Stage
};

/// A declaration or statement, with its lines in the user's text.
struct Owner {
  OwnerKind kind;
  std::string name;
  unsigned first, last;
  bool isConditional = false; ///< has a `when`
};

llvm::StringRef nameOf(OwnerKind kind);

/// Returns the declarations and statements of a file, outer ones before their parts, for each file
/// that they are written in.
std::vector<std::pair<const SourceFile *, Owner>> ownersIn(const ParsedFile &file);

/// Returns every file whose text can become part of a rule of the program: its own files and those
/// of the standard library that it can name.
std::vector<const ParsedFile *> allFiles(const Program &program);

} // namespace updraft

#endif // UPDRAFT_LIB_REPORT_OWNERS_H
