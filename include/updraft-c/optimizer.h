/*===- updraft-c/optimizer.h - Applying a compiled rule to tensors ----------------*- C -*-===*
 * An optimizer applies one compiled rule to parameters in groups.
 *
 * Threads. One thread at a time may use an optimizer. Different optimizers are independent if their
 * tensors are.
 *
 * Devices. All tensors of an optimizer are on the device that the rule was compiled for: on the
 * CPU, or on one GPU.
 *
 * GPUs. Functions enqueue their work on the caller's stream (upd_optimizer_set_stream), and a step
 * doesn't wait for it. Gradients must stay valid and unchanged until the stream has run the step.
 * An error of the driver is returned by the call that encounters it, which may be a later call.
 *
 * CUDA graphs. Only steps can be captured. A function that would have to wait for the GPU returns
 * UPD_UNSUPPORTED during a capture. Replays of a captured step can be mixed with other steps for as
 * long as the optimizer exists. A replay uses the gradients, states, hyperparameters and seed of
 * its capture, except for hyperparameters that are bound (upd_optimizer_bind_hyper). Capture the
 * graph again after states were bound or loaded.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_OPTIMIZER_H
#define UPDRAFT_C_OPTIMIZER_H

#include "updraft-c/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct upd_optimizer upd_optimizer;

/* Parameters that share hyperparameters. */
typedef struct upd_group {
  const upd_tensor *params; /* the data must outlive the optimizer */
  const char *const *names; /* one per parameter, unique; null: "0", "1", … over all groups */
  size_t param_count;
  const upd_hyper *hypers; /* the others have the rule's defaults */
  size_t hyper_count;
} upd_group;

/* The caller's threads, which run steps. `run` calls task(context, i) once for each i in
 * [0, count), on any threads, and returns when all calls have returned. */
typedef struct upd_pool {
  void (*run)(void *pool, int32_t count, void (*task)(void *context, int32_t index), void *context);
  int32_t (*thread_count)(void *pool);
  void *pool;
} upd_pool;

/* Creates an optimizer. `pool` may be null: steps then use the library's threads,
 * UPDRAFT_NUM_THREADS of them or one for each CPU that the process may use. Otherwise the struct is
 * copied, and its threads must outlive the optimizer. On an error `*optimizer` is null. The caller
 * releases the optimizer.
 *
 * Errors: a parameter has a different dtype or device than the rule, is on a different device than
 * the first one, is not dense, is read-only, or overlaps another; its last two dimensions are not
 * row-major, and the rule works on rows and columns; a hyperparameter is refused
 * (upd_rule_check_hypers). */
UPD_EXPORT upd_status upd_optimizer_create(upd_rule *rule, const upd_group *groups,
                                           size_t group_count, const upd_pool *pool,
                                           upd_optimizer **optimizer);

/* Releases an optimizer. Null is allowed. Parameters keep their values. */
UPD_EXPORT void upd_optimizer_release(upd_optimizer *optimizer);

/* The number of parameters over all groups, and the number of groups. 0 for a null optimizer. */
UPD_EXPORT size_t upd_optimizer_param_count(const upd_optimizer *optimizer);
UPD_EXPORT size_t upd_optimizer_group_count(const upd_optimizer *optimizer);

/*===---------------------------------------------------------------------------------------===*
 * Steps
 *===---------------------------------------------------------------------------------------===*/

/* Applies one step to every parameter that has a gradient. grads[i] is the gradient of parameter i,
 * counted over all groups. Gradients are only read, and may overlap each other. If the rank of a
 * gradient is UPD_ABSENT, its parameter is not changed and gets no states; the same holds for a
 * parameter whose step the rule skips.
 *
 * Errors are returned before anything is written: the number of gradients is wrong; a gradient has
 * the wrong dtype, device, shape or layout, or overlaps a parameter or state. */
UPD_EXPORT upd_status upd_optimizer_step(upd_optimizer *optimizer, const upd_tensor *grads,
                                         size_t grad_count);

