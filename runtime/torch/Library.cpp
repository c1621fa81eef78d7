//===- Library.cpp - The C API, found at run time ---------------------------------------------===//

#include "runtime/torch/Library.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <dlfcn.h>
#include <mutex>

using namespace updraft::torch_adapter;

namespace {
std::mutex mutex;
Library loaded;
void *handle = nullptr;
std::atomic<bool> isLoaded = false;

[[noreturn]] void refuse(const std::string &path, const std::string &reason) {
  TORCH_CHECK(false, "cannot use `", path, "` as Updraft's library: ", reason);
  __builtin_unreachable();
}
} // namespace

void Library::load(const std::string &path) {
  std::lock_guard lock(mutex);
  // dlopen returns the handle of a loaded library, even if Python loaded it with RTLD_LOCAL.
  void *opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened)
    refuse(path, dlerror());
  if (handle && opened != handle)
    refuse(path, "this process uses another one already");
  if (handle) // other threads may be reading its functions
    return;
  Library found;
#define UPDRAFT_FIND(name)                                                                         \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(opened, #name));                       \
  if (!found.name)                                                                                 \
    refuse(path, "it has no function `" #name "`; build the adapter and the library together");
  UPDRAFT_LIBRARY_FUNCTIONS(UPDRAFT_FIND)
#undef UPDRAFT_FIND
  loaded = found;
  handle = opened;
  isLoaded.store(true, std::memory_order_release);
}

const Library *Library::find() {
  return isLoaded.load(std::memory_order_acquire) ? &loaded : nullptr;
}

const Library &Library::get() {
  TORCH_CHECK(handle, "Updraft's library is not loaded; call updraft::load_library first");
  return loaded;
}

void updraft::torch_adapter::check(upd_status status) {
  if (status == UPD_OK)
    return;
  const char *message = Library::get().upd_last_error();
  switch (status) {
  case UPD_INVALID_ARGUMENT:
  case UPD_COMPILE_ERROR:
    TORCH_CHECK_VALUE(false, message);
  case UPD_NOT_FOUND:
    TORCH_CHECK_INDEX(false, message);
  case UPD_UNSUPPORTED:
    TORCH_CHECK_NOT_IMPLEMENTED(false, message);
  default:
    TORCH_CHECK(false, message);
  }
}
