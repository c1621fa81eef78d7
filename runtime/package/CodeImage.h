//===- CodeImage.h - Machine code of a package in this process ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_PACKAGE_CODEIMAGE_H
#define UPDRAFT_RUNTIME_PACKAGE_CODEIMAGE_H

#include "runtime/package/Package.h"

namespace updraft::package {

/// A copy of an image's code. Its memory is first writable, then executable, never both. The
/// destructor unmaps it. Immutable, so threads may share it.
class CodeImage {
public:
  /// UPD_UNSUPPORTED: the image calls a function that this version doesn't know, or the system
  /// forbids executable memory. UPD_OUT_OF_MEMORY: no memory.
  static runtime::Status load(const Image &image, std::shared_ptr<const CodeImage> &result);

  CodeImage(const CodeImage &) = delete;
  CodeImage &operator=(const CodeImage &) = delete;
  ~CodeImage();

  const char *address(uint32_t offset) const { return memory + offset; }

private:
  CodeImage() = default;
  runtime::Status protect(size_t executable);

  char *memory = nullptr;
  size_t size = 0;
};

} // namespace updraft::package

#endif // UPDRAFT_RUNTIME_PACKAGE_CODEIMAGE_H
