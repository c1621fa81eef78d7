/*===- updraft-c/package_format.h - The bytes of a package ------------------------*- C -*-===*
 * A package is one file with the machine code of one rule for several targets, in one or more
 * variants (storage types). updraft-c/package.h has the functions that open one; this header is for
 * readers and writers of the bytes.
 *
 * A package is a upd_package_header, then its upd_package_section records, then the contents of the
 * sections, in the order of their records. Integers are little-endian. Offsets are in bytes from
 * the start of the file. A section starts at a multiple of 8, and code at a multiple of
 * UPD_PACKAGE_PAGE. The bytes between sections are 0. The file ends with the last section.
 *
 * Digests. The digest of a section is the SHA-256 of its content. The digest in the header is the
 * SHA-256 of the header, with this digest as zeros, and the records of the sections. It therefore
 * covers every byte of the file but the padding, which a reader compares with 0.
 *
 * Versions. `breaks` is raised by a change that older readers would misunderstand; a reader refuses
 * other values. `extends` is raised by other changes: a new kind of section, which older readers
 * skip unless it has the flag UPD_PACKAGE_REQUIRED; a new member at the end of a record, which
 * raises the `stride` of its table; and a new import or architecture, which only the images that
 * use it need. The descriptor of an image has its own version (updraft-c/descriptor.h).
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_PACKAGE_FORMAT_H
#define UPDRAFT_C_PACKAGE_FORMAT_H

#include "updraft-c/descriptor.h"
#include "updraft-c/types.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPD_PACKAGE_MAGIC "UPDPACK" /* with its null character: 8 bytes */
#define UPD_PACKAGE_BREAKS 1
#define UPD_PACKAGE_EXTENDS 0

enum {
  UPD_PACKAGE_PAGE = 4096,         /* the alignment of code, in bytes */
  UPD_PACKAGE_MAX_SECTIONS = 4096, /* a reader refuses more */
  UPD_DIGEST_BYTES = 32
};

typedef struct upd_package_header {
  char magic[8];
  uint16_t breaks;
  uint16_t extends;
  uint32_t section_count;
  uint64_t size; /* of the file, in bytes */
  uint8_t digest[UPD_DIGEST_BYTES];
} upd_package_header;

typedef enum upd_package_kind UPD_INT32 {
  /* JSON in UTF-8, for people: the rule, its options, the interface of each variant and the names
   * of the sources. A reader needs none of it to run the rule. */
  UPD_PACKAGE_INFO = 0,
  UPD_PACKAGE_SOURCE = 1,     /* the text of a rule file: the rule's own, then its imports */
  UPD_PACKAGE_TEXT = 2,       /* bytes of names, UTF-8 */
  UPD_PACKAGE_VARIANTS = 3,   /* a table of upd_package_variant */
  UPD_PACKAGE_IMAGES = 4,     /* a table of upd_package_image */
  UPD_PACKAGE_FUNCTIONS = 5,  /* a table of upd_package_function */
  UPD_PACKAGE_IMPORTS = 6,    /* a table of upd_package_import */
  UPD_PACKAGE_DESCRIPTOR = 7, /* a upd_descriptor */
  UPD_PACKAGE_CODE = 8,       /* machine code of a CPU */
  UPD_PACKAGE_PTX = 9,        /* kernels of a GPU, with a null character at the end */
  UPD_PACKAGE_SAMPLE = 10,    /* a safetensors file; see upd_package_variant */
  UPD_PACKAGE_SIGNATURE = 11  /* a upd_package_signature; the last section */
} upd_package_kind;

enum { UPD_PACKAGE_REQUIRED = 1 };

typedef struct upd_package_section {
  upd_package_kind kind;
  uint32_t flags;
  uint64_t offset;
  uint64_t size;   /* in bytes */
  uint32_t stride; /* of a table: bytes from one record to the next; else 0 */
  uint32_t unused; /* 0 */
  uint8_t digest[UPD_DIGEST_BYTES];
} upd_package_section;

/* A choice of storage types. The first one is the default.
 *
 * The sample has inputs and the results that the rule must compute from them, bit for bit but for
 * the sign and payload of NaNs, with all hyperparameters at their defaults: `param/P`, the value of
 * parameter P before the first step; `grad/P/S`, its gradient in step S, from 1 on; and after the
 * last step `expected/param/P` and `expected/state/P/STATE`. All parameters are in one group. */
typedef struct upd_package_variant {
  upd_text name;   /* as in `--storage`: "param=bf16,grad=bf16"; "" without storage types */
  uint32_t sample; /* the number of the section */
  uint32_t unused; /* 0 */
} upd_package_variant;

typedef enum upd_architecture UPD_INT32 {
  UPD_X86_64 = 0,  /* `level` is that of x86-64: 2, 3 or 4; 5 is 4 with AVX512-BF16 on AMD */
  UPD_AARCH64 = 1, /* `level` is the length of SVE vectors in bits, or 0 without SVE; plus 65536
                      with FEAT_BF16 */
  UPD_NVPTX = 2    /* `level` is the compute capability, 90 for sm_90 */
} upd_architecture;

/* A variant's code for one target. */
typedef struct upd_package_image {
  uint32_t variant;
  upd_text target; /* as in `updraftc --target` */
  upd_architecture architecture;
  uint32_t level;
  uint32_t descriptor; /* the number of the section */
  uint32_t code;       /* the number of the section: machine code, or PTX */
  /* The part of the code that is executable, a multiple of UPD_PACKAGE_PAGE. The rest is read-only
   * data. 0 for PTX. The code works at any address that is a multiple of UPD_PACKAGE_PAGE. */
  uint32_t executable;
  upd_slice functions; /* R_initial, R_validate, then the prologues and sweeps of each plan in the
                          order of its stages (updraft-c/kernel.h), then R_product and R_mirror if a
                          plan has products, then R_bf16_product if one is in bf16. None for PTX,
                          which uses R_initial and R_validate of an image for a CPU. */
  upd_slice imports;
} upd_package_image;

typedef struct upd_package_function {
  uint32_t offset; /* in the code */
} upd_package_function;

/* The loader writes the address of a function, 8 bytes, to the read-only data before it protects
 * it. `function` is the position in updraft-c/imports.def. */
typedef struct upd_package_import {
  uint32_t offset; /* in the code: a multiple of 8 */
  uint32_t function;
} upd_package_import;

/* The Ed25519 signature of the text "updraft package signature", without a null character, and a
 * SHA-256 digest: that of the header up to `section_count`, and of the records of all other
 * sections. */
typedef struct upd_package_signature {
  uint8_t public_key[32];
  uint8_t signature[64];
} upd_package_signature;

#ifdef __cplusplus
}
#endif
#endif
