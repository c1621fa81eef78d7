//===- Library.h - The C API, found at run time -------------------------------------*- C++ -*-===//
// The adapter doesn't link to a library of Updraft. It uses the one that the process has loaded,
// the Python module or libupdraft.so, so that there is only one compiler and one cache.

#ifndef UPDRAFT_RUNTIME_TORCH_LIBRARY_H
#define UPDRAFT_RUNTIME_TORCH_LIBRARY_H

#include "updraft-c/compiler.h"
#include "updraft-c/optimizer.h"
#include "updraft-c/package.h"
#include "updraft-c/probes.h"
#include "updraft-c/timeline.h"

#include <string>

namespace updraft::torch_adapter {

/// The functions that the adapter calls.
#define UPDRAFT_LIBRARY_FUNCTIONS(F)                                                               \
  F(upd_last_error)                                                                                \
  F(upd_compile)                                                                                   \
  F(upd_package_open_buffer)                                                                       \
  F(upd_package_release)                                                                           \
  F(upd_rule_release)                                                                              \
  F(upd_rule_name)                                                                                 \
  F(upd_rule_depends_on)                                                                           \
  F(upd_rule_uses_rows)                                                                            \
  F(upd_rule_state_count)                                                                          \
  F(upd_rule_state_name)                                                                           \
  F(upd_rule_state_dtype)                                                                          \
  F(upd_rule_state_extent)                                                                         \
  F(upd_rule_state_tensors)                                                                        \
  F(upd_rule_hyper_count)                                                                          \
  F(upd_rule_hyper_name)                                                                           \
  F(upd_rule_probe_count)                                                                          \
  F(upd_optimizer_create)                                                                          \
  F(upd_optimizer_release)                                                                         \
  F(upd_optimizer_prepare_rows)                                                                    \
  F(upd_optimizer_prepare_addresses)                                                               \
  F(upd_optimizer_apply_observed)                                                                  \
  F(upd_optimizer_set_stream)                                                                      \
  F(upd_optimizer_bind_found_inf)                                                                  \
  F(upd_optimizer_bind_hyper)                                                                      \
  F(upd_optimizer_bind_step)                                                                       \
  F(upd_optimizer_ignore_requirements)                                                             \
  F(upd_optimizer_set_hypers)                                                                      \
  F(upd_optimizer_get_step)                                                                        \
  F(upd_optimizer_get_steps)                                                                       \
  F(upd_optimizer_set_step)                                                                        \
  F(upd_optimizer_set_seed)                                                                        \
  F(upd_optimizer_set_param_numbers)                                                               \
  F(upd_optimizer_state)                                                                           \
  F(upd_optimizer_bind_state)                                                                      \
  F(upd_optimizer_set_probe_every)                                                                 \
  F(upd_optimizer_read_probes)                                                                     \
  F(upd_timeline_now)                                                                              \
  F(upd_timeline_add)

struct Library {
#define UPDRAFT_DECLARE(name) decltype (&::name)(name) = nullptr;
  UPDRAFT_LIBRARY_FUNCTIONS(UPDRAFT_DECLARE)
#undef UPDRAFT_DECLARE

  /// Finds the functions in the shared library at `path`, for the whole process. Loading the same
  /// library again has no effect. Another library, or one that lacks a function, is an error.
  /// Thread-safe.
  static void load(const std::string &path);

  /// Null if no library has been loaded. Thread-safe.
  static const Library *find();

  /// Throws if no library has been loaded. Thread-safe.
  static const Library &get();
};

/// If `status` isn't UPD_OK, throws an exception with the library's message. Python sees it as
/// ValueError, KeyError, NotImplementedError, MemoryError or RuntimeError.
void check(upd_status status);

} // namespace updraft::torch_adapter

#endif // UPDRAFT_RUNTIME_TORCH_LIBRARY_H
