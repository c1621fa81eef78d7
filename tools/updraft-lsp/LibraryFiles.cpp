//===- LibraryFiles.cpp - The standard library as files ---------------------------------------===//

#include "tools/updraft-lsp/LibraryFiles.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace path = llvm::sys::path;
namespace fs = llvm::sys::fs;

std::string updraft::copyOnDisk(const SourceFile &file) {
  llvm::SmallString<128> copy;
  if (!path::cache_directory(copy))
    return "";
  // Another version of Updraft has other texts.
  path::append(copy, "updraft-library",
               llvm::formatv("{0:x-16}", llvm::xxh3_64bits(file.text())).str());
  path::append(copy, file.path());
  if (auto present = llvm::MemoryBuffer::getFile(copy);
      present && (*present)->getBuffer() == file.text())
    return copy.str().str();
  if (fs::create_directories(path::parent_path(copy)))
    return "";
  llvm::Error error = llvm::writeToOutput(copy, [&](llvm::raw_ostream &os) {
    os << file.text();
    return llvm::Error::success();
  });
  if (error) {
    llvm::consumeError(std::move(error));
    return "";
  }
  static_cast<void>(fs::setPermissions(copy, fs::perms::all_read));
  return copy.str().str();
}
