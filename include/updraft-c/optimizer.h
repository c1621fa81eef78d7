/*===- updraft-c/optimizer.h - Applying a compiled rule to tensors ----------------*- C -*-===*
 * An optimizer applies one compiled rule to parameters in groups. One thread at a time may use an
 * optimizer; different optimizers are independent if their tensors are.
 *
 * Parameters are where the rule was compiled for: on the CPU, or on one GPU (or the emulator). On a
 * GPU a step waits for nothing: it is given to a stream of the caller's (upd_optimizer_set_stream),
 * and gradients stay where they are until the stream has run it. The driver's errors are reported
 * by the call that meets them, which may be a later one. While a stream is captured into a graph,
 * only steps can be given to it: a step in a graph has tables of its own, from which it can be
 * replayed beside other steps for as long as the optimizer is there. It keeps the gradients, the
 * states, the hyperparameters and the seed that it was captured with: what is to change is read
 * from where it is (upd_optimizer_read_hyper), and a graph is captured again after states were
 * bound or loaded. Whatever waits for the GPU is refused with UPD_UNSUPPORTED then.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_OPTIMIZER_H
#define UPDRAFT_C_OPTIMIZER_H

#include "updraft-c/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct upd_optimizer upd_optimizer;

typedef struct upd_hyper {
  const char *name;
  double value;
} upd_hyper;

/* Parameters that share hyperparameters. What `hypers` does not name has the rule's default. */
typedef struct upd_group {
  const upd_tensor *params; /* the data must outlive the optimizer; shapes and strides are copied */
  const char *const *names; /* one per parameter, unique, UTF-8; null: "0", "1", … over all */
  size_t param_count;
  const upd_hyper *hypers;
  size_t hyper_count;
} upd_group;

/* Where a step runs. `run` calls task(context, i) once for each i in [0, count), from any threads,
 * and returns when all have returned. */
typedef struct upd_pool {
  void (*run)(void *pool, int32_t count, void (*task)(void *context, int32_t index), void *context);
  int32_t (*thread_count)(void *pool);
  void *pool;
} upd_pool;

/* Refused, before anything is written: a parameter with the wrong dtype, on another device than
 * the first or than the rule was compiled for (one for the emulator has code for the CPU, too),
 * that is not dense, is read-only, or overlaps another; with a rule that works on rows and columns
 * one whose last two dimensions are not row-major; a hyperparameter that is unknown, NaN, or breaks
 * a requirement of the rule (its message). `pool` may be null: the library's own, with
 * UPDRAFT_NUM_THREADS threads or one per CPU that the process may use. */
UPD_EXPORT upd_status upd_optimizer_create(upd_rule *rule, const upd_group *groups,
                                           size_t group_count, const upd_pool *pool,
                                           upd_optimizer **optimizer);
UPD_EXPORT void upd_optimizer_release(upd_optimizer *optimizer);

UPD_EXPORT size_t upd_optimizer_param_count(const upd_optimizer *optimizer);
UPD_EXPORT size_t upd_optimizer_group_count(const upd_optimizer *optimizer);

/* Applies one step to every parameter that has a gradient. grads[i] belongs to parameter i, counted
 * over all groups; a gradient with null data and rank -1 is absent: its parameter is left alone,
 * and gets no state; a parameter whose step the rule skips too. Gradients are read only. Refused
 * before anything is written: a wrong count, dtype, device, shape or layout; a gradient that
 * overlaps a parameter or a state. */
UPD_EXPORT upd_status upd_optimizer_step(upd_optimizer *optimizer, const upd_tensor *grads,
                                         size_t grad_count);

/* A gradient of some rows of a parameter, which are what its first dimension counts, or its first
 * `index_dims` dimensions together, in the order in which they lie in memory: if these dimensions
 * are row-major, row i * shape[1] + j is what [i, j] has. A scalar is one row. The values have the
 * shape [index_count, the other dimensions of the parameter], and its strides within a row; the row
 * that indices[i] names has row i of the values. Do not write to the indices until the step
 * returns: it checks them, and then reads them again. */
typedef struct upd_row_grad {
  size_t param;           /* counted over all groups */
  const int64_t *indices; /* of rows, each larger than the one before; null if there are none */
  size_t index_count;
  upd_tensor values;
  int32_t index_dims; /* 0 stands for 1 */
} upd_row_grad;

