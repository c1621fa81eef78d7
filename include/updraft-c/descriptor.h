/*===- updraft-c/descriptor.h - The description of a compiled rule ----------------*- C -*-===*
 * The bytes at the symbol R_descriptor in the object file of a rule R, and in a package. They
 * describe the rule's hyperparameters, states and functions to the code that calls them
 * (updraft-c/kernel.h defines the terms). The compiler numbers the streams, reductions and states
 * of each plan and lists them here, so a reader doesn't compute these numbers.
 *
 * A descriptor is a upd_descriptor, then its upd_descriptor_section records, then the sections. A
 * section is an array of records of one kind. Integers are little-endian, offsets are in bytes from
 * the descriptor's start, and each section starts at a multiple of 8. A descriptor contains no
 * pointers, so it is position-independent.
 *
 * A record refers to records of another section by a upd_slice, and to text by a upd_text. All
 * slices that refer to a section have, in total, at most as many records as the section.
 *
 * Versions. Two kinds of changes raise `major`: those that older readers would misunderstand, and
 * changes of the functions and units in updraft-c/kernel.h and updraft-c/gpu_kernel.h that older
 * callers don't expect. A reader refuses other values of `major`. Other changes raise `minor`:
 *   a new section       Written only if it has records. A reader skips a section of a kind that it
 *                       doesn't know. It refuses the descriptor instead if the section has the flag
 *                       UPD_SECTION_REQUIRED.
 *   a new member        It is added at the end of a record and raises `stride`. Records have no
 *                       padding. A reader uses the members that it knows. If an older compiler
 *                       wrote a shorter record, the missing members are 0.
 *   a new enum value or flag bit
 *                       A reader refuses a value or bit that it doesn't know.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_DESCRIPTOR_H
#define UPDRAFT_C_DESCRIPTOR_H

#include "updraft-c/types.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPD_DESCRIPTOR_MAGIC "UPDRULE" /* with its null character: 8 bytes */
#define UPD_DESCRIPTOR_MAJOR 1
#define UPD_DESCRIPTOR_MINOR 5

typedef struct upd_descriptor {
  char magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t section_count;
  uint32_t size;  /* in bytes, including all sections */
  uint32_t flags; /* 0 */
} upd_descriptor;

typedef enum upd_section_kind UPD_INT32 {
  UPD_SECTION_TEXT = 0,  /* bytes of texts, UTF-8; the stride is 1 */
  UPD_SECTION_INDEX = 1, /* uint32_t */
  UPD_SECTION_RULE = 2,  /* one record */
  UPD_SECTION_STATIC = 3,
  UPD_SECTION_HYPER = 4,
  UPD_SECTION_STATE = 5,
  UPD_SECTION_MESSAGE = 6, /* of requirements; R_validate returns an index into this section */
  UPD_SECTION_DERIVED = 7,
  UPD_SECTION_PLAN = 8,
  UPD_SECTION_STREAM = 9,
  UPD_SECTION_STAGE = 10,
  UPD_SECTION_REDUCTION = 11,
  UPD_SECTION_PROBE = 12
} upd_section_kind;

enum { UPD_SECTION_REQUIRED = 1 };

typedef struct upd_descriptor_section {
  upd_section_kind kind;
  uint32_t flags;
  uint32_t offset;
  uint32_t count;  /* records */
  uint32_t stride; /* bytes from one record to the next */
} upd_descriptor_section;

/* `length` bytes of the text section. */
typedef struct upd_text {
  uint32_t offset; /* in the section */
  uint32_t length;
} upd_text;

/* `count` records of a section, starting with record `first`. */
typedef struct upd_slice {
  uint32_t first;
  uint32_t count;
} upd_slice;

typedef struct upd_rule_record {
  upd_text name;
  upd_text numerics; /* "ieee", "torch" or "fast" */
  upd_text target;   /* "host" for a CPU; or a GPU, as in `updraftc --target`: "nvptx:sm_90" */
  upd_dtype compute; /* UPD_F32 or UPD_F64 */
  upd_dtype param;
  upd_dtype grad;
  upd_extent depends_on; /* see upd_rule_depends_on */
  uint32_t flags;        /* 0 */
} upd_rule_record;

/* A static flag, and its value as the language writes it, without quotes. */
typedef struct upd_static_record {
  upd_text name;
  upd_text value;
} upd_static_record;

typedef struct upd_hyper_record {
  double default_value; /* not NaN */
  upd_text name;
  uint32_t flags;  /* 0 */
  uint32_t unused; /* 0 */
} upd_hyper_record;

enum { UPD_STATE_FROM_STEP = 1 }; /* the first step computes the initial value */

