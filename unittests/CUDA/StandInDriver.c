/*===- StandInDriver.c - What stands for the CUDA driver in tests ---------------------------===*/

#include "StandInDriver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
  OK = 0,
  INVALID_VALUE = 1,
  INVALID_CONTEXT = 201,
  INVALID_PTX = 218,
  NOT_FOUND = 500,
  NOT_READY = 600,
  CAPTURE_UNSUPPORTED = 900,
  MOST = 256
};

/* A pending operation of a stream: copies bytes from `from`, or fills with `value`. */
typedef struct operation {
  void *to;
  const void *from;
  unsigned char value;
  size_t bytes;
  void *stream;
  uint64_t number;
} operation;

struct event {
  void *stream;
  uint64_t number; /* of the operations before it */
};
struct function {
  char name[64];
};
struct module {
  char *code;
  struct function functions[32];
  int count;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static stand_in state;
static operation waiting[MOST];
static int waiting_count;
static uint64_t last_number;
static int calls_of_failing;
static int primary_context;
static __thread void *contexts[8];
static __thread int depth;
static __thread int capture_mode;

EXPORT stand_in *stand_in_state(void) { return &state; }
EXPORT int stand_in_depth(void) { return depth; }
EXPORT void *stand_in_current(void) { return depth ? contexts[depth - 1] : NULL; }
EXPORT void stand_in_reset(void) {
  memset(&state, 0, sizeof(state));
  state.devices = 1;
  state.version = 12040;
  state.processors = 132;
  state.threads = 2048;
  state.major = 9;
  waiting_count = calls_of_failing = depth = capture_mode = 0;
}

/* Configures the process from the environment. STAND_IN_FAILING names a function that fails. */
__attribute__((constructor)) static void start(void) {
  stand_in_reset();
  const char *failing = getenv("STAND_IN_FAILING");
  if (failing)
    snprintf(state.failing, sizeof(state.failing), "%s", failing);
  state.failure = 700;
}

static int begin(const char *symbol, int needs_context, int captures_forbid_it) {
  pthread_mutex_lock(&mutex);
  if (strcmp(state.failing, symbol) == 0 && calls_of_failing++ >= state.failing_call)
    return state.failure;
  if (needs_context && stand_in_current() != &primary_context)
    return INVALID_CONTEXT;
  if (captures_forbid_it && state.any_capture && capture_mode != 2)
    return CAPTURE_UNSUPPORTED;
  return OK;
}
static int end(int result) {
  pthread_mutex_unlock(&mutex);
  return result;
}
#define BEGIN(symbol, needs_context, captures_forbid_it)                                           \
  int result = begin(#symbol, needs_context, captures_forbid_it);                                  \
  if (result != OK)                                                                                \
  return end(result)

static int enqueue(void *to, const void *from, unsigned char value, size_t bytes, void *stream) {
  if (waiting_count == MOST || bytes == 0)
    return INVALID_VALUE;
  if (state.captured && stream == state.captured)
    return OK;
  waiting[waiting_count++] = (operation){to, from, value, bytes, stream, ++last_number};
  return OK;
}
static void run(void *stream, uint64_t number) {
  int kept = 0;
  for (int i = 0; i < waiting_count; ++i) {
    operation o = waiting[i];
    if (o.stream != stream || o.number > number)
      waiting[kept++] = o;
    else if (o.from)
      memcpy(o.to, o.from, o.bytes);
    else
      memset(o.to, o.value, o.bytes);
  }
  waiting_count = kept;
}

EXPORT int cuInit(unsigned flags) {
  BEGIN(cuInit, 0, 0);
  return end(flags ? INVALID_VALUE : OK);
}
EXPORT int cuDriverGetVersion(int *version) {
  BEGIN(cuDriverGetVersion, 0, 0);
  *version = state.version;
  return end(OK);
}

static const struct {
  int error;
  const char *name, *text;
} errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"}};
static int describe(int error, const char **text, int name) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].error == error) {
      *text = name ? errors[i].name : errors[i].text;
      return OK;
    }
  *text = NULL;
  return INVALID_VALUE;
}
EXPORT int cuGetErrorName(int error, const char **text) { return describe(error, text, 1); }
EXPORT int cuGetErrorString(int error, const char **text) { return describe(error, text, 0); }

