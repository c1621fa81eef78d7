//===- RuleText.cpp - Reading the text of rules -----------------------------------------------===//

#include "updraft/Frontend/RuleText.h"

#include "updraft/Frontend/Parser.h"
#include "llvm/ADT/ScopeExit.h"

#include <fcntl.h>
#include <sys/stat.h>

using namespace updraft;
namespace fs = llvm::sys::fs;

llvm::Expected<std::string> updraft::readRuleText(fs::file_t file) {
  llvm::scope_exit close([&] {
    if (file != fs::getStdinHandle())
      static_cast<void>(fs::closeFile(file));
  });
  std::string text(maxFileSize + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    llvm::Expected<size_t> count = fs::readNativeFile(
        file, llvm::MutableArrayRef<char>(text.data() + size, text.size() - size));
    if (!count)
      return count.takeError();
    if (*count == 0)
      break;
    size += *count;
  }
  text.resize(size);
  return text;
}

llvm::Expected<std::string> updraft::readImport(llvm::StringRef path) {
  auto refuse = [](std::error_code code) {
    return llvm::createStringError(code, code == std::errc::no_such_file_or_directory
                                             ? "there is no such file"
                                             : code.message().c_str());
  };
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  fs::file_t file = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file == -1)
    return refuse(std::error_code(errno, std::generic_category()));
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    static_cast<void>(fs::closeFile(file));
    return llvm::createStringError("it is not a regular file");
  }
  // Doesn't query the size, because files in /proc report 0.
  llvm::Expected<std::string> text = readRuleText(file);
  if (!text)
    return refuse(llvm::errorToErrorCode(text.takeError()));
  if (text->size() > maxFileSize)
    return llvm::createStringError("it has more than %zu bytes", maxFileSize);
  return text;
}
