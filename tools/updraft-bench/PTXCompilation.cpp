//===- PTXCompilation.cpp - Compilation for a GPU ---------------------------------------------===//
// Uses the compiler's classes: the C API compiles for a GPU only if the machine has one.

#include "PTXCompilation.h"

#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <stdexcept>

using namespace updraft;

static llvm::Error compile(Compiler &compiler, const std::string &ruleFile,
                           const std::string &learningRate, std::string &text) {
  CompileRequest request;
  request.filename = ruleFile;
  auto source = readRuleFile(ruleFile);
  if (!source)
    return source.takeError();
  request.source = std::move(*source);
  if (!learningRate.empty())
    request.rule.settings.emplace_back("lr", learningRate);
  if (llvm::Error error = request.setTarget("nvptx:sm_90"))
    return error;
  llvm::raw_string_ostream os(text);
  return compiler.emit(request, Stage::PTX, os);
}

double updraft::bench::compilePTXMs(const std::string &ruleFile, const std::string &learningRate) {
  static Compiler compiler;
  std::string text;
  auto start = std::chrono::steady_clock::now();
  llvm::Error error = compile(compiler, ruleFile, learningRate, text);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  if (error)
    throw std::runtime_error(takeStatus(std::move(error)).second);
  return time.count();
}