/* A gradient of some rows of a parameter. A row has one index into the first dimension of the
 * parameter, or into its first `index_dims` dimensions together, in memory order: if these are
 * row-major, [i, j] selects row i * shape[1] + j. A scalar has one row.
 *
 * `values` has the shape [index_count, remaining dimensions of the parameter], and the parameter's
 * strides within a row. Its row i is the gradient of row indices[i] of the parameter. Do not write
 * to the indices until the step returns, because the step first checks them and then reads them
 * again. */
typedef struct upd_row_grad {
  size_t param;           /* counted over all groups */
  const int64_t *indices; /* strictly ascending; null if index_count is 0 */
  size_t index_count;
  upd_tensor values;
  int32_t index_dims; /* 0 means 1 */
} upd_row_grad;

/* Applies one step in which some gradients cover only some rows. The other rows and their states
 * are neither changed nor read. The step count of the parameter rises by one even if no row is
 * listed. Time and memory traffic depend on the listed rows, except for a parameter's first step,
 * which allocates states for all rows and fills those that don't start as zeros. `grads` is as for
 * upd_optimizer_step, with an absent gradient for each parameter in `row_grads`; or there are none,
 * with a grad_count of 0.
 *
 * Errors in addition to those of upd_optimizer_step: a parameter has two gradients, has fewer than
 * `index_dims` dimensions, or has rows that are interleaved in memory; indices are out of range or
 * not ascending; the rule reduces over tensors, batches, columns or groups, has states over columns
 * or groups or in blocks, or draws random numbers, as the storage type bf16_stochastic does; the
 * first step computes the initial value of a state (`state start = param`), and this is the first
 * step.
 *
 * GPUs: the indices are in the GPU's memory, and the GPU reads them when it runs the step. It skips
 * rows that are out of range or not greater than the row before. Duplicate indices that pass this
 * test (5, 3, 5) are a data race: the row's result is unspecified. Returns UPD_UNSUPPORTED during a
 * capture. */
UPD_EXPORT upd_status upd_optimizer_step_rows(upd_optimizer *optimizer, const upd_tensor *grads,
                                              size_t grad_count, const upd_row_grad *row_grads,
                                              size_t row_grad_count);

/* upd_optimizer_step_rows in two halves, for callers that step either all of several optimizers or
 * none. upd_optimizer_prepare_rows returns all errors, and writes no parameter and no state. After
 * it succeeds, upd_optimizer_apply cannot fail. Parameters, states, gradients and indices must keep
 * their memory and values until it returns; the arrays that list them need not.
 *
 * A prepared step may be abandoned without a call. It is discarded by another step or preparation,
 * even one that fails, by a change of the stream, and by functions that set, bind or load
 * hyperparameters, states, step counts, seeds, parameter numbers or found_inf. Without a prepared
 * step, upd_optimizer_apply returns UPD_INVALID_ARGUMENT. */
UPD_EXPORT upd_status upd_optimizer_prepare_rows(upd_optimizer *optimizer, const upd_tensor *grads,
                                                 size_t grad_count, const upd_row_grad *row_grads,
                                                 size_t row_grad_count);
UPD_EXPORT upd_status upd_optimizer_apply(upd_optimizer *optimizer);

/* upd_optimizer_prepare_rows for callers whose gradients have the dtype, device, shape and strides
 * of their parameters, which are not checked here. grads[i] is the address of the first element of
 * the gradient of parameter i, or null if the gradient is absent. For a parameter without elements,
 * any non-null address means that the gradient exists. */
UPD_EXPORT upd_status upd_optimizer_prepare_addresses(upd_optimizer *optimizer,
                                                      const void *const *grads, size_t grad_count,
                                                      const upd_row_grad *row_grads,
                                                      size_t row_grad_count);

/* The largest number of parameters in one call of an observer. */
enum { UPD_OBSERVED_PARAMS = 16 };

/* upd_optimizer_apply_observed calls `stepped` for the parameters that it steps: those that have a
 * gradient and whose step the rule doesn't skip. Each parameter is in exactly one call, after its
 * gradient was read and the parameter was written. Several threads may call at the same time.
 * `stepped` must not use the optimizer. */
