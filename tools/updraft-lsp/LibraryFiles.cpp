//===- LibraryFiles.cpp - The standard library as files ---------------------------------------===//

#include "tools/updraft-lsp/LibraryFiles.h"

#include "runtime/files/FileReplacement.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

namespace path = llvm::sys::path;
namespace fs = llvm::sys::fs;

std::string updraft::copyOnDisk(const SourceFile &file) {
  llvm::SmallString<128> copy;
  // A relative folder is invalid: it would depend on the working directory.
  if (!path::cache_directory(copy) || !path::is_absolute(copy))
    return "";
  // Other versions of Updraft have other texts.
  path::append(copy, "updraft-library",
               llvm::formatv("{0:x-16}", llvm::xxh3_64bits(file.text())).str());
  path::append(copy, file.path());
  if (auto present = llvm::MemoryBuffer::getFile(copy);
      present && (*present)->getBuffer() == file.text())
    return copy.str().str();
  if (fs::create_directories(path::parent_path(copy)))
    return "";
  fs::remove(copy); // it is damaged, and read-only
  if (files::writeFile(copy.str().str(), file.text(), files::OtherNames::KeepOld,
                       files::Synced::No))
    return "";
  static_cast<void>(fs::setPermissions(copy, fs::perms::all_read));
  return copy.str().str();
}
