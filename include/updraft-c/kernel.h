/*===- updraft-c/kernel.h - The interface of compiled code ------------------------*- C -*-===*
 * The functions in a compiled rule's object file, as the runtime calls them. All are pure but for
 * what is said to be written, call nothing but C maths functions (and those only in host
 * functions), and may run on any thread at once.
 *
 * A rule R has R_initial and R_validate, and R_interface, a string that describes it as JSON
 * (docs/architecture.md). Its plan, one for all tensors or one each for vectors and matrices, is a
 * sequence of prologues and passes; the prefix of a plan's functions is R, or R_matrix for the
 * second of two. For a rule R that is linked by hand:
 *   extern const char R_interface[];
 *   void R_initial(const double *hyper, double *initial);
 *   int32_t R_validate(const double *hyper);
 *   void R_prologue0(const double *hyper, const double *per_tensor, const double *reduced,
 *                    const double *scalars, void *row, double *next_scalars);
 *   void R_pass0(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
 *                double *partials, const upd_site *sites);
 *
 * A tensor of two or more dimensions is batches x rows x columns: the last two dimensions are rows
 * and columns, the leading ones batches. Others are vectors.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_KERNEL_H
#define UPDRAFT_C_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The units of the reduction tree, which the bits of a result depend on. */
enum {
  UPD_LEAF_ELEMENTS = 8192, /* elements in one leaf: a flat pass starts at a multiple of this */
  UPD_BLOCK_ROWS = 64,      /* rows in one block of a matrix; the last of a batch may be shorter */
  UPD_LANES = 128           /* sums that the elements of a leaf or block are dealt to */
};

/* Indices into `per_tensor`. */
enum {
  UPD_TENSOR_STEP = 0,  /* the step count, this step included: 1.0 at the first */
  UPD_TENSOR_FIRST = 1, /* 1.0 if the parameter had no state, else 0.0 */
  UPD_TENSOR_SIZE = 2,  /* elements */
  UPD_TENSOR_ROWS = 3,  /* of a batch; 1 for a vector */
  UPD_TENSOR_COLUMNS = 4,
  UPD_TENSOR_GROUP_SIZE = 5, /* elements of all tensors of the group that take part */
  UPD_TENSOR_FACTS = 6       /* how many there are */
};

/* Facts about the tensor that a pass runs over. */
typedef struct upd_site {
  uint64_t seed;
  uint64_t step;   /* as UPD_TENSOR_STEP */
  uint64_t tensor; /* number of the parameter: its index over all groups, unless it was set */
  int64_t rows;
  int64_t columns;
} upd_site;

/* Writes the initial value of each state of the interface, in order, to `initial`. */
typedef void (*upd_initial_function)(const double *hyper, double *initial);

/* The index of the first requirement that `hyper` breaks, or -1. */
typedef int32_t (*upd_validate_function)(const double *hyper);

/* Evaluates scalars between passes, into `row`: values of the compute type, row[0] nonzero if the
 * step is to be skipped, then the results of all prologues of the plan, numbered through from 1
 * (flags as 0 and 1). A prologue writes its own; the skip flag is written by the one that defines
 * it, and as 0 by the first if that is another or none.
 *   per_tensor    UPD_TENSOR_FACTS values. A prologue whose rows the interface says are by step
 *                 reads those alone that the group shares: STEP, FIRST, GROUP_SIZE.
 *   reduced       one value for each reduction over a tensor or group, numbered over the plan's
 *                 passes in order; those of earlier passes are there
 *   scalars       the scalar states of the plan, in order, before the step
 *   next_scalars  their values after it: a prologue writes those that are its results
 * All but `row` may be null where the rule has none. What a prologue by step writes may be copied
 * from the row of one tensor to that of another instead of calling it again. */
typedef void (*upd_prologue_function)(const double *hyper, const double *per_tensor,
                                      const double *reduced, const double *scalars, void *row,
                                      double *next_scalars);

/* A part of one tensor; none if begin == end. Of a flat pass: elements, rows, columns or batches
 * (whatever the pass is over; those of all batches in order), and `begin` is a multiple of
 * UPD_LEAF_ELEMENTS. Of a matrix pass: blocks, of which a batch has B = ceil(rows /
 * UPD_BLOCK_ROWS); block k is that of batch k / B with the rows from k mod B * UPD_BLOCK_ROWS. Of a
 * pass over rows or columns by batches: batches, with all of their rows or columns. */
typedef struct upd_range {
  int64_t begin;
  int64_t end;
} upd_range;

/* Runs a pass over one range in each of `count` tensors whose rows are the same.
 *
 * A tensor has as many entries of `streams` as the plan has streams: the parameter, the gradient,
 * the plan's states over elements, rows or columns in order, the scales of those that are stored in
 * blocks (upd_dtype) in order, then its temporaries in order; those of the next tensor follow. The
 * entry of a state in blocks has its codes; in a matrix pass block k of row r, counted over the
 * batches, has the scale r * ceil(columns / UPD_QUANT_BLOCK) + k. Each points to element 0 of the
 * tensor and has the alignment of its element. Streams that are the same tensor may be equal, and
 * must not overlap otherwise. Value r of a row stream in batch b is at b * rows + r, value c of a
 * column stream at b * columns + c, the value of a batch stream at b.
 *
 * Reductions over a tensor or group are written to `partials`: for each leaf (or block) of the
 * ranges in order, one value for each such reduction of the pass, in order. A reduction over rows
 * or batches is written to its temporary as a whole. One over columns is written once for each
 * block: the temporary has `columns` values per block then, those of block k from k * columns. A
 * pass writes all of this in its ranges, and reads none of it before. `partials` and `sites` (one
 * per tensor) may be null where the pass uses neither. */
typedef void (*upd_pass_function)(const void *row, void *const *streams, const upd_range *ranges,
                                  int64_t count, double *partials, const upd_site *sites);

#ifdef __cplusplus
}
#endif
#endif
