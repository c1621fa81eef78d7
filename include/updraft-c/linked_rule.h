/*===- updraft-c/linked_rule.h - Rules that are linked into the program -----------*- C -*-===*
 * Makes a rule from object files that are linked into the program, so that nothing is loaded at run
 * time. `updraftc --name` writes such an object file for one target, and `updraftc --emit=header`
 * the header that calls upd_rule_link for them.
 *===---------------------------------------------------------------------------------------===*/
#ifndef UPDRAFT_C_LINKED_RULE_H
#define UPDRAFT_C_LINKED_RULE_H

#include "updraft-c/rule.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The code of a rule for one target. It is the symbol NAME_TARGET of an object file, with `_`
 * for each character of the target that C doesn't allow: adamw_x86_64_v3. All of its pointers are
 * into that object file. */
typedef struct upd_linked_rule {
  size_t struct_size; /* as the compiler knew the struct */
  const char *target; /* a CPU, as in `updraftc --target`: "x86-64-v3" */
  const upd_descriptor *descriptor;
  /* The functions of updraft-c/kernel.h: R_initial and R_validate, then the prologues and sweeps of
   * each plan, in the order of the descriptor; then R_product and R_mirror if a plan has products;
   * then R_bf16_product if one is in bf16. */
  void (*const *functions)(void);
  size_t function_count;
} upd_linked_rule;

/* Makes a rule from the code of one rule for several targets, which must stay in memory for as long
 * as the rule and its optimizers exist. The newest target that this CPU runs is used. On an error
 * `*rule` is null. The caller releases the rule.
 *
 * UPD_UNSUPPORTED: this CPU runs none of the targets, and the message lists them; or a newer
 * Updraft compiled the code. */
UPD_EXPORT upd_status upd_rule_link(const upd_linked_rule *const *targets, size_t target_count,
                                    upd_rule **rule);

#ifdef __cplusplus
}
#endif
#endif
