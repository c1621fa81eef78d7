//===- DatabaseFiles.cpp - SQLite on a disk of the store --------------------------------------===//

#include "runtime/store/DatabaseFiles.h"

#include "runtime/store/StoreError.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <sqlite3.h>
#include <utility>

using namespace updraft::store;

namespace {

/// A file for SQLite, which allocates the memory and calls no constructor.
struct OpenFile {
  sqlite3_file base; ///< the first member
  DatabaseFiles *files;
  File *file;
  bool isNameSynced;
};

DatabaseFiles &filesOf(sqlite3_vfs *vfs) { return *static_cast<DatabaseFiles *>(vfs->pAppData); }
OpenFile &openOf(sqlite3_file *file) { return *reinterpret_cast<OpenFile *>(file); }

/// Calls `work`, which returns a code. Keeps its exception, and returns `code` or, if the disk is
/// full, SQLITE_FULL. An exception that isn't the disk's (the simulator's crash) is kept, too.
template <typename Work> int guarded(DatabaseFiles &files, int code, const Work &work) {
  try {
    return work();
  } catch (const StoreError &error) {
    files.error = std::current_exception();
    return error.kind() == StoreError::Kind::Full ? SQLITE_FULL : code;
  } catch (...) {
    files.error = std::current_exception();
    return code;
  }
}

int closeFile(sqlite3_file *file) {
  delete std::exchange(openOf(file).file, nullptr);
  return SQLITE_OK;
}

int readPart(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset) {
  return guarded(*openOf(file).files, SQLITE_IOERR_READ, [&] {
    const auto wanted = static_cast<size_t>(bytes);
    const size_t count = openOf(file).file->read(static_cast<uint64_t>(offset), data, wanted);
    std::memset(static_cast<char *>(data) + count, 0, wanted - count);
    return count == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  });
}

int writePart(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset) {
  return guarded(*openOf(file).files, SQLITE_IOERR_WRITE, [&] {
    openOf(file).file->write(static_cast<uint64_t>(offset),
                             {{static_cast<const char *>(data), static_cast<size_t>(bytes)}});
    return SQLITE_OK;
  });
}

int truncateFile(sqlite3_file *file, sqlite3_int64 size) {
  return guarded(*openOf(file).files, SQLITE_IOERR_TRUNCATE, [&] {
    openOf(file).file->truncate(static_cast<uint64_t>(size));
    return SQLITE_OK;
  });
}

int syncFile(sqlite3_file *file, int) {
  return guarded(*openOf(file).files, SQLITE_IOERR_FSYNC, [&] {
    OpenFile &open = openOf(file);
    open.file->sync();
    if (!open.isNameSynced)
      open.files->disk.syncNames();
    open.isNameSynced = true;
    return SQLITE_OK;
  });
}

int sizeOfFile(sqlite3_file *file, sqlite3_int64 *size) {
  return guarded(*openOf(file).files, SQLITE_IOERR_FSTAT, [&] {
    *size = static_cast<sqlite3_int64>(openOf(file).file->size());
    return SQLITE_OK;
  });
}

int noLock(sqlite3_file *, int) { return SQLITE_OK; }
int isReserved(sqlite3_file *, int *result) {
  *result = 0;
  return SQLITE_OK;
}
int noControl(sqlite3_file *, int, void *) { return SQLITE_NOTFOUND; }
int sectorSize(sqlite3_file *) { return 4096; }
int noCharacteristics(sqlite3_file *) { return 0; }

constexpr sqlite3_io_methods methods = {
    1,       closeFile, readPart,   writePart, truncateFile, syncFile,          sizeOfFile,
    noLock,  noLock,    isReserved, noControl, sectorSize,   noCharacteristics, nullptr,
    nullptr, nullptr,   nullptr,    nullptr,   nullptr};

int openFile(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *outFlags) {
  file->pMethods = nullptr; // not to be closed
  DatabaseFiles &files = filesOf(vfs);
  return guarded(files, SQLITE_CANTOPEN, [&] {
    if (!name) // a temporary file, which SQLite has in memory
      return SQLITE_CANTOPEN;
    auto opened = files.disk.open(name, (flags & SQLITE_OPEN_CREATE) ? Disk::Opening::OrCreate
                                                                     : Disk::Opening::Existing);
    if (!opened)
      return SQLITE_CANTOPEN;
    OpenFile &open = openOf(file);
    open.isNameSynced = (flags & SQLITE_OPEN_CREATE) == 0;
    open.files = &files;
    open.file = opened.release();
    open.base.pMethods = &methods;
    if (outFlags)
      *outFlags = flags;
    return SQLITE_OK;
  });
}

int removeFile(sqlite3_vfs *vfs, const char *name, int sync) {
  DatabaseFiles &files = filesOf(vfs);
  return guarded(files, SQLITE_IOERR_DELETE, [&] {
    files.disk.remove(name);
    if (sync)
      files.disk.syncNames();
    return SQLITE_OK;
  });
}

int hasFile(sqlite3_vfs *vfs, const char *name, int, int *result) {
  DatabaseFiles &files = filesOf(vfs);
  return guarded(files, SQLITE_IOERR_ACCESS, [&] {
    *result = files.disk.open(name, Disk::Opening::Existing) != nullptr;
    return SQLITE_OK;
  });
}

int sameName(sqlite3_vfs *, const char *name, int bytes, char *result) {
  sqlite3_snprintf(bytes, result, "%s", name);
  return SQLITE_OK;
}

/// For the marks in rollback journals. They need to differ, not to be unpredictable.
int numbers(sqlite3_vfs *, int bytes, char *result) {
  static thread_local uint64_t next = 0;
  for (int i = 0; i < bytes; i += 8) {
    const uint64_t value = ++next * 0x9e3779b97f4a7c15;
    std::memcpy(result + i, &value, static_cast<size_t>(std::min(8, bytes - i)));
  }
  return bytes;
}

int noSleep(sqlite3_vfs *, int) { return 0; }
int noTime(sqlite3_vfs *, double *result) {
  *result = 0;
  return SQLITE_OK;
}
int noError(sqlite3_vfs *, int, char *) { return 0; }

} // namespace

DatabaseFiles::DatabaseFiles(Disk &disk)
    : disk(disk), vfsName(fmt::format("updraft-{}", static_cast<void *>(this))),
      vfs(std::make_unique<sqlite3_vfs>()) {
  vfs->iVersion = 1;
  vfs->szOsFile = sizeof(OpenFile);
  vfs->mxPathname = 256;
  vfs->zName = vfsName.c_str();
  vfs->pAppData = this;
  vfs->xOpen = openFile;
  vfs->xDelete = removeFile;
  vfs->xAccess = hasFile;
  vfs->xFullPathname = sameName;
  vfs->xRandomness = numbers;
  vfs->xSleep = noSleep;
  vfs->xCurrentTime = noTime;
  vfs->xGetLastError = noError;
  if (sqlite3_vfs_register(vfs.get(), /*makeDflt=*/0) != SQLITE_OK)
    throw std::bad_alloc();
}

DatabaseFiles::~DatabaseFiles() { sqlite3_vfs_unregister(vfs.get()); }

void DatabaseFiles::rethrow() {
  if (const std::exception_ptr thrown = std::exchange(error, nullptr))
    std::rethrow_exception(thrown);
}