EXPORT int cuDeviceGetCount(int *count) {
  BEGIN(cuDeviceGetCount, 0, 0);
  *count = state.devices;
  return end(OK);
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  BEGIN(cuDeviceGet, 0, 0);
  *device = ordinal;
  return end(ordinal < state.devices ? OK : INVALID_VALUE);
}
EXPORT int cuDeviceGetName(char *name, int bytes, int device) {
  BEGIN(cuDeviceGetName, 0, 0);
  snprintf(name, (size_t)bytes, "NVIDIA H200");
  return end(OK);
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  BEGIN(cuDeviceGetAttribute, 0, 0);
  *value = attribute == 16   ? state.processors
           : attribute == 39 ? state.threads
           : attribute == 75 ? state.major
           : attribute == 76 ? state.minor
                             : -1;
  return end(*value < 0 ? INVALID_VALUE : OK);
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  BEGIN(cuDevicePrimaryCtxRetain, 0, 0);
  *context = &primary_context;
  ++state.retained;
  return end(OK);
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  BEGIN(cuDevicePrimaryCtxRelease_v2, 0, 0);
  --state.retained;
  return end(OK);
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  BEGIN(cuCtxPushCurrent_v2, 0, 0);
  if (!context || depth == 8)
    return end(INVALID_VALUE);
  contexts[depth++] = context;
  return end(OK);
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  BEGIN(cuCtxPopCurrent_v2, 0, 0);
  if (!depth)
    return end(INVALID_CONTEXT);
  *context = contexts[--depth];
  return end(OK);
}

EXPORT int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  BEGIN(cuMemAlloc_v2, 1, 1);
  if (bytes == 0)
    return end(INVALID_VALUE);
  *memory = (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++state.allocations;
  return end(OK);
}
EXPORT int cuMemFree_v2(uint64_t memory) {
  BEGIN(cuMemFree_v2, 1, 1);
  free((void *)memory);
  --state.allocations;
  return end(OK);
}
EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  BEGIN(cuMemHostAlloc, 1, 1);
  *memory = malloc(bytes);
  ++state.host_allocations;
  return end(OK);
}
EXPORT int cuMemFreeHost(void *memory) {
  BEGIN(cuMemFreeHost, 1, 1);
  free(memory);
  --state.host_allocations;
  return end(OK);
}
EXPORT int cuMemsetD8Async(uint64_t memory, unsigned char value, size_t bytes, void *stream) {
  BEGIN(cuMemsetD8Async, 1, 0);
  return end(enqueue((void *)memory, NULL, value, bytes, stream));
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  BEGIN(cuMemcpyHtoDAsync_v2, 1, 0);
  ++state.copies;
  return end(enqueue((void *)to, from, 0, bytes, stream));
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  BEGIN(cuMemcpyDtoHAsync_v2, 1, 0);
  return end(enqueue(to, (const void *)from, 0, bytes, stream));
}

