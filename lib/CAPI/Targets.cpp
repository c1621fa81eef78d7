//===- Targets.cpp - Names of targets in upd_compile_options ----------------------------------===//

#include "Targets.h"

#include "runtime/capi/Devices.h"
#include "updraft/Driver/CompileRequest.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Target/GPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace updraft;

llvm::Expected<std::string> capi::targetNamed(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (!rest.consume_front("cuda")) {
    if (name == "host" || GPUTarget::isName(name))
      return name.str();
    std::vector<llvm::StringRef> known{"host", "cuda"};
    llvm::append_range(known, GPUTarget::names());
    return unknownTarget(
        name, known,
        makeError(UPD_INVALID_ARGUMENT,
                  "unknown target `" + name.str() +
                      "`; the targets are `host`, `cuda`, `cuda:1` (and so on), `" +
                      llvm::join(GPUTarget::names(), "`, `") + "`"));
  }
  int index = 0;
  if (!rest.empty() && (!rest.consume_front(":") || rest.getAsInteger(10, index) || index < 0))
    return makeError(UPD_INVALID_ARGUMENT, "unknown target `" + name.str() +
                                               "`; a GPU is `cuda`, or `cuda:1` with its number");
  GPU gpu;
  if (runtime::Status status = findGPU(index, gpu); !status.ok())
    return makeError(status.code(), status.message());
  auto target = GPUTarget::forCapability(gpu.major, gpu.minor);
  if (!target)
    return makeError(UPD_UNSUPPORTED, gpu.name + ": " + llvm::toString(target.takeError()));
  return target->name;
}
