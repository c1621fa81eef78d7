//===- DriverTests.cpp - Loading the CUDA driver, and its errors ------------------------------===//

#include "StandIn.h"

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace updraft::cuda;
using updraft::runtime::Status;

namespace {
Status openStatus(const char *path) {
  std::unique_ptr<Driver> driver;
  Status status = Driver::open(path, driver);
  EXPECT_EQ(driver != nullptr, status.ok());
  return status;
}

class DriverTest : public StandIn {
protected:
  std::string refusal() {
    const Status status = openStatus(UPDRAFT_STAND_IN);
    EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
    std::string text = status.message();
    if (const size_t at = text.find(UPDRAFT_STAND_IN); at != std::string::npos)
      text.replace(at, std::string(UPDRAFT_STAND_IN).size(), "PATH");
    return text;
  }
};
using CUDAError = DriverTest;

TEST(CUDADriverFile, IsMissing) {
  const Status status = openStatus("/nonexistent/libcuda.so.1");
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "cannot load the CUDA driver `/nonexistent/libcuda.so.1`: /nonexistent/libcuda.so.1: "
            "cannot open shared object file: No such file or directory; GPUs need NVIDIA's "
            "driver, which `nvidia-smi` shows where it is installed");
}

TEST(CUDADriverFile, IsAnotherLibrary) {
  const Status status = openStatus("libm.so.6");
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(), "the CUDA driver `libm.so.6` has no function `cuInit`; Updraft needs "
                              "a driver for CUDA 12 or later, which `nvidia-smi` shows");
}

TEST_F(DriverTest, Starts) {
  EXPECT_EQ(driver->devices(), 1);
  EXPECT_EQ(driver->version(), 12040);
}

TEST_F(DriverTest, DoesNotStart) {
  fail("cuInit", 803);
  EXPECT_EQ(refusal(), "the CUDA driver `PATH` does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "
                       "system has unsupported display driver / cuda driver combination; "
                       "`nvidia-smi` says whether it works for others");
  fail("cuDriverGetVersion", 3);
  EXPECT_EQ(refusal(), "the CUDA driver `PATH` does not start: CUDA_ERROR_NOT_INITIALIZED, "
                       "initialization error; `nvidia-smi` says whether it works for others");
}

TEST_F(DriverTest, FindsNoDevice) {
  fail("cuInit", 100);
  EXPECT_EQ(refusal(), "the CUDA driver `PATH` finds no GPU: CUDA_ERROR_NO_DEVICE, no CUDA-capable "
                       "device is detected; `nvidia-smi` lists the GPUs that there are, and "
                       "CUDA_VISIBLE_DEVICES chooses among them");
  reset();
  state->devices = 0;
  EXPECT_EQ(refusal(),
            "the CUDA driver `PATH` finds no GPU; `nvidia-smi` lists the GPUs that there "
            "are, and CUDA_VISIBLE_DEVICES chooses among them");
}

/// The only test that may load the process's driver.
TEST_F(DriverTest, IsLoadedOnce) {
  setenv("UPDRAFT_CUDA_DRIVER", UPDRAFT_STAND_IN, /*overwrite=*/1);
  const Driver *first = nullptr, *second = nullptr;
  EXPECT_EQ(Driver::load(first).message(), "");
  setenv("UPDRAFT_CUDA_DRIVER", "/nonexistent", /*overwrite=*/1);
  EXPECT_EQ(Driver::load(second).message(), "");
  EXPECT_EQ(first, second);

  std::shared_ptr<CudaDevice> device, again;
  EXPECT_EQ(CudaDevice::open(0, {}, device).message(), "");
  EXPECT_EQ(CudaDevice::open(0, {}, again).message(), "");
  EXPECT_EQ(device, again);
  const Status status = CudaDevice::open(1, {}, again);
  EXPECT_EQ(status.code(), UPD_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "there is no CUDA device 1; there is 0, after CUDA_VISIBLE_DEVICES");
}

TEST_F(CUDAError, HasTheDriversText) {
  EXPECT_TRUE(driver->check(success, "cannot").ok());
  const Status memory = driver->check(errorOutOfMemory, "cannot do it");
  EXPECT_EQ(memory.code(), UPD_OUT_OF_MEMORY);
  EXPECT_EQ(memory.message(), "cannot do it: CUDA_ERROR_OUT_OF_MEMORY, out of memory");
  const Status unknown = driver->check(Result(9999), "cannot do it");
  EXPECT_EQ(unknown.code(), UPD_INTERNAL_ERROR);
  EXPECT_EQ(unknown.message(), "cannot do it: CUDA's error 9999");
}

TEST_F(CUDAError, IsAboutAFork) {
  EXPECT_EQ(driver->check(errorNotInitialized, "cannot wait").message(),
            "cannot wait: CUDA_ERROR_NOT_INITIALIZED, initialization error");
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = driver->check(errorNotInitialized, "cannot wait").message();
    _exit(text == "cannot wait: CUDA_ERROR_NOT_INITIALIZED, initialization error; this process was "
                  "forked from one that uses CUDA, which does not survive that: start processes "
                  "with `spawn`"
              ? 0
              : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CUDAError, MayBeOfAnEarlierKernel) {
  EXPECT_EQ(driver->check(errorIllegalAddress, "cannot wait").message(),
            "cannot wait: CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered; "
            "this may come from any kernel that was launched before: CUDA_LAUNCH_BLOCKING=1 has "
            "the error come from the one that made it");
}
} // namespace
