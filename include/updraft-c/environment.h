/*===- updraft-c/environment.h - What the library runs on -------------------------*- C -*-===*
 * For reports about a build and a machine. Any thread.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_ENVIRONMENT_H
#define UPDRAFT_C_ENVIRONMENT_H

#include "updraft-c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Versions, the CPU that rules are compiled for, and what the disk cache of the environment holds,
 * most recently used first, as a JSON object:
 *
 *   {"updraft": "0.1.0", "llvm": "22.1.8", "threads": 2,
 *    "target": {"triple": "x86_64-unknown-linux-gnu", "cpu": "znver3", "vector_bits": 256,
 *               "features": ["adx", "aes"]},
 *    "cache": {"folder": "/home/me/.cache/updraft", "max_bytes": 268435456,
 *              "entries": [{"rule": "AdamW", "key": "5f…", "bytes": 9120,
 *                           "last_used": 1795000000}]}}
 *
 * `threads` is how many a step has without a pool of the caller's. Without a cache `folder` is
 * empty; the rule of a damaged entry is "?"; `last_used` is in seconds since 1970. If others may
 * write to the folder, it is not used: it has no entries, and `unused` says why. `*json` is freed
 * with upd_string_release. UPD_IO_ERROR: the folder cannot be read. */
UPD_EXPORT upd_status upd_environment(char **json);

#ifdef __cplusplus
}
#endif
#endif
