/*===- updraft-c/kernel.h - The interface of compiled code ------------------------*- C -*-===*
 * The functions in the object file of a rule, as the runtime calls them. A function writes only
 * what its comment says, and any number of threads may run it at once. Host functions call C maths
 * functions; sweeps call nothing outside the object file.
 *
 * The object file of a rule R has R_initial, R_validate, and R_descriptor, which describes it
 * (updraft-c/descriptor.h). Its plan is a sequence of prologues, sweeps and products. There is one
 * plan for all tensors, or one for vectors and at least one for matrices. The names of a plan's
 * functions start with R, or for the others with R_matrix or the shapes that they are for:
 * R_wide_square. If a plan has products, the object file also has R_product and R_mirror, and if
 * one is in bf16, R_bf16_product.
 * Declarations for a rule R that is linked by hand:
 *   extern const unsigned char R_descriptor[];
 *   void R_initial(const double *hyper, double *initial);
 *   int32_t R_validate(const double *hyper);
 *   void R_prologue0(const double *hyper, const double *per_tensor, const double *reduced,
 *                    const double *scalars, void *row, double *next_scalars);
 *   void R_sweep0(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
 *                 double *partials, const upd_site *sites);
 *
 * A tensor of two or more dimensions is batches x rows x columns: its last two dimensions are rows
 * and columns, the leading ones batches. Other tensors are vectors.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_KERNEL_H
#define UPDRAFT_C_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The units of the reduction tree. The bits of a result depend on them. */
enum {
  UPD_LEAF_ELEMENTS = 8192, /* elements of a leaf; a range of a flat sweep starts at a multiple */
  UPD_BLOCK_ROWS = 64,      /* rows of a block of a matrix; the last of a batch may be shorter */
  UPD_LANES = 128           /* partial sums of a leaf or block */
};

/* Indices into `per_tensor`. */
enum {
  UPD_TENSOR_STEP = 0,  /* the step count including this step: 1.0 at the first */
  UPD_TENSOR_FIRST = 1, /* 1.0 if the parameter had no state, else 0.0 */
  UPD_TENSOR_SIZE = 2,  /* elements */
  UPD_TENSOR_ROWS = 3,  /* of a batch; 1 for a vector */
  UPD_TENSOR_COLUMNS = 4,
  UPD_TENSOR_GROUP_SIZE = 5, /* elements of the group's tensors that take part */
  UPD_TENSOR_FACTS = 6       /* the number of these values */
};

/* The tensor that a sweep runs over, for its random numbers and sizes. */
typedef struct upd_site {
  uint64_t seed;
  uint64_t step;   /* as UPD_TENSOR_STEP */
  uint64_t tensor; /* the parameter's number: by default its index over all groups */
  int64_t rows;
  int64_t columns;
} upd_site;

/* Writes the initial value of each state of the descriptor, in order, to `initial`. */
typedef void (*upd_initial_function)(const double *hyper, double *initial);

/* Returns the index of the first requirement that `hyper` breaks, or -1. */
typedef int32_t (*upd_validate_function)(const double *hyper);

/* Evaluates scalars between sweeps and writes them to `row`, as values of the compute type. row[0]
 * is the skip flag: nonzero if the step is skipped. After it come the results of all prologues of
 * the plan, with flags as 0 or 1. Each prologue writes its own results. The prologue that computes
 * the skip flag also writes row[0]; if it isn't the first prologue, the first one writes 0 there.
 *   per_tensor    UPD_TENSOR_FACTS values. A prologue without UPD_PROLOGUE_BY_TENSOR reads only
 *                 those that tensors of the group share: STEP, FIRST, GROUP_SIZE.
 *   reduced       one value for each reduction over a tensor or group, in the order of the plan's
 *                 sweeps; those of earlier sweeps are defined
 *   scalars       the scalar states of the plan, in order, before the step
 *   next_scalars  their values after the step; a prologue writes those that are its results
 * Arguments other than `row` may be null if the rule has no such values. Instead of calling a
 * prologue without UPD_PROLOGUE_BY_TENSOR again, the runtime may copy its results from the row of
 * one tensor to the row of another. */
typedef void (*upd_prologue_function)(const double *hyper, const double *per_tensor,
                                      const double *reduced, const double *scalars, void *row,
                                      double *next_scalars);

/* A part of one tensor, empty if begin == end. The units depend on the sweep:
 *   flat    the elements, rows, columns or batches that the sweep is over, counted over all
 *           batches; `begin` is a multiple of UPD_LEAF_ELEMENTS
 *   matrix  blocks; a batch has B = ceil(rows / UPD_BLOCK_ROWS) of them, and block k starts at
 *           row (k mod B) * UPD_BLOCK_ROWS of batch k / B
 *   batch   batches, with all their rows or columns */
typedef struct upd_range {
  int64_t begin;
  int64_t end;
} upd_range;