typedef struct upd_state_record {
  upd_text name;
  upd_dtype dtype;
  upd_extent over;     /* not UPD_EXTENT_BATCH */
  upd_tensors tensors; /* the tensors that have the state */
  uint32_t flags;
} upd_state_record;

/* In the text, `{NAME}` stands for the value of a hyperparameter, and `{{` and `}}` stand for
 * braces. */
typedef struct upd_message_record {
  upd_text text;
} upd_message_record;

/* A static flag that was not set, but derived from hyperparameters. The code is valid only for
 * hyperparameters from which the flag gets the value that it has here. */
typedef struct upd_derived_record {
  upd_text flag;
  upd_slice hypers; /* of the index section: the hyperparameters that it is derived from */
  uint32_t message; /* of the requirement that refuses other values */
} upd_derived_record;

/* UPD_PLAN_RANDOM: a sweep uses the seed. UPD_PLAN_SKIPS: the plan may set the skip flag of a row.
 * UPD_PLAN_PROBED: the plan computes the probes; its prologues write them to `next_scalars`, behind
 * the scalar states.
 * The other flags limit a plan to matrices of some shapes: with fewer rows than columns (wide),
 * with as many (square), or with more (tall). A plan with none of these three is for matrices of
 * every shape. */
enum {
  UPD_PLAN_RANDOM = 1,
  UPD_PLAN_WIDE = 2,
  UPD_PLAN_SQUARE = 4,
  UPD_PLAN_TALL = 8,
  UPD_PLAN_SKIPS = 16,
  UPD_PLAN_PROBED = 32
};

/* A rule has one plan for all tensors, or plans for vectors, for matrices or for matrices of some
 * shapes, at most one for each tensor. They have the same reductions over the group.
 *
 * If the rule has probes, as many plans with UPD_PLAN_PROBED follow those without, for the same
 * tensors in the same order, and with the same scalar states. They have the same reductions over
 * the group as each other. A step runs the plans of one kind only. */
typedef struct upd_plan_record {
  upd_text prefix; /* the names of its functions start with it: AdamW_prologue0, AdamW_sweep0 */
  upd_tensors tensors;
  uint32_t flags;
  uint32_t row_scalars; /* values in a row, including the skip flag */
  upd_slice streams;    /* in the order of the kernel's `streams` */
  upd_slice scalars;    /* of the index section: the states in the order of `scalars` */
  upd_slice stages;     /* in the order in which they run */
  uint32_t chosen[2];   /* the halves of an f64, the lower one first, from 0 to 1: a matrix has
                           ceil(chosen min(rows, columns)) chosen rows or columns */
  upd_slice exclusive_conditions; /* of the index section: pairs of conditions, of which at most
                                     one holds for a tensor in a step. Matrices that are made under
                                     them may share memory. The pairs ascend, and the first of a
                                     pair is the smaller one. */
} upd_plan_record;

/* UPD_PROBE_BUCKET: the number is a count of a histogram. The buckets of a histogram follow each
 * other and have its name; see upd_rule_probe_end. */
enum { UPD_PROBE_BUCKET = 1 };

/* A number that a probed step computes for each tensor. */
typedef struct upd_probe_record {
  upd_text name;
  uint32_t flags;
  uint32_t end[2]; /* of a bucket: the halves of an f64, the lower one first; else 0 */
} upd_probe_record;

typedef enum upd_stream_kind UPD_INT32 {
  UPD_STREAM_PARAM = 0,    /* the first stream of a plan */
  UPD_STREAM_GRAD = 1,     /* the second */
  UPD_STREAM_STATE = 2,    /* `of` is the state */
  UPD_STREAM_SCALES = 3,   /* `of` is the plan's stream of blocks to which the scales belong */
  UPD_STREAM_TEMPORARY = 4 /* memory for one step; the last streams of a plan */
} upd_stream_kind;

typedef struct upd_stream_record {
  upd_stream_kind kind;
  uint32_t of;
  upd_dtype dtype;
  upd_extent over; /* not UPD_EXTENT_TENSOR or UPD_EXTENT_GROUP */
} upd_stream_record;

typedef enum upd_stage_kind UPD_INT32 {
  UPD_STAGE_PROLOGUE = 0,
  UPD_STAGE_SWEEP = 1,
  UPD_STAGE_PRODUCT = 2,
  UPD_STAGE_CALL = 3 /* of a function of matrices, which the runtime has */
} upd_stage_kind;

