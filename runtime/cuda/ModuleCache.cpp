//===- ModuleCache.cpp - From PTX to kernels on a GPU -----------------------------------------===//

#include "runtime/cuda/ModuleCache.h"

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

Status ModuleCache::compile(const std::string &ptx, std::string &cubin) const {
  std::array<char, 8192> errors{};
  LinkOption options[] = {errorLogBuffer, errorLogBufferBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(errors.size())};
  Link *link = nullptr;
  Result result = driver.linkCreate(2, options, values, &link);
  if (result == success) {
    void *code = nullptr;
    size_t bytes = 0;
    // Includes the final null character, as the driver requires.
    result = driver.linkAddData(link, inputPtx, const_cast<char *>(ptx.c_str()), ptx.size() + 1,
                                "updraft", 0, nullptr, nullptr);
    if (result == success)
      result = driver.linkComplete(link, &code, &bytes);
    if (result == success)
      cubin.assign(static_cast<const char *>(code), bytes);
    (void)driver.linkDestroy(link);
  }
  Status status = driver.check(
      result, fmt::format("cannot compile kernels for {} (sm_{}{}) with a driver for CUDA {}.{}",
                          target.name, target.major, target.minor, driver.version() / 1000,
                          driver.version() % 1000 / 10));
  if (status.ok())
    return {};
  std::string text = status.message();
  if (result == errorUnsupportedPtxVersion)
    text += "; a newer driver may take it";
  if (const std::string log = logText(errors); !log.empty())
    text += "\n" + log;
  return {status.code(), std::move(text)};
}

std::string ModuleCache::sourceOf(const std::string &ptx) const {
  return fmt::format("driver {} sm_{}{}\n{}", driver.version(), target.major, target.minor, ptx);
}

Status ModuleCache::load(const std::string &ptx, std::unique_ptr<LoadedImage> &image) const {
  const std::string source = sourceOf(ptx);
  Image *loaded = nullptr;
  if (const auto kept = cubins.lookup(source)) {
    if (driver.moduleLoadData(&loaded, kept->data()) == success) {
      image = std::make_unique<LoadedImage>(driver, loaded);
      return {};
    }
  }
  std::string cubin;
  if (Status status = compile(ptx, cubin); !status.ok())
    return status;
  Status status = driver.check(driver.moduleLoadData(&loaded, cubin.data()),
                               fmt::format("cannot load kernels into {}", target.name));
  if (!status.ok())
    return status;
  image = std::make_unique<LoadedImage>(driver, loaded);
  cubins.store(source, cubin);
  return {};
}
