/*===- updraft-c/types.h - Status codes, data types, tensors ----------------------*- C -*-===*
 * What every other header of the C API is made of. Plain C; no function here allocates.
 *
 * Later versions may extend a struct whose first member is `struct_size`: new members come at its
 * end, and 0 is their default. A program sets every member, or clears the struct first, and sets
 * `struct_size` to the sizeof that it was compiled with. From a smaller struct, of an older
 * program, the library reads the members that it has. It accepts a larger struct, of a newer
 * program, if the bytes that it doesn't know are 0; otherwise it returns UPD_UNSUPPORTED. The other
 * structs never change, because programs make arrays of them. New structs get new functions.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_TYPES_H
#define UPDRAFT_C_TYPES_H

#include <stdint.h>

#if defined(_WIN32)
#define UPD_EXPORT
#else
#define UPD_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The result of every call that can fail. Retrying helps only for UPD_IO_ERROR and
 * UPD_OUT_OF_MEMORY. */
typedef enum upd_status {
  UPD_OK = 0,
  UPD_INVALID_ARGUMENT = 1, /* an argument breaks a documented rule */
  UPD_COMPILE_ERROR = 2,    /* the rule's text is in error; the message shows where */
  UPD_NOT_FOUND = 3,        /* no such state, hyperparameter or file */
  UPD_UNSUPPORTED = 4,      /* valid, but this build or device cannot do it */
  UPD_IO_ERROR = 5,         /* a file could not be read or written */
  UPD_OUT_OF_MEMORY = 6,
  UPD_INTERNAL_ERROR = 7 /* a defect of Updraft; please report it */
} upd_status;

/* The message of the calling thread's last call that did not return UPD_OK; "" if none. Valid until
 * the thread's next call into the library. Never null. */
UPD_EXPORT const char *upd_last_error(void);

/* Storage types. The values are stable: they are part of files and of the cache.
 *
 * UPD_BF16_STOCHASTIC and UPD_BF16_CORRECTED are requests, for the parameter and for states that
 * have its shape; no tensor has them. The tensor is UPD_BF16, and what is corrected has a further
 * state beside it, NAME_correction of UPD_I8 (docs/numerics.md), `param_correction` for the
 * parameter.
 *
 * A block-quantised state has 8-bit codes, and an f32 scale for each block of UPD_QUANT_BLOCK
 * elements (docs/numerics.md): blocks of the elements in row-major order, or, where the rule has a
 * variant for matrices, of the columns of each row. `data` points to the codes, one byte for each
 * element; the scales follow them from the next multiple of 4 bytes on, where they have a view of
 * their own as `STATE.scale`. */
typedef enum upd_dtype {
  UPD_F32 = 0,
  UPD_F64 = 1,
  UPD_BF16 = 2,
  UPD_F16 = 3,
  UPD_BF16_STOCHASTIC = 4, /* stored with stochastic rounding */
  UPD_BF16_CORRECTED = 5,  /* stored with 8 bits more in a state beside it */
  UPD_Q8_LINEAR = 6,       /* states only */
  UPD_Q8_COMPANDED = 7,    /* states only */
  UPD_I8 = 8               /* corrections only: no request */
} upd_dtype;

/* Tensors by their number of dimensions, which decides what a rule that mentions `matrix` does. */
typedef enum upd_tensors {
  UPD_ALL_TENSORS = 0,
  UPD_VECTORS = 1, /* of less than two dimensions */
  UPD_MATRICES = 2 /* of two or more */
} upd_tensors;

/* Elements that share a scale; the last block of a tensor or row may be shorter. */
enum { UPD_QUANT_BLOCK = 256 };

/* DLPack's numbers. UPD_EMULATOR is memory of the process in which the CPU runs kernels for GPUs,
 * slowly, looking at every access: for tests where there is no GPU. */
typedef enum upd_device { UPD_CPU = 1, UPD_CUDA = 2, UPD_EMULATOR = 12 } upd_device;

/* A view of memory that the caller owns. It must stay valid for as long as the object that it was
 * given to, unless that function says otherwise. */
typedef struct upd_tensor {
  void *data;             /* first element; may be null when the tensor has no elements */
  const int64_t *shape;   /* rank sizes, in elements; may be null when rank is 0 */
  const int64_t *strides; /* rank strides, in elements; null: row-major and contiguous */
  int32_t rank;
  upd_dtype dtype;
  upd_device device;
  int32_t device_index;
  int32_t read_only; /* nonzero: writing is refused */
} upd_tensor;

#ifdef __cplusplus
}
#endif
#endif