/* Functions of whole matrices. Each batch of a tensor has a call of its own. */
typedef enum upd_matrix_function UPD_INT32 {
  UPD_FUNCTION_QR = 0,           /* Q of a = Q R; the diagonal of R is not negative */
  UPD_FUNCTION_CHOLESKY = 1,     /* the lower l with a = l l^T; reads the lower triangle of a */
  UPD_FUNCTION_EIGENVECTORS = 2, /* as columns, in ascending order of eigenvalues; the largest
                                    element of each is positive; reads the lower triangle */
  UPD_FUNCTION_EIGENVALUES = 3,  /* in ascending order; reads the lower triangle */
  UPD_FUNCTION_SOLVE_LOWER = 4,  /* x with l x = b, where l is lower triangular */
  UPD_FUNCTION_SOLVE_UPPER = 5,
  UPD_FUNCTION_SORT_ROWS = 6, /* the rows of a in descending order of d; equal ones stay in order */
  UPD_FUNCTION_SORT_COLUMNS = 7,
  UPD_FUNCTION_TRANSPOSE = 8,
  UPD_FUNCTION_LARGEST = 9, /* of values d per row or column: 1 for as many as a plan chooses, the
                               largest, else 0; of equal ones the earlier, and NaN comes last */
  UPD_FUNCTION_GATHER_ROWS = 10, /* the rows of a for which largest(d) is 1, in their order */
  UPD_FUNCTION_GATHER_COLUMNS = 11,
  UPD_FUNCTION_SCATTER_ROWS = 12, /* puts chosen rows back in a matrix whose other rows are 0 */
  UPD_FUNCTION_SCATTER_COLUMNS = 13
} upd_matrix_function;

typedef enum upd_loop UPD_INT32 {
  UPD_LOOP_FLAT = 0,   /* a range counts the units that the sweep is over */
  UPD_LOOP_MATRIX = 1, /* a range counts blocks of UPD_BLOCK_ROWS rows */
  UPD_LOOP_BATCH = 2   /* a range counts batches, and the sweep is over their rows or columns */
} upd_loop;

/* Set if a row of the prologue depends on the tensor. If not set, tensors of a group with the same
 * UPD_TENSOR_STEP and UPD_TENSOR_FIRST have the same row. Only for prologues. */
enum { UPD_PROLOGUE_BY_TENSOR = 1 };

/* How a product reads its operands; whether the elements above the diagonal of the result are those
 * below it; whether operands may be rounded to bf16 (updraft-c/kernel.h) or to f16, of which a
 * product has at most one flag; whether it adds a third matrix (upd_product_sum), which follows the
 * operands in `reads`; and whether it updates a matrix (upd_product_update), the stream in
 * `writes`. Only for products. */
enum {
  UPD_PRODUCT_LHS_TRANSPOSED = 2,
  UPD_PRODUCT_RHS_TRANSPOSED = 4,
  UPD_PRODUCT_SYMMETRIC = 8,
  UPD_PRODUCT_BF16 = 16,
  UPD_PRODUCT_F16 = 32,
  UPD_PRODUCT_SUM = 64,
  UPD_PRODUCT_UPDATE = 128
};

/* Prologues, sweeps, products and calls are numbered separately, in the order in which they run.
 * The members after `flags` are 0 for a prologue. `reads`, `writes` and `makes` are slices of the
 * index section, and list streams of the plan. A product reads its left and its right operand, a
 * call its operands, and both make their result. If the condition is 0 for a tensor, nothing that
 * the step keeps depends on the results, and the stage must not run for it: its results may be in
 * memory that another matrix uses. */
typedef struct upd_stage_record {
  upd_stage_kind kind;
  uint32_t flags;
  upd_extent over;
  upd_loop loop;
  upd_slice reads;
  upd_slice writes;
  upd_slice makes; /* temporaries, whose former values are lost */
  upd_slice reductions;
  upd_matrix_function function; /* of a call; else 0 */
  uint32_t condition;        /* the position of a flag of an earlier prologue in the row; 0: none */
  uint32_t scales[2];        /* of the product and of what it adds: positions in the row; 0: one */
  uint32_t update_scales[2]; /* of the sum and of the matrix that a product updates: the same */
} upd_stage_record;

typedef enum upd_reduction_kind UPD_INT32 {
  UPD_REDUCTION_SUM = 0,
  UPD_REDUCTION_MAX = 1
} upd_reduction_kind;

typedef struct upd_reduction_record {
  upd_reduction_kind kind;
  upd_extent over; /* not UPD_EXTENT_ELEMENT */
  uint32_t into;   /* over rows, columns or batches: the stream of the result; else 0 */
} upd_reduction_record;

#ifdef __cplusplus
}
#endif
#endif
