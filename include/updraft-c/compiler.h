/*===- updraft-c/compiler.h - Compiling rules -------------------------------------*- C -*-===*
 * Compiles the text of a rule. Any thread may call these functions. They are in libupdraft, but not
 * in libupdraft-runtime.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_COMPILER_H
#define UPDRAFT_C_COMPILER_H

#include "updraft-c/rule.h"
#include "updraft-c/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

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
  /* "ieee", "torch" or "fast" (docs/numerics.md); null: "ieee", or as in the package */
  const char *numerics;
  const char *cache_dir;         /* the disk cache; null: the default folder; "": no disk cache */
  const upd_source_map *origins; /* null: the source was not generated */
  /* The tensors that the rule will step. If the rule has a variant for matrices and one for
   * vectors, UPD_VECTORS or UPD_MATRICES compiles only that one, in less time, and the upd_rule has
   * only its states. */
  upd_tensors tensors;
  /* Null: this machine's CPU. "cuda" or "cuda:1": that GPU of this machine. Or an architecture as
   * in `updraftc --target`, which this machine needn't have: "nvptx:sm_90". */
  const char *target;
  /* Probes beside those of the rule (docs/probes.md): "ratio = norm(new_param - param)", or the
   * name of a function whose parameters have names of the rule's values: "update_ratio". Null if
   * probe_count is 0. */
  const char *const *probes;
  size_t probe_count;
} upd_compile_options;

/* Compiles a rule of `source`, which has `length` bytes and need not end with a null character.
 * Messages call the source `filename` (null: "<rule>"), and imports are searched for in its folder.
 * `options` may be null. On an error `*rule` is null. The caller releases the rule.
 *
 * `source` may also be a package (updraft-c/package.h). Then the first variant with the given
 * storage types is loaded; types that aren't given may be any. Settings may change defaults of
 * hyperparameters. `rule`, `numerics`, static flags and probes must be those that the package was
 * made with; `tensors`, `cache_dir` and `origins` are ignored. UPD_NOT_FOUND: it has no such rule,
 * variant or target. UPD_UNSUPPORTED: it was made with other options. */
UPD_EXPORT upd_status upd_compile(const char *source, size_t length, const char *filename,
                                  const upd_compile_options *options, upd_rule **rule);

/* Compiles a rule of a file. */
UPD_EXPORT upd_status upd_compile_file(const char *path, const upd_compile_options *options,
                                       upd_rule **rule);

/* Sets `*text` to one stage of the compilation: "ast", "updraft", "torch" or "schedule"; for a CPU
 * "loops", "llvm" or "asm"; for a GPU "gpu", "nvvm" or "ptx"; or "explain", the cost of a step.
 * Compiles the rule again. Free `*text` with upd_string_release.
 * `source` may be a package; UPD_UNSUPPORTED if its rule has several files. */
UPD_EXPORT upd_status upd_emit(const char *source, size_t length, const char *filename,
                               const upd_compile_options *options, const char *stage, char **text);

/* Sets `*document` to a report as JSON (docs/report-format.md): what the compiler did to the rule,
 * stage by stage. `also_for`, if not null, is a GPU whose stages are added to those of a CPU:
 * "nvptx:sm_90". Compiles the rule again. Free `*document` with upd_string_release. `source` may be
 * a package, as in upd_emit. */
UPD_EXPORT upd_status upd_report(const char *source, size_t length, const char *filename,
                                 const upd_compile_options *options, const char *also_for,
                                 char **document);

/* The probes of one process as CSV (docs/probes.md): `length` bytes. `name` is for messages and for
 * the page. */
typedef struct upd_run_file {
  const char *name;
  const char *text;
  size_t length;
} upd_run_file;

/* Sets `*result` to a report with what a run reported, one file for each rank. `document` is a
 * document of upd_report or a page of upd_report_page. UPD_INVALID_ARGUMENT: a file isn't such a
 * table; the message has the place. Free `*result` with upd_string_release. */
UPD_EXPORT upd_status upd_report_add_run(const char *document, const upd_run_file *files,
                                         size_t file_count, char **result);

/* Sets `*page` to the page, in HTML, of a report. `other`, if not null, is a second report to
 * compare with. Each is a document of upd_report or a page of this function. Free `*page` with
 * upd_string_release. */
UPD_EXPORT upd_status upd_report_page(const char *document, const char *other, char **page);

/* The versions of the library and its compiler as text: "updraft 0.1.0 (LLVM 22.1.8)". */
UPD_EXPORT const char *upd_version(void);

#ifdef __cplusplus
}
#endif
#endif