/* A step in which some gradients are of some rows: the other rows and their states are left alone,
 * and not looked at. The step count is the parameter's, and goes up by one even if no row is
 * listed; so is what the rule calls `first`. Time and memory traffic depend on the rows that are
 * listed, but for the first step, which makes states for all rows and fills those that do not start
 * as zeros. `grads` is as for upd_optimizer_step, absent for each parameter of `row_grads`; or null
 * with a count of 0, where there are no others.
 * Refused beside what upd_optimizer_step refuses: a parameter that has two gradients, or fewer than
 * `index_dims` dimensions, or whose rows are not apart in memory; indices that are not in range and
 * ascending; a rule that reduces over tensors, batches, columns or groups, has states over columns
 * or groups or in blocks, or draws random numbers, as UPD_BF16_STOCHASTIC does; the first step of a
 * parameter, if a state starts from what the step finds (`state start = param`).
 * On a GPU the indices are in its memory, and read when it runs the step: rows that are not in
 * range or not after the one before are left out there, not refused; of a row that is listed again
 * further on (5, 3, 5) two steps run at once, and it is left as one of them or parts of both.
 * Refused while a graph is captured. */
UPD_EXPORT upd_status upd_optimizer_step_rows(upd_optimizer *optimizer, const upd_tensor *grads,
                                              size_t grad_count, const upd_row_grad *row_grads,
                                              size_t row_grad_count);

/* The halves of upd_optimizer_step_rows, for a caller that steps several optimizers, all or none:
 * whatever is refused is refused by the first, which writes no parameter and no state; nothing that
 * the first has accepted is refused by the second. Parameters, states, gradients and indices
 * stay where they are, and as they are, until the second has returned; the arrays that list them
 * need not.
 * A step that is not applied needs no undoing: parameters without states keep the memory that was
 * made for them until they step. It is given up by preparing another or by a step, refused ones
 * too, by another stream, and by what sets or loads hyperparameters, states, step counts, seeds or
 * numbers.
 * upd_optimizer_apply is refused where no step is prepared. */
UPD_EXPORT upd_status upd_optimizer_prepare_rows(upd_optimizer *optimizer, const upd_tensor *grads,
                                                 size_t grad_count, const upd_row_grad *row_grads,
                                                 size_t row_grad_count);
UPD_EXPORT upd_status upd_optimizer_apply(upd_optimizer *optimizer);

/* Where what follows runs, on a GPU: a CUstream, as a cudaStream_t is; null, the default, is the
 * default stream. It has to outlive its use. Whoever changes it has what was given to the old one
 * done before what is given to the new one. Refused for parameters on the CPU. */
UPD_EXPORT upd_status upd_optimizer_set_stream(upd_optimizer *optimizer, void *stream);

/* A number, f32, where the parameters are: each step that finds it other than 0 changes nothing. A
 * GPU looks at it when it runs the step. It outlives its use. Null: steps are taken. */
UPD_EXPORT upd_status upd_optimizer_set_found_inf(upd_optimizer *optimizer,
                                                  const upd_tensor *found_inf);

/* Setting takes effect with the next step, and never compiles. */
UPD_EXPORT upd_status upd_optimizer_get_hyper(const upd_optimizer *optimizer, size_t group,
                                              const char *name, double *value);
UPD_EXPORT upd_status upd_optimizer_set_hyper(upd_optimizer *optimizer, size_t group,
                                              const char *name, double value);
/* Sets several of one group at once: all of them, or on an error none. The rule's requirements are
 * checked for the group as it is afterwards. */
UPD_EXPORT upd_status upd_optimizer_set_hypers(upd_optimizer *optimizer, size_t group,
                                               const upd_hyper *hypers, size_t hyper_count);

/* From now on, no hyperparameter is checked: not when it is set, not when a step reads it, and not
 * when a file is loaded. Steps compute with any value, NaN too. This is for callers that check
 * values themselves, for example once, when an optimizer is made. A static flag that follows from a
 * hyperparameter keeps the value that the rule was compiled for. */
UPD_EXPORT upd_status upd_optimizer_ignore_requirements(upd_optimizer *optimizer);

/* Has each step read a hyperparameter from a number where the parameters are: f32, f64, bf16 or
 * f16. On the CPU a step is refused for a value that the rule refuses; a GPU, which reads it when
 * it runs the step, takes any; there a state that starts from the hyperparameter starts from what
 * was set. Saving reads it too: the file has the value that the next step would read, which loading
 * then sets; refused for one that the rule refuses. upd_optimizer_get_hyper has what was set. It
 * outlives its use. Null, setting the hyperparameter, and loading: it is not read any more, and is
 * what was set or loaded. */
