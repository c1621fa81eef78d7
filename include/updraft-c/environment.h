/*===- updraft-c/environment.h - Versions, CPU and disk cache ---------------------*- C -*-===*
 * For reports about a build and a machine. Any thread may call these functions.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_ENVIRONMENT_H
#define UPDRAFT_C_ENVIRONMENT_H

#include "updraft-c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A JSON object with versions, the CPU that rules are compiled for, and the entries of the default
 * disk cache, the most recently used first:
 *
 *   {"updraft": "0.1.0", "llvm": "22.1.8", "threads": 2,
 *    "target": {"triple": "x86_64-unknown-linux-gnu", "cpu": "znver3", "vector_bits": 256,
 *               "multiplies_bf16": false, "features": ["adx", "aes"]},
 *    "cache": {"folder": "/home/me/.cache/updraft", "max_bytes": 268435456,
 *              "entries": [{"rule": "AdamW", "key": "5f…", "bytes": 9120,
 *                           "last_used": 1795000000}]}}
 *
 * `threads` is the number of threads of a step without a upd_pool. `multiplies_bf16` tells whether
 * rules in `fast` numerics multiply in bf16 on this CPU. Without a cache, `folder` is empty. The
 * rule of a damaged entry is "?". `last_used` is in seconds since 1970. Updraft doesn't use a
 * folder that other users may write to: `entries` is empty, and `unused` gives the reason. Free
 * `*json` with upd_string_release. UPD_IO_ERROR: the folder cannot be read. */
UPD_EXPORT upd_status upd_environment(char **json);

#ifdef __cplusplus
}
#endif
#endif
