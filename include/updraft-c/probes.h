/*===- updraft-c/probes.h - The values of a rule's probes -------------------------*- C -*-===*
 * A probe is a number, or a histogram, that a step computes for each tensor, in the sweeps that the
 * step has anyway: `probe gradient_norm = norm(grad)` in a rule, or one of
 * upd_compile_options::probes. An optimizer keeps the values of its last probed steps in a ring
 * buffer. Reading never makes a step wait.
 *
 * Errors. UPD_INVALID_ARGUMENT: a required pointer is null. The functions report no other error.
 * Reading the probes of a rule without probes succeeds and returns no rows.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_PROBES_H
#define UPDRAFT_C_PROBES_H

#include "updraft-c/optimizer.h"
#include "updraft-c/types.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Probes every `every`-th step from now on: the steps of this optimizer whose number, counted from
 * 1 at its creation, is a multiple. 1, the default, probes each step, and 0 none. Steps that aren't
 * probed run the code of a rule without probes. Steps with gradients of rows are counted, but never
 * probed. A step that is captured in a graph is probed at each replay if it was to be probed
 * itself. One thread at a time may call this function or step. */
UPD_EXPORT upd_status upd_optimizer_set_probe_every(upd_optimizer *optimizer, uint64_t every);
/* Sets `*every` to that number. Not while another thread sets it. */
UPD_EXPORT upd_status upd_optimizer_get_probe_every(const upd_optimizer *optimizer,
                                                    uint64_t *every);

/* The probes of one parameter in one step. */
typedef struct upd_probe_row {
  int64_t step;    /* the parameter's step count, this step included */
  uint32_t param;  /* counted over all groups */
  uint32_t unused; /* 0 */
} upd_probe_row;

/* The number of values in a row: upd_rule_probe_count of the optimizer's rule. 0 for null. */
UPD_EXPORT size_t upd_optimizer_probe_count(const upd_optimizer *optimizer);

/* Copies the rows of probed steps that were added since `*cursor`, oldest first, at most `capacity`
 * of them. Start with a cursor of 0; the call moves it behind the rows that it copied. `values`
 * receives upd_optimizer_probe_count values for each row. `*count` becomes the number of rows, and
 * `*lost` that of older rows that were overwritten before they were read; `lost` may be null. The
 * optimizer keeps at least the last 16 steps of all parameters, and at least 16384 rows. Each
 * reader has a cursor of its own. The caller may pass null for `rows` and `values` if `capacity`
 * is 0 or if the rule declares no probes.
 *
 * A step adds a row for each parameter with a gradient, in their order, when it is done. If the
 * rule skips a parameter, its row has the values that were known when it was skipped, and NaN for
 * the others. A step that `found_inf` turns off adds no rows.
 *
 * Any number of threads may call this function at any time, also during a step of another thread,
 * as long as the optimizer isn't released. Each call needs its own cursor and memory. */
UPD_EXPORT upd_status upd_optimizer_read_probes(const upd_optimizer *optimizer, uint64_t *cursor,
                                                upd_probe_row *rows, double *values,
                                                size_t capacity, size_t *count, uint64_t *lost);

#ifdef __cplusplus
}
#endif
#endif
