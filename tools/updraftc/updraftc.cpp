//===- updraftc.cpp - The compiler at the command line ----------------------------------------===//
// Compiles a rule to an object file, prints any stage of the compilation, explains the cost of a
// step, makes and shows packages and reports, and manages the cache.

#include "CacheCommand.h"
#include "OutputFile.h"
#include "PackageCommands.h"
#include "ReportCommand.h"
#include "runtime/files/FileReplacement.h"
#include "tools/options/ExitCode.h"
#include "tools/options/RuleOptions.h"
#include "tools/options/StandardStreams.h"
#include "updraft/Driver/Compiler.h"
#include "updraft/Driver/LinkNames.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Driver/Version.h"
#include "updraft/Frontend/Frontend.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace updraft;

namespace {
constexpr const char *footer = R"(
Examples:
  updraftc adamw.upd                          writes adamw.o for this machine's CPU
  updraftc adamw.upd --emit=schedule          prints the sweeps over data
  updraftc adamw.upd --emit=header --target=x86-64-v3 -o adamw.h    C functions for the rule
  updraftc adamw.upd --emit=asm --target=x86-64-v3 --set amsgrad=true
  updraftc adamw.upd --storage param=bf16,grad=bf16,state=f32 --explain
  updraftc adamw.upd --emit=updraft --locations
  updraftc adamw.upd --target=nvptx:sm_90     prints kernels for a GPU as PTX
  updraftc adamw.upd --target=nvptx:sm_90 --emit=cubin    writes adamw.cubin
  updraftc adamw.upd --dump-ir-to=dump        the module after every pass, in numbered files
  updraftc pack adamw.upd --target=x86-64-v3,aarch64    writes adamw.updraft
  updraftc report adamw.upd -o report.html    a page that shows what the compiler did
  updraftc cache list
A FILE of - is the standard input.

Exit codes: 0 success, 1 error in the rule or the request, 2 a file could not be read or written,
3 a bug in Updraft, 100 and above an error in the command line.)";

const std::map<std::string, upd_tensors> tensorsByName = {
    {"all", UPD_ALL_TENSORS}, {"vectors", UPD_VECTORS}, {"matrices", UPD_MATRICES}};

struct Options {
  RuleOptions rule;
  std::string emit;
  std::string target = "host";
  std::string output;
  bool explain = false;
  unsigned vectorBits = 0;
  std::string tensors = "all";
  std::string name;
  std::string dependencies;
  Inspection inspection;
};

int report(llvm::Error error) {
  auto [status, message] = takeStatus(std::move(error));
  printMessage(describe(status, message));
  return exitCodeOf(status);
}

std::string escapedForMake(llvm::StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#')
      text += '\\';
    text += c == '$' ? "$$" : std::string(1, c);
  }
  return text;
}

/// The options of a rule that is linked into a program. Only a header has several targets; the
/// first stands for all.
llvm::Expected<CompileRequest> makeRequest(const Options &options) {
  const bool isHeader = options.emit == "header";
  llvm::SmallVector<llvm::StringRef> targets{options.target};
  if (isHeader) {
    targets.clear();
    llvm::StringRef(options.target).split(targets, ',');
  }
  auto request = options.rule.makeRequest(targets.front());
  if (!request)
    return request;
  request->link.name = options.name;
  if (isHeader && options.name.empty())
    request->link.name = linkNameOf(options.rule.file);
  if (!request->link.name.empty())
    request->link.targets.assign(targets.begin(), targets.end());
  return request;
}

/// Writes the files that the result depends on, as makefiles list them.
llvm::Error writeDependencies(const Options &options, const std::string &output,
                              const CompileRequest &request) {
  auto program = Compiler::parse(request);
  if (!program)
    return program.takeError();
  return writeTo(options.dependencies, [&](llvm::raw_ostream &os) {
    os << escapedForMake(output) << ":";
    for (const auto &source : (*program)->files())
      if (llvm::sys::fs::exists(source->path())) // the standard library is part of updraftc
        os << " \\\n  " << escapedForMake(source->path());
    os << '\n';
    return llvm::Error::success();
  });
}

/// Refuses options that a print of the parsed text would ignore.
llvm::Error checkForAst(const Options &options) {
  const std::pair<const char *, bool> given[] = {
      {"--rule", !options.rule.rule.empty()},
      {"--set", !options.rule.settings.empty()},
      {"--storage", !options.rule.storage.empty()},
      {"--probe", !options.rule.probes.empty()},
      {"--dump-ir-to", !options.inspection.dumpFolder.empty()},
  };
  for (const auto &[option, isGiven] : given)
    if (isGiven)
      return makeError(UPD_INVALID_ARGUMENT,
                       std::string("`--emit=ast` stops at the parsed text, where `") + option +
                           "` has no effect; leave it out");
  return llvm::Error::success();
}

