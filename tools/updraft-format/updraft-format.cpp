//===- updraft-format.cpp - Formats rule files ------------------------------------------------===//

#include "runtime/files/FileReplacement.h"
#include "tools/options/ExitCode.h"
#include "tools/options/RuleOptions.h"
#include "tools/options/StandardStreams.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Driver/Version.h"
#include "updraft/Frontend/Format.h"
#include "llvm/ADT/STLExtras.h"

#include <CLI/CLI.hpp>

using namespace updraft;

namespace {
constexpr const char *footer = R"(
Examples:
  updraft-format adamw.upd                    prints the formatted text
  updraft-format -i rules/*.upd               formats files in place
  updraft-format --check rules/*.upd          lists the files that are not formatted
  updraft-format < adamw.upd                  formats the standard input; so does -

Exit codes: 0 success, 1 an error in a file, or an unformatted file with --check, 2 a file could not be
read or written, 3 a bug in Updraft, 100 and above an error in the command line.)";

struct Options {
  std::vector<std::string> files;
  bool inPlace = false;
  bool check = false;
};

llvm::Error replaceFile(const std::string &path, llvm::StringRef text) {
  if (files::Failure failure = files::writeFile(path, text, files::OtherNames::Refuse))
    return makeError(UPD_IO_ERROR, "cannot write `" + path + "`: " + *failure);
  return llvm::Error::success();
}

llvm::Error format(const std::string &path, const Options &options) {
  auto text = readRuleFile(path);
  if (!text)
    return text.takeError();
  DiagnosticEngine diagnostics;
  std::optional<std::string> formatted =
      formatSource(*text, path == "-" ? "<stdin>" : path, diagnostics);
  if (diagnostics.hasErrors())
    return makeError(UPD_COMPILE_ERROR, diagnostics.render());
  if (!formatted)
    return makeError(UPD_INTERNAL_ERROR, "formatting `" + path +
                                             "` would change what it says; this is a defect of "
                                             "Updraft, please report it");
  if (options.check && *formatted != *text)
    return makeError(UPD_INVALID_ARGUMENT,
                     "`" + path + "` is not formatted; run updraft-format -i " + path);
  if (options.inPlace && *formatted != *text)
    return replaceFile(path, *formatted);
  if (!options.inPlace && !options.check)
    std::fwrite(formatted->data(), 1, formatted->size(), stdout);
  return llvm::Error::success();
}
} // namespace

int main(int argc, char **argv) {
  watchStandardOutput();
  CLI::App app("Formats rule files (.upd) without changing their meaning.");
  app.footer(footer);
  app.set_version_flag("--version", versionString().str());
  Options options;
  app.add_option("FILE", options.files, "Rule files; default, or -: the standard input");
  auto *inPlace = app.add_flag("-i,--in-place", options.inPlace, "Overwrite the files");
  app.add_flag("--check", options.check, "Write nothing; fail if a file is not formatted")
      ->excludes(inPlace);
  CLI11_PARSE(app, argc, argv);

  if (options.files.empty())
    options.files.push_back("-");
  if (options.inPlace && llvm::is_contained(options.files, "-")) {
    printMessage("error: the standard input cannot be formatted in place; leave out -i\n");
    return exitCodeOf(UPD_INVALID_ARGUMENT);
  }
  int code = 0;
  for (const std::string &path : options.files) {
    llvm::Error error = format(path, options);
    if (!error)
      continue;
    auto [status, message] = takeStatus(std::move(error));
    printMessage(describe(status, message));
    code = std::max(code, exitCodeOf(status));
  }
  return code;
}
