//===- PackagedSource.h - A package in place of a rule's text -----------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_CAPI_PACKAGEDSOURCE_H
#define UPDRAFT_LIB_CAPI_PACKAGEDSOURCE_H

#include "runtime/base/Kernels.h"
#include "runtime/package/Package.h"
#include "updraft-c/compiler.h"
#include "updraft/Driver/CompileRequest.h"

namespace updraft::capi {

/// Loads the first variant that has the storage types of `options`. Rule, numerics and static flags
/// must be those that the package was made with. Defaults of hyperparameters may differ. `tensors`,
/// `origins` and `cache_dir` are ignored.
///
/// UPD_NOT_FOUND: the package has no such rule, variant, target or setting. UPD_UNSUPPORTED: it was
/// made with another option, or this machine can't run what it has. UPD_INVALID_ARGUMENT: the bytes
/// are damaged, or the rule refuses a default.
runtime::Status loadPackaged(const package::Package &package, const upd_compile_options &options,
                             std::shared_ptr<const runtime::Kernels> &kernels);

/// Returns the request, without a target, that compiles the rule of the variant that loadPackaged
/// would take for this CPU. UPD_UNSUPPORTED: the rule imports files. Else the errors of
/// loadPackaged.
llvm::Expected<CompileRequest> requestOf(const package::Package &package,
                                         const upd_compile_options &options);

} // namespace updraft::capi

#endif // UPDRAFT_LIB_CAPI_PACKAGEDSOURCE_H
