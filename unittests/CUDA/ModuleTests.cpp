//===- ModuleTests.cpp - Compiling PTX, and the cache of cubins -------------------------------===//

#include "StandIn.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

using namespace updraft::cuda;
using updraft::files::CodeCache;
using updraft::runtime::GPUKernels;
using updraft::runtime::Status;
namespace fs = std::filesystem;

namespace {
std::string ptxOf(const std::string &name) { return ".version 8.0\n.entry " + name + "()"; }

class ModuleTest : public StandIn {
protected:
  ModuleTest() {
    std::string name = "/tmp/updraft-cuda.XXXXXX";
    top = mkdtemp(name.data());
    folder = top + "/gpu";
  }
  ~ModuleTest() override { fs::remove_all(top); }

  Status load(CudaDevice &device, const std::string &ptx) {
    GPUKernels kernels;
    kernels.ptx = ptx;
    return device.load(kernels, module);
  }
  /// Loads as in another process: with a device that has no modules.
  Status loadAfresh(const std::string &ptx) {
    module.reset();
    Status status = load(*makeDevice({folder, cacheBytes, ""}), ptx);
    return status;
  }

  CodeCache makeCache() { return {folder, ".cubin", cacheBytes}; }
  std::vector<fs::path> files() {
    std::vector<fs::path> found;
    if (fs::exists(folder))
      for (const auto &entry : fs::directory_iterator(folder))
        found.push_back(entry.path());
    return found;
  }
  std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const fs::path &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string top, folder;
  uint64_t cacheBytes = 1 << 20;
  std::shared_ptr<updraft::gpu::Module> module;
};
using CubinCacheTest = ModuleTest;

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
  EXPECT_EQ(state->links, 0);
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
  auto device = makeDevice({"", 0, ptxOf("updraft_begin")});
  updraft::gpu::Kernel kernel = nullptr;
  ASSERT_EQ(device->loadEngine(module).message(), "");
  EXPECT_EQ(module->find("updraft_begin", kernel).message(), "");
}

TEST_F(ModuleTest, ReportsTheAssemblersMessage) {
  const Status status = loadAfresh("nonsense");
  EXPECT_EQ(status.message(),
            "cannot compile kernels for NVIDIA H200 (sm_90) with a driver for CUDA 12.4: "
            "CUDA_ERROR_INVALID_PTX, a PTX JIT compilation failed\n"
            "ptxas application ptx input, line 1; fatal   : Parsing error near 'nonsense': syntax "
            "error\n"
            "ptxas fatal   : Ptx assembly aborted due to errors");
  EXPECT_EQ(status.code(), UPD_INTERNAL_ERROR);
  EXPECT_EQ(state->links, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(ModuleTest, NeedsANewerDriver) {
  fail("cuLinkComplete", 222);
  const Status status = loadAfresh(ptxOf("a"));
  EXPECT_EQ(status.code(), UPD_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "cannot compile kernels for NVIDIA H200 (sm_90) with a driver for CUDA 12.4: "
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION, the provided PTX was compiled with an unsupported "
            "toolchain; a newer driver may take it");
  EXPECT_EQ(state->links, 0);
}

TEST_F(ModuleTest, CannotBeLoaded) {
  fail("cuModuleLoadData", 2);
  const Status status = loadAfresh(ptxOf("a"));
  EXPECT_EQ(status.code(), UPD_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(),
            "cannot load kernels into NVIDIA H200: CUDA_ERROR_OUT_OF_MEMORY, out of memory");
  EXPECT_TRUE(files().empty());
}

TEST_F(CubinCacheTest, SparesTheCompilation) {
  ASSERT_EQ(loadAfresh(ptxOf("a")).message(), "");
  EXPECT_EQ(state->compilations, 1);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(files()[0]).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_EQ(loadAfresh(ptxOf("a")).message(), "");
  EXPECT_EQ(state->compilations, 1);
  updraft::gpu::Kernel kernel = nullptr;
  EXPECT_EQ(module->find("a", kernel).message(), "");
  ASSERT_EQ(loadAfresh(ptxOf("b")).message(), "");
  EXPECT_EQ(state->compilations, 2);
}

TEST_F(CubinCacheTest, IsForOneDriverAndOneGPU) {
  ASSERT_TRUE(loadAfresh(ptxOf("a")).ok());
  module.reset();
  state->version = 13000;
  ASSERT_EQ(Driver::open(UPDRAFT_STAND_IN, driver).message(), "");
  ASSERT_TRUE(loadAfresh(ptxOf("a")).ok());
  EXPECT_EQ(state->compilations, 2);
  state->major = 10;
  ASSERT_TRUE(loadAfresh(ptxOf("a")).ok());
  EXPECT_EQ(state->compilations, 3);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(CubinCacheTest, RefusesEveryDamagedByte) {
  ASSERT_TRUE(loadAfresh(ptxOf("a")).ok());
  const fs::path file = files()[0];
  const std::string whole = read(file);
  const CodeCache cache = makeCache();
  const std::string source = "driver 12040 sm_90\n" + ptxOf("a");
  ASSERT_EQ(cache.lookup(source), "cubin 9.0\n" + ptxOf("a"));
  for (size_t i = 0; i <= whole.size(); ++i) {
    std::string damaged = whole;
    if (i < whole.size())
      damaged[i] ^= 1;
    else
      damaged.pop_back();
    write(file, damaged);
    EXPECT_FALSE(cache.lookup(source)) << "byte " << i;
    EXPECT_FALSE(fs::exists(file)) << "byte " << i;
  }
  for (size_t length : {size_t(0), size_t(7), size_t(31)}) {
    write(file, whole.substr(0, length));
    EXPECT_FALSE(cache.lookup(source)) << length << " bytes";
  }
  ASSERT_TRUE(loadAfresh(ptxOf("a")).ok());
  EXPECT_EQ(read(file), whole);
  EXPECT_EQ(state->compilations, 2);
}

/// As after the driver was replaced by another one with the same version.
TEST_F(CubinCacheTest, RecompilesACubinThatDoesNotLoad) {
  makeCache().store("driver 12040 sm_90\n" + ptxOf("a"), "something else");
  ASSERT_EQ(loadAfresh(ptxOf("a")).message(), "");
  EXPECT_EQ(state->compilations, 1);
  ASSERT_EQ(loadAfresh(ptxOf("a")).message(), "");
  EXPECT_EQ(state->compilations, 1);
}
} // namespace
