//===- Locations.cpp - Locations of operations that stand for several places ------------------===//

#include "Updraft/IR/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace updraft;

Location updraft::unnamed(Location loc) {
  while (auto name = dyn_cast<NameLoc>(loc))
    loc = name.getChildLoc();
  return loc;
}

Location updraft::forDebugger(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return forDebugger(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return forDebugger(fused.getLocations().front());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return CallSiteLoc::get(forDebugger(call.getCallee()), forDebugger(call.getCaller()));
  return loc;
}

Location updraft::fusedInto(Location loc, Location other) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return NameLoc::get(name.getName(), fusedInto(name.getChildLoc(), other));
  return FusedLoc::get({loc, unnamed(other)}, Attribute(), loc.getContext());
}

Location updraft::locationOf(Location loc, llvm::StringRef part) {
  auto fused = dyn_cast<FusedLoc>(unnamed(loc));
  if (!fused)
    return unnamed(loc);
  SmallVector<Location> found;
  for (Location place : fused.getLocations())
    if (auto name = dyn_cast<NameLoc>(place); name && name.getName() == part)
      found.push_back(name.getChildLoc());
  if (!found.empty())
    return FusedLoc::get(found, Attribute(), loc.getContext());
  if (part.consume_back("_correction"))
    return locationOf(loc, part);
  return fused.getLocations().front();
}

std::string updraft::reductionPart(size_t index) { return "reduction " + std::to_string(index); }

void LocationFuser::notifyOperationReplaced(Operation *op, ValueRange replacement) {
  Operation *kept = replacement.empty() ? nullptr : replacement.front().getDefiningOp();
  if (kept && kept != op)
    kept->setLoc(fusedInto(kept->getLoc(), op->getLoc()));
}
