/*===- updraft-c/rule.h - Compiled rules ------------------------------------------*- C -*-===*
 * Describes a compiled rule, which comes from the compiler (updraft-c/compiler.h), from a package
 * (updraft-c/package.h) or from the program (updraft-c/linked_rule.h). Any thread may call these
 * functions. A upd_rule is immutable, and threads may share it.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_RULE_H
#define UPDRAFT_C_RULE_H

#include "updraft-c/descriptor.h"
#include "updraft-c/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled rule: one rule of a file, with fixed static flags and storage types. */
typedef struct upd_rule upd_rule;

/* The value of a hyperparameter. */
typedef struct upd_hyper {
  const char *name;
  double value;
} upd_hyper;

/* Releases a rule. Null is allowed. Optimizers that use the rule keep what they need. */
UPD_EXPORT void upd_rule_release(upd_rule *rule);

/* Where the machine code came from. */
typedef enum upd_origin UPD_INT32 {
  UPD_COMPILED = 0,
  UPD_FROM_MEMORY = 1, /* compiled before in this process */
  UPD_FROM_DISK = 2,   /* the disk cache */
  UPD_FROM_PACKAGE = 3,
  UPD_LINKED = 4 /* the program contains it */
} upd_origin;

/* The functions below return null, 0 or the first value of an enum for a null rule or an index out
 * of range. Strings are valid until the rule is released. */

UPD_EXPORT const char *upd_rule_name(const upd_rule *rule);
UPD_EXPORT upd_origin upd_rule_origin(const upd_rule *rule);

/* Element types of the parameter and gradient in memory. */
UPD_EXPORT upd_dtype upd_rule_param_dtype(const upd_rule *rule);
UPD_EXPORT upd_dtype upd_rule_grad_dtype(const upd_rule *rule);

/* The `device` of the tensors that the rule steps. For a target that exists only for tests, the
 * value isn't in upd_device. */
UPD_EXPORT upd_device upd_rule_device(const upd_rule *rule);

/* "host" for a CPU, or the GPU that the rule was compiled for, as in `updraftc --target`:
 * "nvptx:sm_90". */
UPD_EXPORT const char *upd_rule_target(const upd_rule *rule);

/* The type that the rule computes in: UPD_F32 or UPD_F64. */
UPD_EXPORT upd_dtype upd_rule_compute_dtype(const upd_rule *rule);

/* "ieee", "torch" or "fast". */
UPD_EXPORT const char *upd_rule_numerics(const upd_rule *rule);

/* UPD_EXTENT_ELEMENT if an element's update depends on the element alone; UPD_EXTENT_TENSOR if it
 * depends on other elements of the tensor or on their number; UPD_EXTENT_GROUP if it depends on
 * other tensors of the group. */
UPD_EXPORT upd_extent upd_rule_depends_on(const upd_rule *rule);

/* 1 if a state or a computation is over rows, columns, batches or square matrices, so that the
 * shape of a tensor matters and its elements must be in row-major order. */
UPD_EXPORT int32_t upd_rule_uses_rows(const upd_rule *rule);

/* The descriptor of the rule (updraft-c/descriptor.h). It has `*size` bytes, and its address is a
 * multiple of 8. `size` may be null. */
UPD_EXPORT const upd_descriptor *upd_rule_descriptor(const upd_rule *rule, size_t *size);

/* The descriptor as JSON, for people and other programs (docs/architecture.md). Null if there is no
 * memory for it. */
UPD_EXPORT const char *upd_rule_interface(const upd_rule *rule);

/* Static flags. The values are those that the rule was compiled for, written as in the language but
 * without quotes. */
UPD_EXPORT size_t upd_rule_static_count(const upd_rule *rule);
UPD_EXPORT const char *upd_rule_static_name(const upd_rule *rule, size_t index);
UPD_EXPORT const char *upd_rule_static_value(const upd_rule *rule, size_t index);

/* Hyperparameters and states, in the order of their declaration. States that only matrices have are
 * last. */
UPD_EXPORT size_t upd_rule_hyper_count(const upd_rule *rule);
UPD_EXPORT const char *upd_rule_hyper_name(const upd_rule *rule, size_t index);
UPD_EXPORT double upd_rule_hyper_default(const upd_rule *rule, size_t index);
/* 1 if a static flag is derived from the hyperparameter, so that some values need another compiled
 * rule. */
UPD_EXPORT int32_t upd_rule_hyper_decides_flag(const upd_rule *rule, size_t index);
UPD_EXPORT size_t upd_rule_state_count(const upd_rule *rule);
UPD_EXPORT const char *upd_rule_state_name(const upd_rule *rule, size_t index);
UPD_EXPORT upd_dtype upd_rule_state_dtype(const upd_rule *rule, size_t index);
UPD_EXPORT upd_extent upd_rule_state_extent(const upd_rule *rule, size_t index);
/* The class of tensors that have the state. */
UPD_EXPORT upd_tensors upd_rule_state_tensors(const upd_rule *rule, size_t index);

/* Probes: numbers that a step reports for each tensor (updraft-c/probes.h). In order: those of the
 * rule, then those of the compile options. A histogram has a number for each of its buckets. These
 * follow each other, and all have the name of the histogram. */
UPD_EXPORT size_t upd_rule_probe_count(const upd_rule *rule);
UPD_EXPORT const char *upd_rule_probe_name(const upd_rule *rule, size_t index);
/* The end of a bucket: its number counts the elements that are less than this, but not less than
 * the end of the bucket before it. The last bucket of a histogram ends at infinity, and includes
 * infinite elements. NaN is counted nowhere. Returns NaN for a probe that isn't a bucket. */
UPD_EXPORT double upd_rule_probe_end(const upd_rule *rule, size_t index);

/* Checks hyperparameters as upd_optimizer_create does for a group. Those that are not given have
 * their defaults. UPD_NOT_FOUND: an unknown name. UPD_INVALID_ARGUMENT: a value is NaN, breaks a
 * requirement of the rule (the message is the requirement's), or is given twice. */
UPD_EXPORT upd_status upd_rule_check_hypers(const upd_rule *rule, const upd_hyper *hypers,
                                            size_t hyper_count);

/* Frees a text that the library returned as a `char *`. Null is allowed. */
UPD_EXPORT void upd_string_release(char *text);

#ifdef __cplusplus
}
#endif
#endif
