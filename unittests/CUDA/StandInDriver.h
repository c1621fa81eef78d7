/*===- StandInDriver.h - What stands for the CUDA driver in tests -----------------*- C -*-===*
 * A library with the driver's functions, whose device memory is host memory. Calls without a
 * context, or with freed objects, fail as in the driver. Copies and fills run only when the test
 * waits for their stream or for an event after them.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_UNITTESTS_CUDA_STANDINDRIVER_H
#define UPDRAFT_UNITTESTS_CUDA_STANDINDRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stand_in {
  /* Its configuration. */
  int devices, version, processors, threads, major, minor;
  char failing[64]; /* a function that returns `failure` */
  int failure;      /* from its call `failing_call` on, counted from 0 */
  int failing_call;
  void *captured;         /* a stream that is being captured */
  int any_capture;        /* a capture makes forbidden calls fail in any thread */
  int64_t argument_count; /* of kernels, 8 bytes each */

  /* The current and the total numbers of objects. */
  int64_t allocations, host_allocations, streams, events, modules, retained;
  int64_t copies, compilations, launches;

  /* The last launch. */
  char kernel[64];
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  uint64_t arguments[8];
} stand_in;

/* The state of the process's stand-in. */
typedef stand_in *(*stand_in_state_function)(void);
/* Restores the initial state: one device, no failures. */
typedef void (*stand_in_reset_function)(void);
/* The number of contexts that the calling thread has pushed, and its current one. */
typedef int (*stand_in_depth_function)(void);
typedef void *(*stand_in_current_function)(void);

#ifdef __cplusplus
}
#endif
#endif
