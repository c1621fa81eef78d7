//===- LanguageFuzzer.cpp - The frontend and the passes on any text ---------------------------===//
// A text is either a rule, which passes through every stage before machine code, or is refused with
// a message that has a location. Printing and formatting must keep the meaning.

#include "FuzzTarget.h"
#include "RequestLine.h"
#include "SourceFiles.h"

#include "Frontend/Builtins.h"
#include "Frontend/StandardLibrary.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Frontend/Format.h"
#include "updraft/Frontend/Parser.h"
#include "updraft/Frontend/Token.h"

using namespace updraft;
using namespace updraft::fuzz;

namespace {

/// Recreated now and then, because the context never frees attributes.
Compiler &compiler() {
  static std::unique_ptr<Compiler> current;
  static unsigned uses = 0;
  if (uses++ % 500 == 0)
    current = std::make_unique<Compiler>();
  return *current;
}

std::string treeOf(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSource(program, os);
  return text;
}

void checkRefusal(const updraft::DiagnosticEngine &diagnostics) {
  if (!diagnostics.hasErrors() || diagnostics.render().empty())
    finding("a text is refused without a message");
  for (const updraft::Diagnostic &diagnostic : diagnostics.diagnostics())
    if (!llvm::StringRef(diagnostic.message).contains("the rest are not shown") && !diagnostic.file)
      finding("a message has no place: " + diagnostic.message);
}

void checkSameTree(llvm::StringRef text, const std::string &tree, llvm::StringRef filename,
                   const char *how) {
  updraft::DiagnosticEngine diagnostics;
  auto program = parseProgram(text, filename, diagnostics);
  if (!program)
    finding(std::string("a text that was ") + how + " is refused:\n" + text.str() + "\n" +
            diagnostics.render());
  if (treeOf(*program) != tree)
    finding(std::string("a text that was ") + how + " means something else:\n" + text.str());
}

void checkFormatting(llvm::StringRef text, const std::string &tree, llvm::StringRef filename) {
  updraft::DiagnosticEngine diagnostics;
  std::optional<std::string> formatted = formatSource(text, filename, diagnostics);
  if (!formatted)
    finding("a text that is valid cannot be formatted:\n" + diagnostics.render());
  // A file that is too large can't be parsed for the comparison.
  if (formatted->size() > maxFileSize)
    return;
  checkSameTree(*formatted, tree, filename, "formatted");
  if (formatSource(*formatted, filename, diagnostics) != formatted)
    finding("formatting twice is not formatting once:\n" + *formatted);
}

void checkEmitted(const CompileRequest &request, Stage stage) {
  std::string output;
  llvm::raw_string_ostream os(output);
  llvm::Error error = compiler().emit(request, stage, os);
  if (!error) {
    if (output.empty() && stage != Stage::Ast) // a file may be empty
      finding("a stage prints nothing");
    return;
  }
  auto [status, message] = takeStatus(std::move(error));
  if (message.empty())
    finding("an error without a message");
  if (status != UPD_COMPILE_ERROR && status != UPD_INVALID_ARGUMENT)
    finding("status " + std::to_string(status) + ": " + message);
}

void fuzzLanguage(std::string_view input) {
  CompileRequest request = requestOf(input);
  updraft::DiagnosticEngine diagnostics;
  auto program = parseProgram(request.source, request.filename, diagnostics);
  if (!program)
    return checkRefusal(diagnostics);
  const std::string tree = treeOf(*program);
  if (tree.size() <= maxFileSize)
    checkSameTree(tree, tree, request.filename, "printed");
  checkFormatting(request.source, tree, request.filename);
  checkEmitted(request, Stage::Ast);
  if (request.rule.rule.empty() && program->ruleNames().size() > 1)
    request.rule.rule = program->ruleNames().back().str();
  checkEmitted(request, Stage::Loops);
  std::string cost;
  llvm::raw_string_ostream os(cost);
  llvm::consumeError(compiler().explain(request, os));
}

/// AdamW after each transform.
std::vector<Seed> chainSeeds() {
  const std::vector<Seed> transforms = filesBelow("rules/transforms", ".upd");
  const std::vector<Seed> rules = filesBelow("rules", "/adamw.upd");
  std::vector<Seed> seeds;
  for (const Seed &transform : transforms) {
    llvm::StringRef name = llvm::StringRef(transform.name).rsplit('-').second;
    name.consume_back(".upd");
    for (const Seed &rule : rules)
      seeds.push_back({("chain-" + name).str(),
                       (requestStart + "--rule=" + name + "|>AdamW\n" + rule.bytes).str()});
  }
  return seeds;
}

std::vector<Seed> languageSeeds() {
  std::vector<Seed> seeds = filesBelow("rules", ".upd");
  llvm::append_range(seeds, chainSeeds());
  for (const char *folder : {"test", "unittests"})
    llvm::append_range(seeds, filesBelow(folder, ".upd"));
  llvm::append_range(seeds, documentationExamples("upd"));
  return seeds;
}

std::vector<std::string> languageWords() {
  std::vector<std::string> words = {"param", "grad", "step", "first",           "f32",
                                    "f64",   "bf16", "f16",  requestStart.str()};
  for (llvm::StringRef keyword : keywords())
    words.push_back(keyword.str());
  for (unsigned kind = 0; kind <= unsigned(TokenKind::Not); ++kind) {
    llvm::StringRef text = describe(static_cast<TokenKind>(kind));
    if (text.consume_front("`") && text.consume_back("`"))
      words.push_back(text.str());
  }
  for (const Builtin &builtin : builtins())
    words.push_back((builtin.name + "(").str());
  for (const auto &function : standardFunctions())
    words.push_back((function.getKey() + "(").str());
  for (const char *option : {"--set ", "--storage ", "--rule=", "--numerics=", "--target="})
    words.push_back(option);
  return words;
}

} // namespace

const FuzzTarget updraft::fuzz::languageTarget = {"language", fuzzLanguage, languageSeeds,
                                                  languageWords};
