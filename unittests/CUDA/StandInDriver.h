/*===- StandInDriver.h - What stands for the CUDA driver in tests -----------------*- C -*-===*
 * A library with the driver's functions, whose device memory is the host's. Calls fail as the
 * driver's would that are made without a context, or with what was freed. Copies, and what is set
 * to a byte, are only done when their stream, or an event behind them, is waited for.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_UNITTESTS_CUDA_STANDINDRIVER_H
#define UPDRAFT_UNITTESTS_CUDA_STANDINDRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stand_in {
  /* How it behaves. */
  int devices, version, processors, threads, major, minor;
  char failing[64]; /* a function that returns `failure` */
  int failure;      /* from its call `failing_call` on, the first being 0 */
  int failing_call;
  void *captured;         /* a stream that is being captured */
  int any_capture;        /* whether what a capture forbids fails in any thread */
  int64_t argument_count; /* of kernels, 8 bytes each */

  /* What there is now, and what there has been. */
  int64_t allocations, host_allocations, streams, events, links, modules, retained;
  int64_t copies, compilations, launches;

  /* The launch that was last. */
  char kernel[64];
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  uint64_t arguments[8];
} stand_in;

/* The state of the process's stand-in. */
typedef stand_in *(*stand_in_state_function)(void);
/* Everything as at the start: one device, no failures. */
typedef void (*stand_in_reset_function)(void);
/* How many contexts the calling thread has pushed, and its current one. */
typedef int (*stand_in_depth_function)(void);
typedef void *(*stand_in_current_function)(void);

#ifdef __cplusplus
}
#endif
#endif
