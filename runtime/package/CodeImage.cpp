//===- CodeImage.cpp - Machine code of a package in this process ------------------------------===//

#include "runtime/package/CodeImage.h"

#include "runtime/base/Imports.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace updraft;
using namespace updraft::package;
using runtime::Status;

CodeImage::~CodeImage() {
  if (memory)
    ::munmap(memory, size);
}

Status CodeImage::load(const Image &image, std::shared_ptr<const CodeImage> &result) {
  const auto imports = runtime::imports();
  for (const upd_package_import &import : image.imports)
    if (import.function >= imports.size() || !imports[import.function].address)
      return {UPD_UNSUPPORTED,
              fmt::format("the code for `{}` calls function {}, which this version "
                          "doesn't know; install a newer Updraft to use it",
                          image.target, import.function)};
  std::shared_ptr<CodeImage> loaded(new CodeImage());
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  const size_t size = (image.code.size() + page - 1) / page * page;
  void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return {UPD_OUT_OF_MEMORY, fmt::format("no memory for {} bytes of machine code", size)};
  loaded->memory = static_cast<char *>(memory);
  loaded->size = size;
  std::memcpy(loaded->memory, image.code.data(), image.code.size());
  for (const upd_package_import &import : image.imports)
    std::memcpy(loaded->memory + import.offset, &imports[import.function].address, sizeof(void *));
  if (Status status = loaded->protect(image.executable); !status.ok())
    return status;
  result = std::move(loaded);
  return {};
}

Status CodeImage::protect(size_t executable) {
  // Where pages are larger, the last one with code has read-only data, too.
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  const size_t end = (executable + page - 1) / page * page;
  if (::mprotect(memory, end, PROT_READ | PROT_EXEC) != 0 ||
      (end != size && ::mprotect(memory + end, size - end, PROT_READ) != 0))
    return {UPD_UNSUPPORTED,
            fmt::format("cannot make memory executable: {}", std::strerror(errno))};
  __builtin___clear_cache(memory, memory + executable);
  return {};
}
