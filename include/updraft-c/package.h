/*===- updraft-c/package.h - Rules that were compiled ahead of time ---------------*- C -*-===*
 * Loads a rule from a package, which `updraftc pack` writes: one file with machine code for several
 * targets and storage types. No compiler is needed. A package is immutable, and threads may share
 * it. Opening and loading write no files.
 *
 * Trust. A package is machine code, which can do anything that the program can. Digests detect
 * damage, not malice. Open only packages that you trust, or require a signature.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_PACKAGE_H
#define UPDRAFT_C_PACKAGE_H

#include "updraft-c/rule.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct upd_package upd_package;

typedef struct upd_package_options {
  size_t struct_size; /* sizeof(upd_package_options); see updraft-c/types.h */
  /* The text of a PEM file with a public Ed25519 key: a package without a valid signature by this
   * key is refused. This loads libsodium. Null: signatures are ignored. */
  const char *required_key;
  /* The name of a package in memory, for messages. Null: "<buffer>". */
  const char *name;
} upd_package_options;

/* Opens a package, and checks all of its bytes. `options` may be null. On an error `*package` is
 * null. The caller releases the package.
 *
 * UPD_NOT_FOUND: there is no such file. UPD_IO_ERROR: it can't be read. UPD_INVALID_ARGUMENT: it is
 * not a package, is truncated or damaged, or lacks the required signature. UPD_UNSUPPORTED: a newer
 * Updraft wrote it, or a signature is required and libsodium is not installed. */
UPD_EXPORT upd_status upd_package_open(const char *path, const upd_package_options *options,
                                       upd_package **package);

/* The same for a package in memory, which is copied. */
UPD_EXPORT upd_status upd_package_open_buffer(const void *data, size_t size,
                                              const upd_package_options *options,
                                              upd_package **package);

/* Releases a package. Null is allowed. Rules that were loaded from it keep what they need. */
UPD_EXPORT void upd_package_release(upd_package *package);

/* The description of the package as JSON: the rule, its options, targets, variants and their
 * interfaces, and the version of the compiler. Null for a null package; otherwise valid until the
 * package is released. */
UPD_EXPORT const char *upd_package_info(const upd_package *package);

/* The text of the rule's file (`index` 0) and of the files that it imports. Null for a null package
 * or an index out of range; otherwise valid until the package is released. */
UPD_EXPORT const char *upd_package_source(const upd_package *package, size_t index);

/* The variants, which differ in their storage types. The name is that of `updraftc pack --storage`:
 * "param=bf16,grad=bf16", or "" without storage types. 0 or null for a null package or an index out
 * of range. */
UPD_EXPORT size_t upd_package_variant_count(const upd_package *package);
UPD_EXPORT const char *upd_package_variant_name(const upd_package *package, size_t index);

/* Loads a variant, by default the first (`variant` null), for a target: this CPU (`target` null);
 * "cuda" or "cuda:1", that GPU of this machine; or a target that the package names, "x86-64-v3". Of
 * several targets that fit, the newest is loaded. On an error `*rule` is null. The caller releases
 * the rule; the last release of it and its optimizers unloads the code.
 *
 * UPD_NOT_FOUND: the package has no such variant or target. UPD_UNSUPPORTED: this machine can't run
 * what the package has; the message lists both. */
UPD_EXPORT upd_status upd_package_load(const upd_package *package, const char *variant,
                                       const char *target, upd_rule **rule);

/* Runs the sample of a variant with the code that upd_package_load would load for this CPU or for a
 * named CPU target, and compares every bit of the results, except those of NaNs.
 * UPD_INTERNAL_ERROR: they differ; the message says where. Else the errors of upd_package_load. */
UPD_EXPORT upd_status upd_package_verify(const upd_package *package, const char *variant,
                                         const char *target);

#ifdef __cplusplus
}
#endif
#endif
