//===- Handles.h - The C API's opaque handles ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_CAPI_HANDLES_H
#define UPDRAFT_RUNTIME_CAPI_HANDLES_H

#include "runtime/base/Kernels.h"
#include "runtime/optimizer/Optimizer.h"

#include <memory>
#include <mutex>
#include <string>

struct upd_rule {
  std::shared_ptr<const updraft::runtime::Kernels> kernels;
  upd_origin origin;
  mutable std::once_flag isExported = {};
  mutable std::string json = {}; // of the interface, from its first use on
};

/// Shared with the states that were exported.
struct upd_optimizer {
  std::shared_ptr<updraft::runtime::Optimizer> optimizer;
};

#endif // UPDRAFT_RUNTIME_CAPI_HANDLES_H
