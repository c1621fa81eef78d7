//===- DocumentationTests.cpp - The examples of the pages about the language ------------------===//

#include "updraft/Frontend/Frontend.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace updraft;
using llvm::StringRef;

namespace {
// The blocks between "```upd" and "```", each with the line it starts on.
std::vector<std::pair<unsigned, StringRef>> examples(StringRef text) {
  std::vector<std::pair<unsigned, StringRef>> blocks;
  constexpr StringRef start = "```upd\n";
  for (size_t at = text.find(start); at != StringRef::npos; at = text.find(start, at)) {
    at += start.size();
    size_t end = std::min(text.find("```", at), text.size());
    blocks.emplace_back(text.take_front(at).count('\n') + 1, text.slice(at, end));
    at = end;
  }
  return blocks;
}

/// Compiles the examples of a page.
void compileExamples(StringRef page, size_t atLeast) {
  auto buffer = llvm::MemoryBuffer::getFile((StringRef(UPDRAFT_DOCS_DIR) + "/" + page).str());
  ASSERT_TRUE(static_cast<bool>(buffer));
  auto blocks = examples((*buffer)->getBuffer());
  EXPECT_GE(blocks.size(), atLeast);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  for (auto [line, text] : blocks) {
    SCOPED_TRACE("docs/" + page.str() + ", line " + std::to_string(line));
    DiagnosticEngine diagnostics;
    auto program = parseProgram(text, "language.upd", diagnostics);
    ASSERT_TRUE(program) << diagnostics.render();
    for (StringRef rule : program->ruleNames()) {
      auto imported = importRule(context, *program, {rule.str(), {}, {}}, diagnostics);
      ASSERT_TRUE(imported) << diagnostics.render();
      EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported->module)));
    }
  }
}

TEST(Documentation, EveryExampleCompiles) {
  compileExamples("language.md", 15);
  compileExamples("language-matrices.md", 5);
  compileExamples("probes.md", 1);
}
} // namespace
