//===- NoCompiler.cpp - A worker that takes packages alone ------------------------------------===//

#include "CompileProcess.h"
#include "runtime/server/Refusal.h"

using namespace updraft;
using server::Reason;
using server::Refusal;

bool worker::hasCompiler() { return false; }
std::string worker::versionText() { return "updraft " UPDRAFT_WORKER_VERSION; }

std::string worker::compileApart(const v1::Rule &) {
  throw Refusal(Reason::Internal, "this worker was built without the compiler");
}

int worker::compileHere() { return 1; }