typedef struct upd_step_observer {
  void (*stepped)(void *context, const uint32_t *params, size_t count);
  void *context;
} upd_step_observer;

/* upd_optimizer_apply, with an observer that may be null. GPUs: the observer is not called, because
 * the host doesn't know which parameters the GPU steps. */
UPD_EXPORT upd_status upd_optimizer_apply_observed(upd_optimizer *optimizer,
                                                   const upd_step_observer *observer);

/* GPUs: sets the stream for all further work, a CUstream or cudaStream_t. Null, the default, is the
 * default stream. The stream must outlive its use. Before a change, make the work on the old stream
 * complete before the work on the new one. Returns an error for parameters on the CPU. */
UPD_EXPORT upd_status upd_optimizer_set_stream(upd_optimizer *optimizer, void *stream);

/* Makes each step read an f32 number in the memory of the parameters' device. If it isn't 0, the
 * step changes nothing. A GPU reads it when it runs the step. The memory must outlive the binding.
 * Null removes the binding. */
UPD_EXPORT upd_status upd_optimizer_bind_found_inf(upd_optimizer *optimizer,
                                                   const upd_tensor *found_inf);

/*===---------------------------------------------------------------------------------------===*
 * Hyperparameters, step counts and random numbers
 *===---------------------------------------------------------------------------------------===*/

/* Hyperparameters of a group. A new value takes effect in the next step, without a compilation. */
UPD_EXPORT upd_status upd_optimizer_get_hyper(const upd_optimizer *optimizer, size_t group,
                                              const char *name, double *value);
UPD_EXPORT upd_status upd_optimizer_set_hyper(upd_optimizer *optimizer, size_t group,
                                              const char *name, double value);
/* Sets several hyperparameters of a group. On an error, none is set. The rule's requirements are
 * checked for the final values. */
UPD_EXPORT upd_status upd_optimizer_set_hypers(upd_optimizer *optimizer, size_t group,
                                               const upd_hyper *hypers, size_t hyper_count);

/* Disables all checks of hyperparameters from now on: when they are set, when a step reads a bound
 * one, and when a file is loaded. Steps then compute with any value, even NaN. For callers that
 * check the values themselves (upd_rule_check_hypers). A static flag that is derived from a
 * hyperparameter keeps the value that the rule was compiled for. */
UPD_EXPORT upd_status upd_optimizer_ignore_requirements(upd_optimizer *optimizer);

/* Makes each step read a hyperparameter from memory of the parameters' device: one number of type
 * f32, f64, bf16 or f16. The memory must outlive the binding. Passing null, setting the
 * hyperparameter or loading a file removes the binding; the last set or loaded value applies again.
 *
 * On the CPU a step returns an error for a value that the rule refuses. A GPU reads the value when
 * it runs the step and doesn't check it. On a GPU, states that start from the hyperparameter start
 * from the last set value. upd_optimizer_get_hyper returns the last set value. upd_optimizer_save
 * writes the bound value as the next step would read it, and returns an error if the rule refuses
 * that. */
UPD_EXPORT upd_status upd_optimizer_bind_hyper(upd_optimizer *optimizer, size_t group,
                                               const char *name, const upd_tensor *value);

/* The step count of a parameter: the number of steps that it has taken, from 0 to 2^53. After 2^53
 * steps a further step returns UPD_INVALID_ARGUMENT; a GPU takes the step and keeps the count.
 * Getting a count on a GPU waits for the stream. */
UPD_EXPORT upd_status upd_optimizer_get_step(const upd_optimizer *optimizer, size_t param,
                                             int64_t *step);
/* The step counts of all parameters. `count` is the number of parameters. */
UPD_EXPORT upd_status upd_optimizer_get_steps(const upd_optimizer *optimizer, int64_t *steps,
                                              size_t count);
UPD_EXPORT upd_status upd_optimizer_set_step(upd_optimizer *optimizer, size_t param, int64_t step);

/* GPUs: keeps the step count of a parameter in the caller's memory on the same GPU, as one number
 * of type f32 or f64 that each step reads and increments. Its value becomes the step count. The
 * memory must outlive the optimizer, and serve one parameter only. Errors: the parameters are on
 * the CPU; the memory is read-only or overlaps a parameter or state; its count is not valid. */
