//===- ReportCommand.cpp - updraftc report ----------------------------------------------------===//

#include "ReportCommand.h"

#include "OutputFile.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Report/Report.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace updraft;

ReportCommand::ReportCommand(CLI::App &app)
    : command(app.add_subcommand("report", "Write a page that shows what the compiler did")) {
  rule.addTo(*command);
  command->add_option("--target", target, "CPU or GPU, as for compiling (default: host)");
  command->add_option("--also-for", alsoFor,
                      "A GPU whose stages, up to PTX, the page shows too: nvptx:sm_90");
  command->add_option("--compare", other, "Another report, of which the page shows the differences")
      ->type_name("REPORT");
  command
      ->add_option("--run", runs,
                   "Probes of a run as CSV, one file for each rank, which the page shows")
      ->type_name("FILE,…")
      ->delimiter(',');
  command->add_flag("--json", json, "Write the document alone, as JSON");
  command->add_option("-o,--output", output,
                      "File to write; - is stdout (default: FILE.html, or FILE.json)");
}

llvm::Error ReportCommand::check(const CLI::App &app) const {
  for (const CLI::Option *option : app.get_options())
    if (option->count())
      return makeError(UPD_INVALID_ARGUMENT,
                       "`" + option->get_name() +
                           "` comes before `report`, which would ignore it; write the options of "
                           "`report` after it, and see updraftc report --help");
  return llvm::Error::success();
}

static llvm::Expected<std::string> readReport(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(UPD_IO_ERROR,
                     "cannot read the report `" + path + "`: " + buffer.getError().message());
  return documentIn((*buffer)->getBuffer());
}

static llvm::Expected<std::vector<RunFile>> readRun(const std::vector<std::string> &paths) {
  std::vector<RunFile> files;
  for (const std::string &path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return makeError(UPD_IO_ERROR,
                       "cannot read the run `" + path + "`: " + buffer.getError().message());
    files.push_back({path, (*buffer)->getBuffer().str()});
  }
  return files;
}

llvm::Error ReportCommand::run() const {
  auto request = rule.makeRequest(target);
  if (!request)
    return request.takeError();
  ReportRequest report;
  report.rule = std::move(*request);
  report.measureMemory = target == "host";
  if (!alsoFor.empty())
    if (llvm::Error error = report.setAlsoFor(alsoFor))
      return error;
  if (json && !other.empty())
    return makeError(UPD_INVALID_ARGUMENT,
                     "`--json` writes one document, so `--compare` has no effect; leave out one");
  if (output.empty() && rule.file == "-")
    return makeError(UPD_INVALID_ARGUMENT,
                     "the rule comes from the standard input; name the report with -o");
  const std::string path =
      !output.empty() ? output
                      : llvm::sys::path::stem(rule.file).str() + (json ? ".json" : ".html");
  if (llvm::Error error = checkOutput("-o", path, report.rule))
    return error;
  std::string compared;
  if (!other.empty()) {
    auto document = readReport(other);
    if (!document)
      return document.takeError();
    compared = std::move(*document);
  }
  auto files = readRun(runs);
  if (!files)
    return files.takeError();
  return writeTo(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    Compiler compiler;
    auto document = makeReport(compiler, report);
    if (document && !files->empty())
      document = withRun(*document, *files);
    if (!document)
      return document.takeError();
    if (json)
      os << *document << '\n';
    else
      os << reportPage(*document, compared);
    return llvm::Error::success();
  });
}
