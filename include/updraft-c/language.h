/*===- updraft-c/language.h - What the language knows, and its style --------------*- C -*-===*
 * For those who make the text of rules. All functions may be called from any thread.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_LANGUAGE_H
#define UPDRAFT_C_LANGUAGE_H

#include "updraft-c/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that every rule knows, by name; one that takes different numbers of arguments is
 * there once for each. Null or 0 for an index out of range; names are valid forever. */
UPD_EXPORT size_t upd_function_count(void);
UPD_EXPORT const char *upd_function_name(size_t index);
UPD_EXPORT size_t upd_function_arity(size_t index);

/* The transforms that every chain knows, likewise. */
UPD_EXPORT size_t upd_transform_count(void);
UPD_EXPORT const char *upd_transform_name(size_t index);

/* The text of a rule file in the one style: the same words and comments in the same order.
 * `filename` names it in messages and may be null. `*formatted` is freed with
 * upd_string_release. */
UPD_EXPORT upd_status upd_format(const char *source, size_t length, const char *filename,
                                 char **formatted);

#ifdef __cplusplus
}
#endif
#endif