UPD_EXPORT upd_status upd_optimizer_bind_step(upd_optimizer *optimizer, size_t param,
                                              const upd_tensor *count);

/* The seed of a rule's random numbers, 0 by default. They also depend on the parameter's number,
 * its step count and the element. If the rule draws random numbers, files contain the seed. */
UPD_EXPORT upd_status upd_optimizer_get_seed(const upd_optimizer *optimizer, uint64_t *seed);
UPD_EXPORT upd_status upd_optimizer_set_seed(upd_optimizer *optimizer, uint64_t seed);

/* Sets the number that identifies each parameter in its random numbers. By default it is the index
 * over all groups. Optimizers that share a seed and the parameters of one model need different
 * numbers. Files don't contain them. `count` is the number of parameters. */
UPD_EXPORT upd_status upd_optimizer_set_param_numbers(upd_optimizer *optimizer,
                                                      const uint64_t *numbers, size_t count);

/*===---------------------------------------------------------------------------------------===*
 * States
 *===---------------------------------------------------------------------------------------===*/

/* A view of a state of a parameter. The view, with its shape and strides, is valid until the
 * optimizer is released; updraft-c/dlpack.h has an export that outlives the optimizer.
 *
 * A state over elements has the parameter's shape and strides. One over rows has the shape
 * [..., rows, 1], and one over columns [..., 1, columns]. One of square matrices has the shape
 * [..., rows, rows] or [..., columns, columns], even if the parameter is empty. One over a
 * tensor or group has rank 0, and all parameters of a group share the latter. A state in blocks has
 * codes in the parameter's shape. `STATE.scale` is a view of its scales: f32, of the shape
 * [blocks], or
 * [..., rows, blocks of a row] if the rule has a variant for matrices.
 *
 * UPD_NOT_FOUND: the parameter has taken no step and no state was loaded; or the state is only for
 * matrices, or only for vectors, and the parameter is not. */
UPD_EXPORT upd_status upd_optimizer_state(upd_optimizer *optimizer, size_t param, const char *state,
                                          upd_tensor *tensor);

/* The initial value of a state with the current hyperparameters of the parameter's group, before it
 * is rounded to the state's type. 0 if it depends on the parameter, its gradient or the step count,
 * which only the first step knows. */
UPD_EXPORT upd_status upd_optimizer_initial_value(const upd_optimizer *optimizer, size_t param,
                                                  const char *state, double *value);

/* Uses the caller's memory for a state, and its content as the state's value. The dtype, shape and
 * layout must be those of the state (upd_optimizer_state). The memory must overlap nothing else,
 * and outlive the optimizer. When a parameter next steps, it must have all of its states or none; a
 * state over a group may be missing. */
UPD_EXPORT upd_status upd_optimizer_bind_state(upd_optimizer *optimizer, size_t param,
                                               const char *state, const upd_tensor *tensor);

/* Writes states and step counts to a safetensors file, or reads them: `state/NAME/STATE`, and the
 * step count as the scalar `state/NAME/step` (f32 up to 2^24 as in torch, then i64). For a state
 * in blocks, `STATE` is the codes (U8) and `STATE.scale` the scales. The file's metadata contains
 * the hyperparameters, and loading restores them. It also names the format of codes: without that,
 * loading refuses a file that has codes. Saving refuses a parameter with some of its states bound.
 *
 * Saving is atomic: it replaces an existing file once the new one is complete and on the disk.
 * After UPD_IO_ERROR the old file is unchanged.
 *
 * Loading changes everything or nothing, with one exception: the driver of a GPU may fail while
 * existing states are overwritten. The error says so, and steps and saving return errors until a
 * load of any file succeeds. */
UPD_EXPORT upd_status upd_optimizer_save(upd_optimizer *optimizer, const char *path);
UPD_EXPORT upd_status upd_optimizer_load(upd_optimizer *optimizer, const char *path);

#ifdef __cplusplus
}
#endif
#endif
