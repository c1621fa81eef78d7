/*===- StandInGraphs.c - What the GPU suite asks of the stand-in besides --------------------===*
 * Graphs that do nothing, and a clock that stands still.
 *===---------------------------------------------------------------------------------------===*/

#include "StandInDriver.h"

#define EXPORT __attribute__((visibility("default")))

extern stand_in *stand_in_state(void);

static char made[64];
static int made_count;

static int make(void **handle) {
  *handle = &made[made_count++ % (int)sizeof(made)];
  return 0;
}

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
  stand_in_state()->captured = stream;
  return 0;
}
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  stand_in_state()->captured = NULL;
  return make(graph);
}
EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  return make(executable);
}
EXPORT int cuGraphLaunch(void *executable, void *stream) { return 0; }
EXPORT int cuGraphExecDestroy(void *executable) { return 0; }
EXPORT int cuGraphDestroy(void *graph) { return 0; }
EXPORT int cuEventElapsedTime(float *ms, void *begin, void *end) {
  *ms = 1;
  return 0;
}
EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = (size_t)1 << 30;
  *total = (size_t)1 << 31;
  return 0;
}