UPD_EXPORT upd_status upd_optimizer_read_hyper(upd_optimizer *optimizer, size_t group,
                                               const char *name, const upd_tensor *value);

/* The step count of a parameter: how many steps it has taken, from 0 to 2^53. After 2^53 steps, a
 * further step of the parameter is refused (UPD_INVALID_ARGUMENT). A GPU takes the step, and leaves
 * the count there. Asking a GPU waits for its stream. */
UPD_EXPORT upd_status upd_optimizer_get_step(const upd_optimizer *optimizer, size_t param,
                                             int64_t *step);
/* Those of all parameters, over all groups; `count` is how many there are. */
UPD_EXPORT upd_status upd_optimizer_get_steps(const upd_optimizer *optimizer, int64_t *steps,
                                              size_t count);
UPD_EXPORT upd_status upd_optimizer_set_step(upd_optimizer *optimizer, size_t param, int64_t step);

/* Has a parameter's step count in the caller's memory, on the GPU that the parameter is on: a
 * number, f32 or f64, which each step reads and counts up. Its value is the step count. It outlives
 * the optimizer, and is no other parameter's. Refused: parameters on the CPU; a count that is
 * read-only, overlaps a parameter or a state, or is no whole number. */
UPD_EXPORT upd_status upd_optimizer_bind_step(upd_optimizer *optimizer, size_t param,
                                              const upd_tensor *count);

/* The seed of a rule's random numbers, which also depend on the parameter, its step count and the
 * element. 0 until it is set. Files of rules that use it have it. */
UPD_EXPORT upd_status upd_optimizer_get_seed(const upd_optimizer *optimizer, uint64_t *seed);
UPD_EXPORT upd_status upd_optimizer_set_seed(upd_optimizer *optimizer, uint64_t seed);

/* The numbers that stand for the parameters in their random numbers, one for each; until set, their
 * indices over all groups. Optimizers that share a seed, and the parameters of a model, give other
 * numbers to other parameters this way. Not saved. Refused: another count than that of parameters.
 */
UPD_EXPORT upd_status upd_optimizer_set_param_numbers(upd_optimizer *optimizer,
                                                      const uint64_t *numbers, size_t count);

/* A view of a parameter's state, valid until the optimizer is released. A state over elements has
 * the parameter's shape and strides; one over rows [..., rows, 1]; one over columns
 * [..., 1, columns]; a scalar has rank 0, and one over a group is the same for all its parameters.
 * A state in blocks has uint8 codes in the parameter's shape; `STATE.scale` names their scales,
 * f32, of the shape [blocks], or [..., rows, blocks of a row] where the rule has a variant for
 * matrices. UPD_NOT_FOUND while the parameter has taken no step and no state was loaded, and for a
 * state that only matrices, or only vectors, have. */
UPD_EXPORT upd_status upd_optimizer_state(upd_optimizer *optimizer, size_t param, const char *state,
                                          upd_tensor *tensor);

/* The value that a state of a parameter starts from, with the hyperparameters of its group now,
 * before it is rounded to the state's type. 0 if it depends on the parameter, its gradient or the
 * step count, which are known only at the first step. */
UPD_EXPORT upd_status upd_optimizer_initial_value(const upd_optimizer *optimizer, size_t param,
                                                  const char *state, double *value);

/* Uses the caller's memory for a state instead of the optimizer's own: dtype, shape and layout must
 * fit, it must overlap nothing else, and outlive the optimizer. Its content is the state's value. A
 * parameter has all its states or none when it next steps; one over a group may be there or not. */
UPD_EXPORT upd_status upd_optimizer_bind_state(upd_optimizer *optimizer, size_t param,
                                               const char *state, const upd_tensor *tensor);

/* Writes or reads states and step counts as a safetensors file: `state/NAME/STATE`, and the step
 * count as the scalar `state/NAME/step` (f32 as torch has it up to 2^24, then i64). Of a state
 * in blocks, `STATE` are the codes (U8) and `STATE.scale` the scales. Hyperparameters are in the
 * file's metadata, and are restored. Loading is all or nothing, but for a GPU whose driver fails
 * while it overwrites states that are there: the error says so, and steps and saving are refused
 * until a load, of this file or another, succeeds. Saving is atomic: it replaces a file only when
 * the new one is complete and on the disk. After UPD_IO_ERROR, the old file is as it was. */
UPD_EXPORT upd_status upd_optimizer_save(upd_optimizer *optimizer, const char *path);
UPD_EXPORT upd_status upd_optimizer_load(upd_optimizer *optimizer, const char *path);

#ifdef __cplusplus
}
#endif
#endif
