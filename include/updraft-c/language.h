/*===- updraft-c/language.h - The names of the language, and its formatter --------*- C -*-===*
 * For programs that generate rules. Any thread may call these functions.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_LANGUAGE_H
#define UPDRAFT_C_LANGUAGE_H

#include "updraft-c/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions below return null or 0 for an index out of range. Names are never freed. */

/* The functions that every rule can call. A function that takes different numbers of arguments has
 * an entry for each number. */
UPD_EXPORT size_t upd_function_count(void);
UPD_EXPORT const char *upd_function_name(size_t index);
UPD_EXPORT size_t upd_function_arity(size_t index);

/* The transforms that every chain can contain. */
UPD_EXPORT size_t upd_transform_count(void);
UPD_EXPORT const char *upd_transform_name(size_t index);

/* The storage types that rules and upd_storage can name. */
UPD_EXPORT size_t upd_storage_type_count(void);
UPD_EXPORT const char *upd_storage_type_name(size_t index);

/* Formats the text of a rule file. Words and comments stay the same, in the same order. Messages
 * call the text `filename`, which may be null. Free `*formatted` with upd_string_release. */
UPD_EXPORT upd_status upd_format(const char *source, size_t length, const char *filename,
                                 char **formatted);

#ifdef __cplusplus
}
#endif
#endif
