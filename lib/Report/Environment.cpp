//===- Environment.cpp - Reports of every rule that a process compiles ------------------------===//

#include "runtime/files/FileReplacement.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Report/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace updraft;

std::string updraft::reportFolderOfEnvironment() {
  return llvm::sys::Process::GetEnv("UPDRAFT_REPORT").value_or("");
}

/// Returns "-rank3" in a process that has a rank.
static std::string rankSuffix() {
  const auto rank = llvm::sys::Process::GetEnv("RANK");
  unsigned number = 0;
  if (!rank || llvm::StringRef(*rank).getAsInteger(10, number))
    return "";
  return "-rank" + std::to_string(number);
}

static llvm::Error writePage(const std::string &document, llvm::StringRef key,
                             llvm::StringRef folder) {
  auto value = llvm::json::parse(document);
  if (!value)
    return value.takeError();
  const std::string rule = value->getAsObject()->getString("name").value_or("").str();
  constexpr size_t keyLength = 8;
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, rule + "-" + key.take_front(keyLength) + rankSuffix() + ".html");
  files::Failure why;
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    why = error.message();
  else
    why = files::writeFile(path.str().str(), reportPage(document));
  if (why)
    return makeError(UPD_IO_ERROR, ("cannot write the report `" + path + "`: " + *why).str());
  return llvm::Error::success();
}

llvm::Error updraft::leaveReport(Compiler &compiler, const CompileRequest &request,
                                 llvm::StringRef key, llvm::StringRef folder) {
  ReportRequest report;
  report.rule = request;
  auto document = makeReport(compiler, report);
  if (!document)
    return document.takeError();
  return writePage(*document, key, folder);
}
