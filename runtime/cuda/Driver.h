//===- Driver.h - The CUDA driver, loaded at run time -------------------------------*- C++ -*-===//
// Updraft is not linked to CUDA: what uses a GPU loads the driver first, and without one gets a
// status that says so.

#ifndef UPDRAFT_RUNTIME_CUDA_DRIVER_H
#define UPDRAFT_RUNTIME_CUDA_DRIVER_H

#include "runtime/base/Status.h"
#include "runtime/cuda/DriverTypes.h"

#include <memory>
#include <string>
#include <sys/types.h>

namespace updraft::cuda {

/// The driver's functions, and its errors as statuses. Any thread.
class Driver {
public:
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define UPDRAFT_CUDA_FUNCTION(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "runtime/cuda/DriverFunctions.def"

  /// The process's driver: `libcuda.so.1`, or the library that the environment variable
  /// UPDRAFT_CUDA_DRIVER names, for tests. Found out once; stays for the life of the process.
  /// UPD_UNSUPPORTED if there is no driver, one that does not start, or no GPU.
  static runtime::Status load(const Driver *&driver);

  /// The driver in the file `path`, as dlopen takes it. It is never unloaded.
  static runtime::Status open(const std::string &path, std::unique_ptr<Driver> &driver);

  int devices() const { return deviceCount; }
  /// 12040 is CUDA 12.4: the highest that the driver supports.
  int version() const { return driverVersion; }

  /// The driver's name and text for an error: "CUDA_ERROR_OUT_OF_MEMORY, out of memory".
  std::string textOf(Result error) const;
  /// Success if `result` is, else "`what`: " and the text of the error.
  runtime::Status check(Result result, const std::string &what) const;

private:
  runtime::Status start(const std::string &path);

  int deviceCount = 0, driverVersion = 0;
  pid_t process = 0; ///< that started the driver
};

} // namespace updraft::cuda

#endif // UPDRAFT_RUNTIME_CUDA_DRIVER_H
