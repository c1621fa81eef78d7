//===- ModuleTests.cpp - Loading PTX ----------------------------------------------------------===//

#include "StandIn.h"

using namespace updraft::cuda;
using updraft::runtime::GPUKernels;
using updraft::runtime::Status;

namespace {
std::string ptxOf(const std::string &name) { return ".version 8.0\n.entry " + name + "()"; }

class ModuleTest : public StandIn {
protected:
  Status load(CudaDevice &device, const std::string &ptx) {
    GPUKernels kernels;
    kernels.ptx = ptx;
    return device.load(kernels, module);
  }

  std::shared_ptr<updraft::gpu::Module> module;
};

TEST_F(ModuleTest, HasItsKernels) {
  auto device = makeDevice();
  ASSERT_EQ(load(*device, ptxOf("adamw_sweep0")).message(), "");
  updraft::gpu::Kernel kernel = nullptr, again = nullptr;
  EXPECT_EQ(module->find("adamw_sweep0", kernel).message(), "");
  EXPECT_EQ(module->find("adamw_sweep0", again).message(), "");
  EXPECT_EQ(kernel, again);
  const Status status = module->find("adamw_sweep1", kernel);
  EXPECT_EQ(status.code(), UPD_NOT_FOUND);
  EXPECT_EQ(status.message(), "cannot find the kernel `adamw_sweep1` on NVIDIA H200: "
                              "CUDA_ERROR_NOT_FOUND, named symbol not found");
}

TEST_F(ModuleTest, IsSharedWhileItLives) {
  auto device = makeDevice();
  ASSERT_TRUE(load(*device, ptxOf("a")).ok());
  auto first = module;
  ASSERT_TRUE(load(*device, ptxOf("a")).ok());
  EXPECT_EQ(module, first);
  EXPECT_EQ(state->modules, 1);
  ASSERT_TRUE(load(*device, ptxOf("b")).ok());
  EXPECT_EQ(state->modules, 2);
  first.reset();
  EXPECT_EQ(state->modules, 1);
  ASSERT_TRUE(load(*device, ptxOf("a")).ok());
  EXPECT_EQ(state->compilations, 3);
}

TEST_F(ModuleTest, NeedsPTX) {
  auto device = makeDevice();
  const Status rule = load(*device, "");
  EXPECT_EQ(rule.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(rule.message(),
            "the rule was not compiled for NVIDIA H200; compile it for `nvptx:sm_90`");
  const Status engine = device->loadEngine(module);
  EXPECT_EQ(engine.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(engine.message(), "this build of Updraft has no kernels of the engine for NVIDIA H200; "
                              "build it with them");
}

TEST_F(ModuleTest, IsTheEngines) {
  auto device = makeDevice(ptxOf("updraft_begin"));
  updraft::gpu::Kernel kernel = nullptr;
  ASSERT_EQ(device->loadEngine(module).message(), "");
  EXPECT_EQ(module->find("updraft_begin", kernel).message(), "");
}

TEST_F(ModuleTest, ReportsTheAssemblersMessage) {
  const Status status = load(*makeDevice(), "nonsense");
  EXPECT_EQ(status.message(),
            "cannot load kernels into NVIDIA H200 (sm_90) with a driver for CUDA 12.4: "
            "CUDA_ERROR_INVALID_PTX, a PTX JIT compilation failed\n"
            "ptxas application ptx input, line 1; fatal   : Parsing error near 'nonsense': syntax "
            "error\n"
            "ptxas fatal   : Ptx assembly aborted due to errors");
  EXPECT_EQ(status.code(), UPD_INTERNAL_ERROR);
}

TEST_F(ModuleTest, NeedsANewerDriver) {
  fail("cuModuleLoadDataEx", 222);
  const Status status = load(*makeDevice(), ptxOf("a"));
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "cannot load kernels into NVIDIA H200 (sm_90) with a driver for CUDA 12.4: "
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION, the provided PTX was compiled with an unsupported "
            "toolchain; a newer driver may take it");
}

TEST_F(ModuleTest, CannotBeLoaded) {
  fail("cuModuleLoadDataEx", 2);
  const Status status = load(*makeDevice(), ptxOf("a"));
  EXPECT_EQ(status.code(), UPD_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), "cannot load kernels into NVIDIA H200 (sm_90) with a driver for CUDA "
                              "12.4: CUDA_ERROR_OUT_OF_MEMORY, out of memory");
}
} // namespace
