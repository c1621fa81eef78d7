/*===- updraft-c/timeline.h - The timeline of a process: spans of its threads -------*- C -*-===*
 * A timeline has spans: each step, its sweeps, products and calls as the threads run them, launches
 * on GPUs, and waits for threads, locks and disks. The file is JSON in Chrome's Trace Event Format,
 * which ui.perfetto.dev shows (docs/timeline.md).
 *
 * There is one timeline in a process. With UPDRAFT_TIMELINE=FILE in its environment, the process
 * records from the time it loads the library, and writes the file when it exits.
 *
 * Any thread may call these functions at any time.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_TIMELINE_H
#define UPDRAFT_C_TIMELINE_H

#include "updraft-c/types.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a recording. A thread that records its first span reserves memory for 131072 spans, of at
 * most 18 MiB. Further spans of the thread are counted, but not recorded.
 *
 * UPD_INVALID_ARGUMENT: a timeline is recorded already, maybe because of UPDRAFT_TIMELINE. */
UPD_EXPORT upd_status upd_timeline_start(void);

/* Ends the recording and writes it to the file `path`, replacing an older file only once the new
 * one is complete. Other threads may record meanwhile; spans that haven't ended are left out. Null
 * discards the recording.
 *
 * UPD_INVALID_ARGUMENT: no timeline is recorded, or UPDRAFT_TIMELINE started it. UPD_IO_ERROR: the
 * library can't write the file, or has too little memory for its text. The recording then
 * continues, without the spans that ended during the call. Call again with another path, or with
 * null. */
UPD_EXPORT upd_status upd_timeline_stop(const char *path);

/* The time in nanoseconds on the clock of the timeline, or 0 while none is recorded. Costs a few
 * nanoseconds then. */
UPD_EXPORT int64_t upd_timeline_now(void);

/* Adds a span of the program itself to the calling thread, such as its backward pass, from `begin`
 * to now. `begin` is a result of upd_timeline_now; 0 has no effect. A viewer filters spans by
 * `category`. The texts are copied, and cut to 92 bytes together. They must not be null.
 *
 * The function reports no errors. It drops a span that began before the recording. If a thread has
 * no memory for its buffer, the function drops all spans of that thread. */
UPD_EXPORT void upd_timeline_add(const char *category, const char *name, int64_t begin);

#ifdef __cplusplus
}
#endif
#endif
