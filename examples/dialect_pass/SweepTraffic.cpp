//===- SweepTraffic.cpp - Reports the memory traffic of each sweep ----------------------------===//

#include "SweepTraffic.h"
#include "Updraft/IR/StorageSize.h"
#include "Updraft/IR/UpdraftOps.h"
#include "llvm/Support/FormatVariadic.h"

namespace sweep_traffic {
#define GEN_PASS_DEF_SWEEPTRAFFICPASS
#include "Passes.h.inc"

namespace {

/// The bytes of an element in each of these streams.
double elementBytes(mlir::ValueRange streams) {
  double bits = 0;
  for (mlir::Value stream : streams) {
    auto type = mlir::cast<updraft::StreamType>(stream.getType());
    if (type.getOver() == updraft::Extent::element)
      bits += updraft::storageBits(type.getStorage());
  }
  return bits / 8;
}

struct SweepTrafficPass : impl::SweepTrafficPassBase<SweepTrafficPass> {
  using SweepTrafficPassBase::SweepTrafficPassBase;

  void runOnOperation() override {
    for (updraft::PlanOp plan : updraft::formsIn<updraft::PlanOp>(getOperation()))
      for (auto sweep : plan.getBody().getOps<updraft::SweepOp>())
        report(sweep);
    markAllAnalysesPreserved();
  }

  void report(updraft::SweepOp sweep) {
    double read = elementBytes(sweep.getReads()), written = elementBytes(sweep.getWrites());
    if (read + written == 0)
      return;
    mlir::Block &body = sweep.getBody().front();
    auto operations = body.without_terminator();
    double perByte = std::distance(operations.begin(), operations.end()) / (read + written);
    if (perByte < minOperations)
      return;
    mlir::emitRemark(sweep.getLoc(),
                     llvm::formatv("reads {0} and writes {1} bytes for an element, {2:F2} "
                                   "operations for each byte",
                                   read, written, perByte)
                         .str());
  }
};

} // namespace
} // namespace sweep_traffic
