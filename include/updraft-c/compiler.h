/*===- updraft-c/compiler.h - Compiling rules and looking at them -----------------*- C -*-===*
 * From a rule's text to a compiled rule. All functions may be called from any thread; a upd_rule is
 * immutable and may be shared between threads.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_COMPILER_H
#define UPDRAFT_C_COMPILER_H

#include "updraft-c/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled rule: one rule of a file, with its static flags and storage types settled. */
typedef struct upd_rule upd_rule;

/* "name" = "value": a static flag, or the default of a hyperparameter. */
typedef struct upd_setting {
  const char *name;
  const char *value; /* as written in the language: 1e-3, true, "grad" */
} upd_setting;

/* The storage type of `param`, `grad`, a state by its name, or of all states: "state". */
typedef struct upd_storage {
  const char *name;
  upd_dtype dtype;
} upd_storage;

/* A file that a generated source was made from. The text need not end with a null character. */
typedef struct upd_source_file {
  const char *path;
  const char *text;
  size_t length;
} upd_source_file;

/* The bytes [begin, end) of the source come from [origin_begin, origin_end) of a file, which is
 * given by its index. */
typedef struct upd_source_span {
  size_t begin;
  size_t end;
  size_t file;
  size_t origin_begin;
  size_t origin_end;
  /* 1: the place is a call of what the span directly within comes from, which messages note. */
  int is_call;
} upd_source_span;

/* Where the pieces of a generated source come from. Messages and locations show these places: of
 * the spans around what is meant, that of the innermost. The spans are in the order of their begin,
 * an outer one before those within it; none overlaps another in part. Decides nothing about the
 * compiled code. */
typedef struct upd_source_map {
  const upd_source_file *files; /* null if file_count is 0 */
  size_t file_count;
  const upd_source_span *spans; /* null if span_count is 0 */
  size_t span_count;
} upd_source_map;

typedef struct upd_compile_options {
  size_t struct_size;          /* sizeof(upd_compile_options); see updraft-c/types.h */
  const char *rule;            /* null: the file's only rule */
  const upd_setting *settings; /* null if setting_count is 0 */
  size_t setting_count;
  /* What is not named is f32; a state that is not named, and has no type in the rule, is stored
   * like the parameter. */
  const upd_storage *storage;
  size_t storage_count;
  const char *numerics;          /* null: "ieee"; or "torch", "fast" (docs/numerics.md) */
  const char *cache_dir;         /* null: the default; "": no cache on disk */
  const upd_source_map *origins; /* null: the source was written as it is */
  /* Those that the rule is needed for. Where it has a variant for matrices and another one for
   * vectors, only one is compiled, which takes less time, and its states are the rule's. */
  upd_tensors tensors;
  /* What steps run on. Null: this machine's CPU. "cuda" or "cuda:1": the GPU of that number, which
   * must be there. Or what updraftc calls --target, which need not: "nvptx:sm_90", "emulator". */
  const char *target;
} upd_compile_options;

/* Compiles a rule of `source`. `filename` names it in messages, and imports
 * are looked for beside it. `options` may be null. */
UPD_EXPORT upd_status upd_compile(const char *source, size_t length, const char *filename,
                                  const upd_compile_options *options, upd_rule **rule);

/* The same for a file. */
UPD_EXPORT upd_status upd_compile_file(const char *path, const upd_compile_options *options,
                                       upd_rule **rule);

/* Null is allowed. Optimizers that use the rule keep it alive. */
UPD_EXPORT void upd_rule_release(upd_rule *rule);

/* Where the machine code came from. */
typedef enum upd_origin { UPD_COMPILED = 0, UPD_FROM_MEMORY = 1, UPD_FROM_DISK = 2 } upd_origin;

UPD_EXPORT const char *upd_rule_name(const upd_rule *rule);
UPD_EXPORT upd_origin upd_rule_origin(const upd_rule *rule);
UPD_EXPORT upd_dtype upd_rule_param_dtype(const upd_rule *rule);
UPD_EXPORT upd_dtype upd_rule_grad_dtype(const upd_rule *rule);

/* What the runtime knows of the rule, as JSON (docs/architecture.md): its states, its passes and
 * what they read and write. Valid until the rule is released. */
UPD_EXPORT const char *upd_rule_interface(const upd_rule *rule);

/* Counted and indexed in the order of declaration, states that only matrices have behind the
 * others. An index out of range gives null or 0. */
UPD_EXPORT size_t upd_rule_hyper_count(const upd_rule *rule);
UPD_EXPORT const char *upd_rule_hyper_name(const upd_rule *rule, size_t index);
UPD_EXPORT double upd_rule_hyper_default(const upd_rule *rule, size_t index);
UPD_EXPORT size_t upd_rule_state_count(const upd_rule *rule);
UPD_EXPORT const char *upd_rule_state_name(const upd_rule *rule, size_t index);
UPD_EXPORT upd_dtype upd_rule_state_dtype(const upd_rule *rule, size_t index);

/* One stage of the rule as text: "ast", "updraft", "torch", "schedule"; of a CPU "loops", "llvm",
 * "asm"; of a GPU "gpu", "nvvm", "ptx"; or "explain", what a step costs. Compiles afresh. `*text`
 * is freed with upd_string_release. */
UPD_EXPORT upd_status upd_emit(const char *source, size_t length, const char *filename,
                               const upd_compile_options *options, const char *stage, char **text);
UPD_EXPORT void upd_string_release(char *text);

/* "updraft 0.1.0 (LLVM 22.1.8)". */
UPD_EXPORT const char *upd_version(void);

#ifdef __cplusplus
}
#endif
#endif