EXPORT int cuStreamCreate(void **made, unsigned flags) {
  BEGIN(cuStreamCreate, 1, 1);
  *made = malloc(1);
  ++state.streams;
  return end(OK);
}
EXPORT int cuStreamDestroy_v2(void *stream) {
  BEGIN(cuStreamDestroy_v2, 1, 1);
  run(stream, last_number);
  free(stream);
  --state.streams;
  return end(OK);
}
EXPORT int cuStreamSynchronize(void *stream) {
  BEGIN(cuStreamSynchronize, 1, 1);
  if (state.captured && stream == state.captured)
    return end(CAPTURE_UNSUPPORTED);
  run(stream, last_number);
  return end(OK);
}
EXPORT int cuStreamIsCapturing(void *stream, int *status) {
  BEGIN(cuStreamIsCapturing, 1, 0);
  *status = state.captured && stream == state.captured;
  return end(OK);
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  BEGIN(cuThreadExchangeStreamCaptureMode, 0, 0);
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return end(OK);
}
EXPORT int cuEventCreate(struct event **made, unsigned flags) {
  BEGIN(cuEventCreate, 1, 0);
  *made = calloc(1, sizeof(struct event));
  ++state.events;
  return end(OK);
}
EXPORT int cuEventRecord(struct event *recorded, void *stream) {
  BEGIN(cuEventRecord, 1, 0);
  *recorded = (struct event){stream, last_number};
  return end(OK);
}
EXPORT int cuEventQuery(struct event *asked) {
  BEGIN(cuEventQuery, 1, 1);
  for (int i = 0; i < waiting_count; ++i)
    if (waiting[i].stream == asked->stream && waiting[i].number <= asked->number)
      return end(NOT_READY);
  return end(OK);
}
EXPORT int cuEventSynchronize(struct event *awaited) {
  BEGIN(cuEventSynchronize, 1, 1);
  run(awaited->stream, awaited->number);
  return end(OK);
}
EXPORT int cuEventDestroy_v2(struct event *destroyed) {
  BEGIN(cuEventDestroy_v2, 1, 0);
  free(destroyed);
  --state.events;
  return end(OK);
}

EXPORT int cuModuleLoadDataEx(struct module **made, const void *data, unsigned count, int *options,
                              void **values) {
  BEGIN(cuModuleLoadDataEx, 1, 1);
  char *log = NULL;
  size_t log_bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5)
      log = values[i];
    if (options[i] == 6)
      log_bytes = (size_t)values[i];
  }
  if (strstr(data, "nonsense")) {
    snprintf(log, log_bytes,
             "ptxas application ptx input, line 1; fatal   : Parsing error near 'nonsense': "
             "syntax error\nptxas fatal   : Ptx assembly aborted due to errors\n");
    return end(INVALID_PTX);
  }
  struct module *module = calloc(1, sizeof(struct module));
  module->code = strdup(data);
  *made = module;
  ++state.modules;
  ++state.compilations;
  return end(OK);
}
EXPORT int cuModuleUnload(struct module *module) {
  BEGIN(cuModuleUnload, 1, 1);
  free(module->code);
  free(module);
  --state.modules;
  return end(OK);
}
EXPORT int cuModuleGetFunction(struct function **function, struct module *module,
                               const char *name) {
  BEGIN(cuModuleGetFunction, 1, 0);
  char entry[96];
  snprintf(entry, sizeof(entry), ".entry %s(", name);
  const int most = sizeof(module->functions) / sizeof(module->functions[0]);
  if (!strstr(module->code, entry) || module->count == most)
    return end(NOT_FOUND);
  *function = &module->functions[module->count++];
  snprintf((*function)->name, sizeof((*function)->name), "%s", name);
  return end(OK);
}
EXPORT int cuLaunchKernel(struct function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                          void *stream, void **arguments, void **extra) {
  BEGIN(cuLaunchKernel, 1, 0);
  if (gridX == 0 || gridX > 0x7fffffff || extra)
    return end(INVALID_VALUE);
  memcpy(state.kernel, function->name, sizeof(state.kernel));
  memcpy(state.grid, (unsigned[]){gridX, gridY, gridZ}, sizeof(state.grid));
  memcpy(state.block, (unsigned[]){blockX, blockY, blockZ}, sizeof(state.block));
  state.shared_bytes = sharedBytes;
  state.stream = stream;
  for (int64_t i = 0; i < state.argument_count; ++i)
    memcpy(&state.arguments[i], arguments[i], 8);
  ++state.launches;
  return end(OK);
}
