//===- Lapack.cpp - LAPACK, found at run time -------------------------------------------------===//

#include "runtime/matrix/Lapack.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace updraft::runtime;

namespace {

template <typename Function> bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// Opens a library. If it is OpenBLAS and the process hasn't loaded it before, it gets one thread:
/// the pool runs several factorizations at once, and their bits don't depend on its threads.
void *open(const char *name) {
  void *loadedBefore = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void *library = loadedBefore ? loadedBefore : dlopen(name, RTLD_NOW | RTLD_LOCAL);
  void (*setThreads)(int) = nullptr;
  if (library && !loadedBefore && find(library, "openblas_set_num_threads", setThreads))
    setThreads(1);
  return library;
}

/// Whether the library's integers have 64 bits. It then overwrites all of these numbers.
bool hasWideIntegers(void *library) {
  void (*version)(int64_t *major, int64_t *minor, int64_t *patch) = nullptr;
  if (!find(library, "ilaver_", version))
    return false;
  int64_t major = -1, minor = -1, patch = -1;
  version(&major, &minor, &patch);
  return major >= 0;
}

struct Loaded {
  Lapack functions = {};
  Status status;

  Loaded() {
    void *library = nullptr;
    // Read once, before any factorization runs. NOLINTNEXTLINE(concurrency-mt-unsafe)
    const char *chosen = std::getenv("UPDRAFT_LAPACK");
    if (chosen && *chosen) {
      library = open(chosen);
    } else {
      for (const char *name : {"libopenblas.so.0", "liblapack.so.3"})
        if (!library)
          library = open(name);
    }
    if (!library) {
      const char *reason = dlerror();
      status = {UPD_UNSUPPORTED,
                std::string("the rule has factorizations of matrices, which need LAPACK, but it "
                            "can't be loaded (") +
                    (reason ? reason : "no reason given") +
                    "); install it (Debian: libopenblas0-pthread), or set UPDRAFT_LAPACK to the "
                    "file of the library"};
      return;
    }
    if (hasWideIntegers(library)) {
      status = {UPD_UNSUPPORTED,
                "the LAPACK library that was loaded has integers of 64 bits; set UPDRAFT_LAPACK to "
                "the file of a library with integers of 32 bits"};
      return;
    }
    const char *missing = nullptr;
    auto need = [&](const char *name, auto &function) {
      if (!find(library, name, function))
        missing = name;
    };
    need("sgeqrf_", functions.single.geqrf);
    need("sorgqr_", functions.single.orgqr);
    need("spotrf_", functions.single.potrf);
    need("strsm_", functions.single.trsm);
    need("dgeqrf_", functions.real.geqrf);
    need("dorgqr_", functions.real.orgqr);
    need("dpotrf_", functions.real.potrf);
    need("dtrsm_", functions.real.trsm);
    need("dsyevd_", functions.dsyevd);
    if (missing)
      status = {UPD_UNSUPPORTED,
                std::string("the LAPACK library that was loaded has no function ") + missing +
                    "; set UPDRAFT_LAPACK to the file of a complete library"};
  }
};

} // namespace

Status Lapack::load(const Lapack *&result) {
  static const Loaded loaded;
  result = loaded.status.ok() ? &loaded.functions : nullptr;
  return loaded.status;
}

Status Lapack::loadFor(const RuleInterface &rule) {
  for (const PlanInterface &plan : rule.plans)
    if (const Lapack *lapack = nullptr; plan.needsLapack())
      return load(lapack);
  return {};
}