llvm::Error compile(const Options &options) {
  auto request = makeRequest(options);
  if (!request)
    return request.takeError();
  request->inspection = options.inspection;
  if (options.vectorBits)
    request->target.vectorBits = options.vectorBits;
  request->rule.tensors = tensorsByName.at(options.tensors);
  Compiler compiler;
  const bool isOnlyExplained = options.explain && options.emit.empty();
  const char *last = request->gpu && !request->gpu->isEmulated ? "ptx" : "obj";
  std::optional<Stage> stage = parseStage(options.emit.empty() ? last : options.emit);
  if (stage == Stage::Ast && !options.explain)
    if (llvm::Error error = checkForAst(options))
      return error;
  if (!options.name.empty() && (isOnlyExplained || (stage != Stage::Obj && stage != Stage::Header)))
    return makeError(UPD_INVALID_ARGUMENT, "`--name` is for objects and headers of a CPU; leave it "
                                           "out, or add `--emit=obj` or `--emit=header`");
  std::string output = options.output;
  llvm::StringRef suffix = binarySuffix(*stage);
  if (isOnlyExplained)
    suffix = "";
  if (output.empty() && !suffix.empty() && options.rule.file == "-")
    return makeError(UPD_INVALID_ARGUMENT,
                     "the rule comes from the standard input; name the object with -o");
  if (output.empty())
    output = suffix.empty() ? "-" : (llvm::sys::path::stem(options.rule.file) + suffix).str();
  if (llvm::Error error = checkOutput("-o", output, *request))
    return error;
  if (!options.dependencies.empty()) {
    if (isOnlyExplained || files::wouldBeSameFile(options.dependencies, output))
      return makeError(UPD_INVALID_ARGUMENT,
                       "`--depfile` needs an output, which is another file than its own");
    if (llvm::Error error = checkOutput("--depfile", options.dependencies, *request))
      return error;
  }
  if (options.explain) {
    llvm::Error error = writeTo(isOnlyExplained ? output : "-",
                                [&](auto &os) { return compiler.explain(*request, os); });
    if (error || isOnlyExplained)
      return error;
  }
  llvm::Error error =
      writeTo(output, [&](auto &os) { return compiler.emit(*request, *stage, os); });
  if (error || options.dependencies.empty())
    return error;
  return writeDependencies(options, output, *request);
}
} // namespace

int main(int argc, char **argv) {
  watchStandardOutput();
  CLI::App app(
      "Compiles an optimizer update rule to machine code, or prints any stage of the compilation.");
  app.footer(footer);
  app.set_version_flag("--version", versionString().str());
  app.require_subcommand(0, 1);

  Options options;
  options.rule.addTo(app);
  app.add_option("--emit", options.emit,
                 "Stage: " + llvm::join(stageNames(), ", ") +
                     "; default: obj for a CPU, ptx for a GPU")
      ->check(CLI::IsMember(std::vector<std::string>(stageNames().begin(), stageNames().end())));
  app.add_option(
      "--target", options.target,
      "CPU: host (default), x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4+bf16, aarch64,\n"
      "aarch64+bf16, aarch64+sve128, aarch64+sve256, aarch64+sve512; or GPU: nvptx:sm_80,\n"
      "nvptx:sm_90, nvptx:sm_100, or emulator, which runs a GPU's kernels on the CPU. With\n"
      "--emit=header, all CPUs of the program: x86-64-v2,x86-64-v3");
  app.add_option(
      "--name", options.name,
      "For a rule that is linked into a program: the start of its names in C. An object\n"
      "then has one symbol, NAME_TARGET, which the header of --emit=header uses\n"
      "(default for a header: the file's name)");
  app.add_option("--depfile", options.dependencies,
                 "Also write the files that were read, in the syntax of makefiles");
  app.add_option("--tensors", options.tensors,
                 "all (default), vectors or matrices: the tensors to compile the rule for")
      ->check(CLI::IsMember(tensorsByName));
  const CLI::Option *output =
      app.add_option("-o,--output", options.output,
                     "File to write; - is stdout (default: FILE.o for objects,\n"
                     "FILE.cubin for GPU code, else -)");
  app.add_flag("--explain", options.explain,
               "Print the cost of a step: sweeps, bytes, flops, hoisted scalars; to stdout if\n"
               "--emit is given too");
  app.add_flag("--locations", options.inspection.printLocations,
               "Print the source location of each operation, with --emit=ast to --emit=loops");
  app.add_flag("-g,--debug", options.inspection.lineTables,
               "Add DWARF line tables of the rule's text to LLVM IR, assembly and objects");
  app.add_option("--dump-ir-to", options.inspection.dumpFolder,
                 "Folder for the rule after every pass, from the dialect to assembly");
  // Hidden: tests use it to make a pass fail.
  app.add_option("--vector-bits", options.vectorBits)->group("");
  CacheCommand cache(app);
  PackageCommands packages(app);
  ReportCommand reports(app);

  CLI11_PARSE(app, argc, argv);
  if (cache.chosen()) {
    llvm::Error error = cache.check(app);
    if (!error)
      error = writeTo("-", [&](auto &os) { return cache.run(os); });
    return error ? report(std::move(error)) : 0;
  }
  if (packages.chosen()) {
    llvm::Error error = packages.check(app);
    if (!error)
      error = packages.run();
    return error ? report(std::move(error)) : 0;
  }
  if (reports.chosen()) {
    llvm::Error error = reports.check(app);
    if (!error)
      error = reports.run();
    return error ? report(std::move(error)) : 0;
  }
  if (output->count() && options.output.empty())
    return report(makeError(UPD_INVALID_ARGUMENT, "`-o` has an empty name; give a file, or - for "
                                                  "the standard output"));
  llvm::Error error = compile(options);
  return error ? report(std::move(error)) : 0;
}