/* Runs a sweep over one range in each of `count` tensors that have the same row.
 *
 * `streams` has, for each tensor in turn, one entry per stream of the plan, in the order of the
 * descriptor. Each entry points to element 0 of the tensor, aligned to its element. The entry of a
 * matrix that the sweep makes may be that of one that it reads. Otherwise streams must not overlap.
 *   row stream     row r of batch b is at b * rows + r
 *   column stream  column c of batch b is at b * columns + c
 *   batch stream   batch b is at b
 *   blocks         the entry of the state is its codes; in a matrix sweep the scale of block k of
 *                  row r, counted over all batches, is at
 *                  r * ceil(columns / UPD_QUANT_BLOCK) + k
 *
 * Reductions over a tensor or group are written to `partials`: for each leaf or block of the
 * ranges, in order, one value for each such reduction of the sweep, in order. A reduction over rows
 * or batches is complete in its temporary. A reduction over columns has `columns` values for each
 * block in its temporary; those of block k start at k * columns. A sweep writes all of these values
 * for its ranges, and doesn't read them before. `partials` and `sites` (one per tensor) may be null
 * if the sweep doesn't use them. */
typedef void (*upd_sweep_function)(const void *row, void *const *streams, const upd_range *ranges,
                                   int64_t count, double *partials, const upd_site *sites);

/* The size in bytes of the workspace of a product, for every compute type and target. */
enum { UPD_PRODUCT_WORKSPACE = 1536 * 1024 };

/* A product of two matrices of the compute type, lhs of rows x depth and rhs of depth x columns.
 * Distances are in elements, and may be negative or 0. Element (i, k) of lhs is at
 * lhs[i * lhs_row + k * lhs_column], and that of rhs likewise, so exchanging two distances
 * transposes an operand. Element (i, j) of the result is at result[i * result_row + j], and rows of
 * the result must not overlap. Pointers are aligned to an element and may be null if no element is
 * accessed. The operands may overlap each other, but neither the result nor the workspace, which
 * are also distinct. Only elements of the operands and the result are accessed. */
typedef struct upd_product {
  const void *lhs;    /* element (0, 0) */
  int64_t lhs_row;    /* the distance from a row to the next */
  int64_t lhs_column; /* the distance from a column to the next */
  const void *rhs;
  int64_t rhs_row;
  int64_t rhs_column;
  void *result;
  int64_t result_row;
  int64_t rows;    /* of lhs and the result; 0 or more, like the other sizes */
  int64_t columns; /* of rhs and the result */
  int64_t depth;   /* columns of lhs and rows of rhs; at 0 the result is zeros */
  /* An element (i, j) of the result with j > i + below may be left out. It is then unspecified, and
   * most of these elements take no time. INT64_MAX computes all elements. 0 computes one triangle
   * of a symmetric product; for its rows from r on, as a product of their own, pass r. */
  int64_t below;
  /* UPD_PRODUCT_WORKSPACE bytes that no other thread uses during the call, aligned to 64 bytes.
   * Their contents before and after the call are unspecified. */
  void *workspace;
} upd_product;

/* A product and a third matrix: the result is scale * product + addend_scale * addend. Each scale
 * points to one value of the compute type, aligned to it, and isn't null. Element (i, j) of the
 * addend is at addend[i * addend_row + j]. The addend may overlap the operands, but neither the
 * result nor the workspace. If it is null, the result is the product, and the other members are
 * unused. */
typedef struct upd_product_sum {
  upd_product product;
  const void *addend; /* element (0, 0) */
  int64_t addend_row;
  const void *scale;
  const void *addend_scale;
} upd_product_sum;

/* A sum, and a matrix to update: the target becomes sum_scale * sum + target_scale * target. The
 * result is then unspecified; its memory has partial sums during the call. The scales are as those
 * of the sum, and element (i, j) of the target is at target[i * target_row + j]. The target
 * overlaps nothing else. If it is null, the result is the sum, and the other members are unused. */
typedef struct upd_product_update {
  upd_product_sum sum;
  void *target; /* element (0, 0) */
  int64_t target_row;
  const void *sum_scale;
  const void *target_scale;
} upd_product_update;

/* Computes a product. Element (i, j) starts at +0, and for each k from 0 up becomes
 * fma(lhs(i, k), rhs(k, j), element), rounded once to the compute type. So its bits depend neither
 * on the target nor on the rows and columns that are computed in the same call: threads may each
 * compute a part of the result. Only the payload and sign of a NaN may differ. On a CPU without
 * fused multiply-adds, the function calls fma or fmaf of the C library. An object file that has
 * products under a name N has the functions N_product and N_mirror.
 *
 * If a product of the rule has the flag UPD_PRODUCT_SUM (updraft-c/descriptor.h), the argument is
 * the `product` of a upd_product_sum; if one has UPD_PRODUCT_UPDATE, that of a upd_product_update.
 * Both terms and their sum are rounded to the compute type. If the rule's numerics are "fast", the
 * sum is fma(addend_scale, addend, scale * product), and the target becomes
 * fma(target_scale, target, sum_scale * sum).
 *
 * N_bf16_product may round the elements of the operands to bf16 first, and then adds up the
 * products in f32 in any order, and in pairs. It does so on CPUs that multiply bf16; subnormal
 * numbers may then count as 0. */
typedef void (*upd_product_function)(const upd_product *product);

/* Copies a part of a matrix across its diagonal: for begin <= i < end and j < i, element (j, i)
 * becomes element (i, j). Element (i, j) is at matrix[i * row_distance + j] and aligned to an
 * element. `begin` is at least 0; row_distance is in elements, and at least `end`. Threads may each
 * copy other rows of the same matrix: a call reads elements with begin <= i < end and j < end, and
 * writes only those with i < j and begin <= j < end. `matrix` may be null if end <= 1. */
typedef void (*upd_mirror_function)(void *matrix, int64_t row_distance, int64_t begin, int64_t end);

#ifdef __cplusplus
}
#endif
#endif
