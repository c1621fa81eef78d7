/*===- updraft-c/kernel.h - The interface of compiled code ------------------------*- C -*-===*
 * The functions in a compiled rule's object file, as the runtime calls them. For a rule with plan
 * name R the symbols are R_initial, R_validate, R_prologue and R_pass0. All are pure but for what
 * is said to be written, call nothing but C maths functions (and those only in host functions), and
 * may run on any thread at once. R_interface is a string that describes the rule, as JSON: its
 * hyperparameters in the order of `hyper`, its states, the length of a row (docs/architecture.md).
 *
 * For a rule R that is linked by hand:
 *   extern const char R_interface[];
 *   void R_initial(const double *hyper, double *initial);
 *   int32_t R_validate(const double *hyper);
 *   void R_prologue(const double *hyper, const double *per_tensor, const double *reduced,
 *                   void *row, double *scalar_state);
 *   void R_pass0(const void *row, void *const *streams, const upd_range *ranges, int64_t count,
 *                double *partials, const upd_site *sites);
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_KERNEL_H
#define UPDRAFT_C_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements in one leaf: a pass starts at a multiple of this. */
enum { UPD_LEAF_ELEMENTS = 8192 };

/* Indices into `per_tensor`. */
enum {
  UPD_TENSOR_STEP = 0,  /* the step count, this step included: 1.0 at the first */
  UPD_TENSOR_FIRST = 1, /* 1.0 if the parameter had no state, else 0.0 */
  UPD_TENSOR_FACTS = 2  /* how many there are */
};

/* Facts about the tensor that a pass runs over. */
typedef struct upd_site {
  uint64_t seed;
  uint64_t tensor; /* index of the parameter, over all groups */
  int64_t rows;
  int64_t columns;
} upd_site;

/* Writes the initial value of each state, in order, to `initial`. */
typedef void (*upd_initial_function)(const double *hyper, double *initial);

/* The index of the first requirement that `hyper` breaks, or -1. */
typedef int32_t (*upd_validate_function)(const double *hyper);

/* Evaluates the scalars of a step into `row`: values of the compute type, row[0] nonzero if the
 * step is to be skipped, then the plan's scalars (flags as 0 and 1). `reduced` and `scalar_state`
 * may be null where the rule has none. */
typedef void (*upd_prologue_function)(const double *hyper, const double *per_tensor,
                                      const double *reduced, void *row, double *scalar_state);

/* Elements [begin, end) of one tensor; none if begin == end. `begin` is a multiple of
 * UPD_LEAF_ELEMENTS. */
typedef struct upd_range {
  int64_t begin;
  int64_t end;
} upd_range;

/* Runs a pass over one range in each of `count` tensors that share a row. A tensor has as many
 * entries of `streams` as the rule has streams: the parameter, the gradient, then the states in
 * order; those of the next tensor follow. Each points to element 0 of the tensor and has the
 * alignment of its element. Streams that are the same tensor may be equal, and must not overlap
 * otherwise. `partials` and `sites` (one per tensor) may be null where the pass uses neither. */
typedef void (*upd_pass_function)(const void *row, void *const *streams, const upd_range *ranges,
                                  int64_t count, double *partials, const upd_site *sites);

#ifdef __cplusplus
}
#endif
#endif
