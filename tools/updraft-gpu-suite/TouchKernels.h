//===- TouchKernels.h - Arguments of the memory limit's kernels ---------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_GPUSUITE_TOUCHKERNELS_H
#define UPDRAFT_TOOLS_GPUSUITE_TOUCHKERNELS_H

#ifndef __NVPTX__
#include <string_view>
#endif

namespace updraft::suite {

/// `data[0]` is read, the others are written in place. Each stream has `units` units of 16 bytes.
/// In touch_M_by_N, the first two have M times `units`, and the last two N times.
struct TouchArguments {
  void *data[4];
  long units;
  unsigned zero;
};

#ifndef __NVPTX__
/// PTX of TouchKernels.cpp.
std::string_view touchPTX();
#endif

} // namespace updraft::suite

#endif // UPDRAFT_TOOLS_GPUSUITE_TOUCHKERNELS_H
