//===- ExplainKernels.cpp - Resources of kernels on a GPU -------------------------------------===//
// Uses ptxas's report on the machine code and the limits of the architecture. Nothing is measured.

#include "ExplainKernels.h"

#include "CUDATools.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Target/PTXEmitter.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

#include <algorithm>

using namespace mlir;
using namespace updraft;

namespace {
struct Resources {
  unsigned registers = 0; // per thread
  unsigned sharedBytes = 0;
  unsigned localBytes = 0;
  unsigned spillBytes = 0; // of local memory, stored and loaded
};

unsigned numberIn(llvm::StringRef digits) {
  unsigned number = 0;
  digits.getAsInteger(10, number);
  return number;
}

/// Parses the lines that `ptxas -v` prints for each kernel; returns resources by kernel name.
llvm::StringMap<Resources> parseReport(llvm::StringRef report) {
  static const llvm::Regex kernel("Compiling entry function '([^']+)'");
  static const llvm::Regex local(
      "([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  static const llvm::Regex registers("Used ([0-9]+) registers");
  static const llvm::Regex shared("([0-9]+) bytes smem");
  llvm::StringMap<Resources> found;
  Resources outside;
  Resources *current = &outside;
  SmallVector<llvm::StringRef> lines, parts;
  report.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (kernel.match(line, &parts))
      current = &found[parts[1]];
    if (local.match(line, &parts)) {
      current->localBytes += numberIn(parts[1]);
      current->spillBytes += numberIn(parts[2]) + numberIn(parts[3]);
    }
    if (registers.match(line, &parts))
      current->registers = numberIn(parts[1]);
    if (shared.match(line, &parts))
      current->sharedBytes = numberIn(parts[1]);
  }
  return found;
}

/// Limits of a multiprocessor (SM), the same on all supported architectures.
namespace limit {
constexpr unsigned warpThreads = 32;
constexpr unsigned threads = 2048;
constexpr unsigned blocks = 32;
constexpr unsigned schedulers = 4; // each has its share of the registers
constexpr unsigned registersOfScheduler = 16384;
constexpr unsigned registersAtATime = 256;    // allocation unit of a warp
constexpr unsigned sharedBytesOfBlock = 1024; // reserved by the system
} // namespace limit

struct Occupancy {
  unsigned blocks;
  llvm::StringRef reason; // the limiting resource
};

Occupancy occupancyOf(const Resources &needs, unsigned threads, const GPUTarget &target) {
  const unsigned warps = llvm::divideCeil(threads, limit::warpThreads);
  const unsigned registersOfWarp = std::max<unsigned>(
      llvm::alignTo(needs.registers * limit::warpThreads, limit::registersAtATime), 1);
  const unsigned warpsByRegisters =
      limit::registersOfScheduler / registersOfWarp * limit::schedulers;
  const Occupancy candidates[] = {
      {limit::threads / (warps * limit::warpThreads), "threads"},
      {limit::blocks, "blocks"},
      {warpsByRegisters / warps, "registers"},
      {target.sharedBytes / (needs.sharedBytes + limit::sharedBytesOfBlock), "shared memory"}};
  return *std::min_element(std::begin(candidates), std::end(candidates),
                           [](auto &a, auto &b) { return a.blocks < b.blocks; });
}

void explainKernel(const Resources &needs, unsigned threads, const GPUTarget &target,
                   llvm::raw_ostream &os) {
  os << llvm::formatv(
      "  {0,-7} {1} registers per thread, {2} B shared and {3} B local memory, {4} B "
      "spilled\n",
      "needs", needs.registers, needs.sharedBytes, needs.localBytes, needs.spillBytes);
  Occupancy occupancy = occupancyOf(needs, threads, target);
  os << llvm::formatv(
      "  {0,-7} {1} block{2} per SM, {3} threads of {4}: as many as it has {5} for\n", "runs",
      occupancy.blocks, occupancy.blocks == 1 ? "" : "s", occupancy.blocks * threads,
      limit::threads, occupancy.reason);
}

unsigned blockThreads(LLVM::LLVMFuncOp kernel) {
  auto sizes = kernel->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getMaxntidAttrName());
  unsigned threads = 1;
  for (int32_t size : sizes ? sizes.asArrayRef() : ArrayRef<int32_t>())
    threads *= size;
  return threads;
}
} // namespace

llvm::Error updraft::explainKernels(gpu::GPUModuleOp module, const GPUTarget &target,
                                    llvm::raw_ostream &os) {
  auto ptx = emitPTX(module, target);
  if (!ptx)
    return ptx.takeError();
  std::string whyUnknown;
  llvm::StringMap<Resources> resources;
  if (auto assembled = assemblePTX(*ptx, target)) {
    resources = parseReport(assembled->report);
  } else {
    auto [status, message] = takeStatus(assembled.takeError());
    if (status != UPD_NOT_FOUND)
      return makeError(status, message);
    whyUnknown = std::move(message);
  }
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      continue;
    const unsigned threads = blockThreads(kernel);
    os << llvm::formatv("kernel {0} for {1}, in blocks of {2} threads\n", kernel.getSymName(),
                        target.architecture, threads);
    auto found = resources.find(kernel.getSymName());
    if (found != resources.end())
      explainKernel(found->second, threads, target, os);
  }
  if (!whyUnknown.empty())
    os << "what kernels need is not known: " << whyUnknown << "\n";
  return llvm::Error::success();
}
