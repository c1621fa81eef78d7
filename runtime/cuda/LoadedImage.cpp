//===- LoadedImage.cpp - Kernels that a GPU can run -------------------------------------------===//

#include "runtime/cuda/LoadedImage.h"

#include <array>
#include <cstring>
#include <fmt/format.h>

using namespace updraft::cuda;
using updraft::runtime::Status;

/// The text in a buffer, which the driver may have filled completely.
static std::string logText(const std::array<char, 8192> &buffer) {
  std::string text(buffer.data(), strnlen(buffer.data(), buffer.size()));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

// Doesn't use the driver's linker, which would compile for calls between modules: such kernels need
// half as many registers again, so fewer threads run at a time.
Status LoadedImage::load(const Driver &driver, const Target &target, const std::string &ptx,
                         std::unique_ptr<LoadedImage> &image) {
  std::array<char, 8192> errors{};
  JitOption options[] = {errorLogBuffer, errorLogBufferBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(errors.size())};
  Image *loaded = nullptr;
  const Result result = driver.moduleLoadData(&loaded, ptx.c_str(), 2, options, values);
  Status status = driver.check(
      result, fmt::format("cannot load kernels into {} (sm_{}{}) with a driver for CUDA {}.{}",
                          target.name, target.major, target.minor, driver.version() / 1000,
                          driver.version() % 1000 / 10));
  if (status.ok()) {
    image = std::make_unique<LoadedImage>(driver, loaded);
    return {};
  }
  std::string text = status.message();
  if (result == errorUnsupportedPtxVersion)
    text += "; a newer driver may take it";
  if (const std::string log = logText(errors); !log.empty())
    text += "\n" + log;
  return {status.code(), std::move(text)};
}
