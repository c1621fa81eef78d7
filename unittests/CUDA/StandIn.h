//===- StandIn.h - Tests with the stand-in for the CUDA driver ----------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_CUDA_STANDIN_H
#define UPDRAFT_UNITTESTS_CUDA_STANDIN_H

#include "StandInDriver.h"
#include "runtime/cuda/CudaDevice.h"

#include <cstdio>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace updraft::cuda {

/// UPDRAFT_STAND_IN is the path of the library.
class StandIn : public testing::Test {
protected:
  StandIn() : library(dlopen(UPDRAFT_STAND_IN, RTLD_NOW | RTLD_LOCAL)) {
    reset();
    EXPECT_EQ(Driver::open(UPDRAFT_STAND_IN, driver).message(), "");
    state = find<stand_in_state_function>("stand_in_state")();
  }
  ~StandIn() override {
    EXPECT_EQ(depth(), 0) << "contexts are left that were pushed";
    dlclose(library);
  }

  void reset() { find<stand_in_reset_function>("stand_in_reset")(); }
  int depth() { return find<stand_in_depth_function>("stand_in_depth")(); }
  void *current() { return find<stand_in_current_function>("stand_in_current")(); }

  /// Makes a function of the driver return an error, starting with one of its calls.
  void fail(const char *symbol, int error, int call = 0) {
    std::snprintf(state->failing, sizeof(state->failing), "%s", symbol);
    state->failure = error;
    state->failing_call = call;
  }

  std::shared_ptr<CudaDevice> makeDevice(const std::string &enginePtx = {}) {
    std::shared_ptr<CudaDevice> device;
    EXPECT_EQ(CudaDevice::make(*driver, 0, enginePtx, device).message(), "");
    return device;
  }

  void *library;
  std::unique_ptr<Driver> driver;
  stand_in *state;

private:
  template <typename Function> Function find(const char *symbol) {
    return reinterpret_cast<Function>(dlsym(library, symbol));
  }
};

} // namespace updraft::cuda

#endif // UPDRAFT_UNITTESTS_CUDA_STANDIN_H
