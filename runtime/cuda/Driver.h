//===- Driver.h - The CUDA driver, loaded at run time -------------------------------*- C++ -*-===//
// Updraft doesn't link CUDA. Code that uses a GPU loads the driver first, and gets an error status
// if that fails.

#ifndef UPDRAFT_RUNTIME_CUDA_DRIVER_H
#define UPDRAFT_RUNTIME_CUDA_DRIVER_H

#include "runtime/base/Status.h"
#include "runtime/cuda/DriverTypes.h"

#include <memory>
#include <string>
#include <sys/types.h>

namespace updraft::cuda {

/// The driver's functions, and its errors as statuses. Thread-safe.
class Driver {
public:
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define UPDRAFT_CUDA_FUNCTION(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "runtime/cuda/DriverFunctions.def"

  /// The process's driver: `libcuda.so.1`, or the library in the environment variable
  /// UPDRAFT_CUDA_DRIVER, for tests. Loaded once, and never unloaded. UPD_UNSUPPORTED: the driver
  /// is missing or doesn't start, or there are no GPUs.
  static runtime::Status load(const Driver *&driver);

  /// Loads the driver from the file `path`, for dlopen. Never unloads it.
  static runtime::Status open(const std::string &path, std::unique_ptr<Driver> &driver);

  int devices() const { return deviceCount; }
  /// The highest CUDA version that the driver supports: 12040 is CUDA 12.4.
  int version() const { return driverVersion; }

  /// The driver's name and text of an error: "CUDA_ERROR_OUT_OF_MEMORY, out of memory".
  std::string textOf(Result error) const;
  /// Converts a result to a status. The message of an error is "`what`: " and the text of the
  /// error.
  runtime::Status check(Result result, const std::string &what) const;

private:
  runtime::Status start(const std::string &path);

  int deviceCount = 0, driverVersion = 0;
  pid_t process = 0; ///< process that started the driver
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_DRIVER_H
