/*===- updraft-c/types.h - Status codes, element types, tensors ------------------*- C -*-===*
 * The types that the other headers of the C API use, and the rules that hold for all functions.
 * Plain C11, and C++11 or later.
 *
 * Errors. Every function that can fail returns a upd_status. Unless its comment says otherwise, a
 * function that returns a status other than UPD_OK has changed nothing. The message is
 * upd_last_error().
 *
 * Threads. A function may be called from any thread unless its header says otherwise.
 *
 * Memory. The library doesn't keep a pointer after the call that receives it, unless the function's
 * comment says that the memory must outlive something. Strings are null-terminated UTF-8.
 *
 * Versions. UPD_API_VERSION is the version of these headers and upd_api_version() that of the
 * library. Each release that adds something raises it by 1. Later versions keep everything: a
 * program works with every library whose version is at least UPD_API_VERSION. A release that
 * removes or changes something has another soname, so that older programs don't load it.
 *
 * Structs. A struct whose first member is `struct_size` may get new members at its end. Their
 * default is 0. Fill such a struct with zeros, and set `struct_size` to its sizeof. If an older
 * program passes a smaller struct, the library reads only the members that exist there. If a newer
 * program passes a larger struct, the library accepts it if the bytes that it doesn't know are 0;
 * otherwise it returns UPD_UNSUPPORTED. The records of updraft-c/descriptor.h may get new members,
 * too. The other structs never change, because programs make arrays of them.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_TYPES_H
#define UPDRAFT_C_TYPES_H

#include <stdint.h>

#if defined(_WIN32)
#define UPD_EXPORT
#else
#define UPD_EXPORT __attribute__((visibility("default")))
#endif

/* Enums have 32 bits. C++ makes this part of their type, so that every 32-bit value is valid. */
#ifdef __cplusplus
#define UPD_INT32 : int32_t
#else
#define UPD_INT32
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the API that these headers declare. */
#define UPD_API_VERSION 1

/* The version of the API that the library implements. */
UPD_EXPORT int32_t upd_api_version(void);

/* The result of a function. Retrying helps only for UPD_IO_ERROR and UPD_OUT_OF_MEMORY. */
typedef enum upd_status UPD_INT32 {
  UPD_OK = 0,
  UPD_INVALID_ARGUMENT = 1, /* an argument breaks a documented rule */
  UPD_COMPILE_ERROR = 2,    /* the rule's text has an error; the message shows where */
  UPD_NOT_FOUND = 3,        /* no such state, hyperparameter or file */
  UPD_UNSUPPORTED = 4,      /* valid, but this build or device cannot do it */
  UPD_IO_ERROR = 5,         /* a file could not be read or written */
  UPD_OUT_OF_MEMORY = 6,
  UPD_INTERNAL_ERROR = 7 /* a bug in Updraft; please report it */
} upd_status;

/* The message of the last call on the calling thread that returned a status other than UPD_OK, or
 * "" if there was none. Successful calls keep it, so check the status first. Each thread has its
 * own message: read it on the thread that made the call. The text is valid until the thread calls
 * the library again or ends. Never null. */
UPD_EXPORT const char *upd_last_error(void);

/* The type of a tensor's elements in memory. `storage` in upd_compile_options chooses how a rule
 * stores its parameter, gradient and states; the types there include ways of rounding, which this
 * enum does not.
 *
 * The elements of a block-quantized state are 8-bit codes, and each block of UPD_QUANT_BLOCK
 * elements has an f32 scale (docs/numerics.md). A block consists of consecutive elements in
 * row-major order or, if the rule has a variant for matrices, of consecutive columns of one row.
 * `data` points to the codes, one byte each. The scales follow the codes, starting at the next
 * multiple of 4 bytes; their view is the state `STATE.scale`. */
typedef enum upd_dtype UPD_INT32 {
  UPD_F32 = 0,
  UPD_F64 = 1,
  UPD_BF16 = 2,
  UPD_F16 = 3,
  UPD_I8 = 4,          /* only for states `NAME_correction` (docs/numerics.md) */
  UPD_Q8_LINEAR = 5,   /* only for states: codes of blocks */
  UPD_Q8_COMPANDED = 6 /* only for states: codes of blocks */
} upd_dtype;

/* Classes of tensors by their number of dimensions. A rule that mentions `matrix` has a variant for
 * each class. */
typedef enum upd_tensors UPD_INT32 {
  UPD_ALL_TENSORS = 0,
  UPD_VECTORS = 1, /* less than two dimensions */
  UPD_MATRICES = 2 /* two dimensions or more */
} upd_tensors;

/* The unit that has one value: for example, a state over rows has one value per row. The last two
 * dimensions of a tensor are rows and columns, the leading ones batches. */
typedef enum upd_extent UPD_INT32 {
  UPD_EXTENT_GROUP = 0,
  UPD_EXTENT_TENSOR = 1,
  UPD_EXTENT_BATCH = 2,
  UPD_EXTENT_ROW = 3,
  UPD_EXTENT_COLUMN = 4,
  UPD_EXTENT_ELEMENT = 5,
  UPD_EXTENT_ROWS_BY_ROWS = 6,       /* for each matrix, a square matrix with as many rows */
  UPD_EXTENT_COLUMNS_BY_COLUMNS = 7, /* a square matrix with as many columns */
  UPD_EXTENT_CHOSEN_BY_COLUMNS = 8,  /* chosen rows of each matrix: only for memory of a step */
  UPD_EXTENT_ROWS_BY_CHOSEN = 9,     /* chosen columns */
  UPD_EXTENT_CHOSEN_BY_CHOSEN = 10,  /* a square matrix with as many rows as are chosen */
} upd_extent;

/* Elements that share a scale. The last block of a tensor or row may be shorter. */
enum { UPD_QUANT_BLOCK = 256 };

/* Where memory is. The values are DLPack's. */
typedef enum upd_device UPD_INT32 { UPD_CPU = 1, UPD_CUDA = 2 } upd_device;

/* The rank of a gradient that is absent. The other members of its upd_tensor are ignored. */
enum { UPD_ABSENT = -1 };

/* A view of memory that the caller owns. The memory must outlive the object that receives the view,
 * unless the receiving function says otherwise. The arrays `shape` and `strides` are read during
 * the call only. */
typedef struct upd_tensor {
  void *data;             /* first element; may be null if the tensor has no elements */
  const int64_t *shape;   /* `rank` sizes, in elements; may be null if rank is 0 */
  const int64_t *strides; /* `rank` strides, in elements; null: row-major and contiguous */
  int32_t rank;
  upd_dtype dtype;
  upd_device device;
  int32_t device_index; /* which GPU; ignored for UPD_CPU */
  int32_t read_only;    /* nonzero: functions that would write the memory return an error */
} upd_tensor;

#ifdef __cplusplus
}
#endif
#endif
