//===- Handles.h - The C API's opaque handles ---------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CAPI_HANDLES_H
#define UPDRAFT_LIB_CAPI_HANDLES_H

#include "runtime/base/Kernels.h"
#include "updraft-c/compiler.h"

#include <memory>

struct upd_rule {
  std::shared_ptr<const updraft::runtime::Kernels> kernels;
  upd_origin origin;
};

#endif // UPDRAFT_LIB_CAPI_HANDLES_H
