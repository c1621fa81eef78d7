/*===- updraft-c/dlpack.h - Exchanging tensors by DLPack --------------------------*- C -*-===*
 * DLPack is the exchange format of numpy, torch, JAX and others. This header needs none of its
 * definitions; a program that has a DLManagedTensorVersioned takes them from DLPack's own header,
 * dlpack/dlpack.h, of version 1.0 or later. Any thread may call upd_tensor_from_dlpack.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_DLPACK_H
#define UPDRAFT_C_DLPACK_H

#include "updraft-c/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;

/* Views the memory of a DLPack tensor, as an argument for other functions: a parameter, a gradient,
 * a state, a number to bind. `managed` stays the caller's. The view points into it: call its
 * deleter only when the library no longer uses the memory, for a parameter after the optimizer is
 * released. Doesn't copy, and doesn't synchronize streams.
 *
 * Errors: UPD_UNSUPPORTED: another major version than 1, or element types that upd_dtype does not
 * have. The codes of states in blocks are uint8 to DLPack, which doesn't say how they are coded, so
 * set `dtype` of the view yourself. Devices are checked by the function that receives the view. */
UPD_EXPORT upd_status upd_tensor_from_dlpack(const struct DLManagedTensorVersioned *managed,
                                             upd_tensor *tensor);

/* Exports a state that upd_optimizer_state finds; the errors are the same. The consumer reads and
 * writes the state's own memory. The caller owns `*managed`, or gives it to a consumer, which calls
 * its deleter once, on any thread. Until then the memory exists, even if the optimizer is released
 * before; the exception is a bound state, whose memory is that of upd_optimizer_bind_state.
 *
 * GPUs: work may be pending on the optimizer's stream, and the consumer must wait for it. */
UPD_EXPORT upd_status upd_optimizer_state_to_dlpack(upd_optimizer *optimizer, size_t param,
                                                    const char *state,
                                                    struct DLManagedTensorVersioned **managed);

#ifdef __cplusplus
}
#endif
#endif
