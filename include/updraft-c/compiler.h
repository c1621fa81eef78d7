/*===- updraft-c/compiler.h - Compiling rules and inspecting them -----------------*- C -*-===*
 * Compiles the text of a rule, and describes the compiled rule. Any thread may call these
 * functions. A upd_rule is immutable, and threads may share it.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_COMPILER_H
#define UPDRAFT_C_COMPILER_H

#include "updraft-c/descriptor.h"
#include "updraft-c/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled rule: one rule of a file, with fixed static flags and storage types. */
typedef struct upd_rule upd_rule;

/* A static flag, or the default of a hyperparameter. */
typedef struct upd_setting {
  const char *name;
  const char *value; /* as written in the language: "1e-3", "true", "\"grad\"" */
} upd_setting;

/* The storage type of the parameter, the gradient or a state. `name` is "param", "grad", the name
 * of a state, or "state" for all states. `type` is written as in the language: "f32",
 * "bf16_stochastic", "q8_linear" (upd_storage_type_name lists the types).
 *
 * "bf16_stochastic" and "bf16_corrected" apply to the parameter and to states of its shape, and
 * their memory is UPD_BF16. "bf16_corrected" adds a state NAME_correction of UPD_I8
 * (docs/numerics.md), which is `param_correction` for the parameter. */
typedef struct upd_storage {
  const char *name;
  const char *type;
} upd_storage;

/* The value of a hyperparameter. */
typedef struct upd_hyper {
  const char *name;
  double value;
} upd_hyper;

/* A file that a generated source was made from. */
typedef struct upd_source_file {
  const char *path;
  const char *text; /* `length` bytes; need not end with a null character */
  size_t length;
} upd_source_file;

/* The bytes [begin, end) of the source come from the bytes [origin_begin, origin_end) of the file
 * with the index `file`. */
typedef struct upd_source_span {
  size_t begin;
  size_t end;
  size_t file;
  size_t origin_begin;
  size_t origin_end;
  int is_call; /* 1: the origin is a call of the function that the next inner span comes from */
} upd_source_span;

/* The origins of the parts of a generated source. Errors and locations show the origin of the
 * innermost span around a place. Spans are sorted by `begin`, with an outer span before those
 * inside it. Two spans are either nested or disjoint. The map doesn't affect the compiled code. */
typedef struct upd_source_map {
  const upd_source_file *files; /* null if file_count is 0 */
  size_t file_count;
  const upd_source_span *spans; /* null if span_count is 0 */
  size_t span_count;
} upd_source_map;

typedef struct upd_compile_options {
  size_t struct_size;          /* sizeof(upd_compile_options); see updraft-c/types.h */
  const char *rule;            /* which rule of the file, or a chain; null: the file's only rule */
  const upd_setting *settings; /* null if setting_count is 0 */
  size_t setting_count;
  /* Null if storage_count is 0. The default of the parameter and gradient is "f32"; the default of
   * a state is the type in the rule's text or, without one, the parameter's. */
  const upd_storage *storage;
  size_t storage_count;
  const char *numerics;          /* "ieee", "torch" or "fast" (docs/numerics.md); null: "ieee" */
  const char *cache_dir;         /* the disk cache; null: the default folder; "": no disk cache */
  const upd_source_map *origins; /* null: the source was not generated */
  /* The tensors that the rule will step. If the rule has a variant for matrices and one for
   * vectors, UPD_VECTORS or UPD_MATRICES compiles only that one, in less time, and the upd_rule has
   * only its states. */
  upd_tensors tensors;
  /* Null: this machine's CPU. "cuda" or "cuda:1": that GPU of this machine. Or an architecture as
   * in `updraftc --target`, which this machine needn't have: "nvptx:sm_90". */
  const char *target;
} upd_compile_options;

/* Compiles a rule of `source`, which has `length` bytes and need not end with a null character.
 * Messages call the source `filename` (null: "<rule>"), and imports are searched for in its folder.
 * `options` may be null. On an error `*rule` is null. The caller releases the rule. */
UPD_EXPORT upd_status upd_compile(const char *source, size_t length, const char *filename,
                                  const upd_compile_options *options, upd_rule **rule);

/* Compiles a rule of a file. */
UPD_EXPORT upd_status upd_compile_file(const char *path, const upd_compile_options *options,
                                       upd_rule **rule);

/* Releases a rule. Null is allowed. Optimizers that use the rule keep what they need. */
UPD_EXPORT void upd_rule_release(upd_rule *rule);

/* Where the machine code came from. */
typedef enum upd_origin UPD_INT32 {
  UPD_COMPILED = 0,
  UPD_FROM_MEMORY = 1,
  UPD_FROM_DISK = 2
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

/* "host", or the GPU that the rule was compiled for, as in `updraftc --target`: "nvptx:sm_90". */
UPD_EXPORT const char *upd_rule_target(const upd_rule *rule);

/* The type that the rule computes in: UPD_F32 or UPD_F64. */
UPD_EXPORT upd_dtype upd_rule_compute_dtype(const upd_rule *rule);

/* "ieee", "torch" or "fast". */
UPD_EXPORT const char *upd_rule_numerics(const upd_rule *rule);

/* UPD_EXTENT_ELEMENT if an element's update depends on the element alone; UPD_EXTENT_TENSOR if it
 * depends on other elements of the tensor or on their number; UPD_EXTENT_GROUP if it depends on
 * other tensors of the group. */
UPD_EXPORT upd_extent upd_rule_depends_on(const upd_rule *rule);

/* 1 if a state or a computation is over rows, columns or batches, so that the shape of a tensor
 * matters and its elements must be in row-major order. */
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

/* Checks hyperparameters as upd_optimizer_create does for a group. Those that are not given have
 * their defaults. UPD_NOT_FOUND: an unknown name. UPD_INVALID_ARGUMENT: a value is NaN, breaks a
 * requirement of the rule (the message is the requirement's), or is given twice. */
UPD_EXPORT upd_status upd_rule_check_hypers(const upd_rule *rule, const upd_hyper *hypers,
                                            size_t hyper_count);

/* Sets `*text` to one stage of the compilation: "ast", "updraft", "torch" or "schedule"; for a CPU
 * "loops", "llvm" or "asm"; for a GPU "gpu", "nvvm" or "ptx"; or "explain", the cost of a step.
 * Compiles the rule again. Free `*text` with upd_string_release. */
UPD_EXPORT upd_status upd_emit(const char *source, size_t length, const char *filename,
                               const upd_compile_options *options, const char *stage, char **text);

/* Frees a text that the library returned as a `char *`. Null is allowed. */
UPD_EXPORT void upd_string_release(char *text);

/* The versions of the library and its compiler as text: "updraft 0.1.0 (LLVM 22.1.8)". */
UPD_EXPORT const char *upd_version(void);

#ifdef __cplusplus
}
#endif
#endif
