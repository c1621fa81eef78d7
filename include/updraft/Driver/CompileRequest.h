//===- CompileRequest.h - What is to be compiled ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_DRIVER_COMPILEREQUEST_H
#define UPDRAFT_DRIVER_COMPILEREQUEST_H

#include "updraft/Frontend/Frontend.h"
#include "updraft/Target/CPUTarget.h"

#include <string>

namespace updraft {

/// One rule of one source text, for one target.
struct CompileRequest {
  std::string source;
  std::string filename; // for messages; imports are looked for beside it
  RuleRequest rule;
  CPUTarget target;
  std::string numerics = "ieee";
};

} // namespace updraft

#endif // UPDRAFT_DRIVER_COMPILEREQUEST_H
