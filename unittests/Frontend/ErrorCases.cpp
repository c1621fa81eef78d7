//===- ErrorCases.cpp - Reading and running the cases -----------------------------------------===//

#include "ErrorCases.h"

#include "mlir/IR/MLIRContext.h"
#include "updraft/Frontend/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace updraft;
using namespace updraft::test;
using llvm::StringRef;

namespace {
void readDirective(StringRef line, RuleRequest &request) {
  auto [word, rest] = line.split(' ');
  auto [name, value] = rest.split('=');
  if (word == "@rule")
    request.rule = rest.str();
  else if (word == "@set")
    request.settings.emplace_back(name.str(), value.str());
  else if (word == "@probe")
    request.probes.push_back(rest.str());
  else
    request.storage.emplace_back(name.str(), parseStorageType(value).value_or(StorageType::F32));
}

ErrorCase readCase(StringRef text) {
  ErrorCase result;
  auto [input, expected] = text.split("--- expected\n");
  result.expected = expected.str();
  auto [name, rest] = input.split('\n');
  result.name = name.str();
  while (rest.starts_with("@")) {
    auto [line, after] = rest.split('\n');
    readDirective(line, result.request);
    rest = after;
  }
  auto [source, others] = rest.split("+++ ");
  result.source = source.str();
  while (!others.empty()) {
    auto [file, after] = others.split("+++ ");
    auto [fileName, content] = file.split('\n');
    result.files.emplace_back(fileName.str(), content.str());
    others = after;
  }
  return result;
}

std::vector<ErrorCase> readFolder() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(UPDRAFT_ERROR_CASES))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<ErrorCase> cases;
  for (const auto &path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path.string());
    if (!buffer)
      continue;
    StringRef text = (*buffer)->getBuffer();
    text.consume_front("=== ");
    while (!text.empty()) {
      auto [one, rest] = text.split("\n=== ");
      // The split removes the last line break from all cases except the last.
      cases.push_back(readCase((one + (rest.empty() ? "" : "\n")).str()));
      text = rest;
    }
  }
  return cases;
}
} // namespace

const std::vector<ErrorCase> &updraft::test::writtenCases() {
  static const std::vector<ErrorCase> cases = readFolder();
  return cases;
}

std::string updraft::test::diagnose(const ErrorCase &errorCase, std::set<DiagnosticKind> &kinds) {
  // Imports are searched beside rule.upd. Relative paths make the messages the same on all
  // machines.
  auto previous = std::filesystem::current_path();
  auto folder =
      std::filesystem::temp_directory_path() / ("updraft-errors-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  for (const auto &[name, content] : errorCase.files)
    std::ofstream(name, std::ios::binary) << content;

  DiagnosticEngine diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (auto program = parseProgram(errorCase.source, "rule.upd", diagnostics))
    (void)importRule(context, *program, errorCase.request, diagnostics);
  for (const Diagnostic &diagnostic : diagnostics.diagnostics()) {
    kinds.insert(diagnostic.kind);
    for (const Diagnostic &note : diagnostic.notes)
      kinds.insert(note.kind);
  }

  std::filesystem::current_path(previous);
  std::filesystem::remove_all(folder);
  return diagnostics.render();
}
