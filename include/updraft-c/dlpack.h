/*===- updraft-c/dlpack.h - Exchanging tensors by DLPack --------------------------*- C -*-===*
 * DLPack is the exchange format of numpy, torch, JAX and others. This header doesn't include its
 * definitions. A program that has a DLManagedTensorVersioned gets them from DLPack's own header,
 * dlpack/dlpack.h, version 1.0 or later. Any thread may call upd_tensor_from_dlpack.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_DLPACK_H
#define UPDRAFT_C_DLPACK_H

#include "updraft-c/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;

/* Creates a view of a DLPack tensor, as an argument for other functions: a parameter, a gradient, a
 * state, a number to bind. The caller keeps ownership of `managed`. The view points into it, so
 * call its deleter only when the library no longer uses the memory; for a parameter, that is after
 * the optimizer is released. Doesn't copy, and doesn't synchronize streams.
 *
 * Errors: UPD_UNSUPPORTED: the major version isn't 1, or upd_dtype doesn't have the element type.
 * In DLPack, the codes of states in blocks are uint8, which doesn't identify the code, so set
 * `dtype` of the view yourself. The function that receives the view checks the device. */
UPD_EXPORT upd_status upd_tensor_from_dlpack(const struct DLManagedTensorVersioned *managed,
                                             upd_tensor *tensor);

/* Exports a state. Returns the same errors as upd_optimizer_state. The consumer reads and writes
 * the state's own memory. The caller owns `*managed`, or gives it to a consumer. The owner calls
 * its deleter once, on any thread. The memory exists until then, even if the optimizer is released
 * earlier. Exception: the memory of a bound state is that of upd_optimizer_bind_state.
 *
 * GPUs: work may be pending on the optimizer's stream, and the consumer must wait for it. */
UPD_EXPORT upd_status upd_optimizer_state_to_dlpack(upd_optimizer *optimizer, size_t param,
                                                    const char *state,
                                                    struct DLManagedTensorVersioned **managed);

#ifdef __cplusplus
}
#endif
#endif
