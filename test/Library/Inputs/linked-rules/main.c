/* Compares the steps of linked rules with those of the same rules compiled in the process: all bits
 * of the parameters and states must be the same, for every target that the machine runs. */
#include "rules.h"

#include <updraft-c/compiler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 23, VECTOR = 151, STEPS = 3 };

static int64_t shapes[2][2] = {{ROWS, COLUMNS}, {VECTOR, 0}};
static const size_t sizes[2] = {ROWS * COLUMNS, VECTOR};

typedef struct side {
  upd_rule *rule;
  upd_optimizer *optimizer;
  char params[2][VECTOR * 8];
} side;

static void require(upd_status status, const char *what) {
  if (status == UPD_OK)
    return;
  printf("%s: %s\n", what, upd_last_error());
  exit(1);
}

static upd_tensor view(void *data, int index, upd_dtype dtype) {
  upd_tensor tensor = {data, shapes[index], NULL, 2 - index, dtype, UPD_CPU, 0, 0};
  return tensor;
}

static size_t bytes_of(upd_dtype dtype) {
  return dtype == UPD_F64                        ? 8
         : dtype == UPD_F32                      ? 4
         : dtype == UPD_BF16 || dtype == UPD_F16 ? 2
                                                 : 1;
}

/* Numbers of both signs that every type represents. */
static void fill(void *data, size_t count, upd_dtype dtype, uint32_t *state) {
  for (size_t i = 0; i < count; ++i) {
    *state = *state * 1664525u + 1013904223u;
    const float value = (float)((int32_t)(*state >> 24) - 128) / 64;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t upper = (uint16_t)(bits >> 16);
    if (dtype == UPD_F32)
      memcpy((char *)data + 4 * i, &value, 4);
    else
      memcpy((char *)data + 2 * i, &upper, 2);
  }
}

static void create(side *side, const char *name) {
  uint32_t random = 1;
  upd_tensor params[2];
  for (int i = 0; i < 2; ++i) {
    fill(side->params[i], sizes[i], upd_rule_param_dtype(side->rule), &random);
    params[i] = view(side->params[i], i, upd_rule_param_dtype(side->rule));
  }
  upd_group group = {params, NULL, 2, NULL, 0};
  require(upd_optimizer_create(side->rule, &group, 1, NULL, &side->optimizer), name);
}

static void step(side *side, uint32_t random, const char *name) {
  static char grads[2][VECTOR * 8];
  upd_tensor views[2];
  for (int i = 0; i < 2; ++i) {
    fill(grads[i], sizes[i], upd_rule_grad_dtype(side->rule), &random);
    views[i] = view(grads[i], i, upd_rule_grad_dtype(side->rule));
  }
  require(upd_optimizer_step(side->optimizer, views, 2), name);
}

static int same(const side *a, const side *b, int index) {
  if (memcmp(a->params[index], b->params[index],
             sizes[index] * bytes_of(upd_rule_param_dtype(a->rule))))
    return 0;
  for (size_t i = 0; i < upd_rule_state_count(a->rule); ++i) {
    upd_tensor first, second;
    const char *state = upd_rule_state_name(a->rule, i);
    const upd_status status = upd_optimizer_state(a->optimizer, (size_t)index, state, &first);
    if (status != upd_optimizer_state(b->optimizer, (size_t)index, state, &second))
      return 0;
    if (status != UPD_OK)
      continue;
    size_t bytes = bytes_of(first.dtype);
    for (int32_t d = 0; d < first.rank; ++d)
      bytes *= (size_t)first.shape[d];
    if (first.dtype != second.dtype || memcmp(first.data, second.data, bytes))
      return 0;
  }
  return 1;
}

static void release(side *side) {
  upd_optimizer_release(side->optimizer);
  upd_rule_release(side->rule);
}

/* "name=value", split at the sign. Both parts are empty without one. */
static void split(const char *text, char *name, const char **value) {
  const char *sign = strchr(text, '=');
  *value = sign ? sign + 1 : "";
  name[0] = 0;
  if (sign)
    strncat(name, text, (size_t)(sign - text));
}

static int compare(const char *name, upd_status (*link)(upd_rule **), const char *file,
                   const char *rule, const char *storage, const char *setting) {
  char stored[64], set[64];
  upd_storage type;
  upd_setting flag;
  split(storage, stored, &type.type);
  split(setting, set, &flag.value);
  type.name = stored;
  flag.name = set;
  upd_compile_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.rule = rule[0] ? rule : NULL;
  options.storage = &type;
  options.storage_count = stored[0] != 0;
  options.settings = &flag;
  options.setting_count = set[0] != 0;
  side linked, compiled;
  require(link(&linked.rule), name);
  require(upd_compile_file(file, &options, &compiled.rule), name);
  create(&linked, name);
  create(&compiled, name);
  for (uint32_t i = 1; i <= STEPS; ++i) {
    step(&linked, i, name);
    step(&compiled, i, name);
  }
  const int is_same = same(&linked, &compiled, 0) && same(&linked, &compiled, 1);
  printf("%s: %s\n", name, is_same ? "the same bits" : "OTHER BITS");
  release(&linked);
  release(&compiled);
  return is_same ? 0 : 1;
}

int main(void) {
  int failures = 0;
#define CASE(NAME, FILE, RULE, STORAGE, SETTING)                                                   \
  failures += compare(#NAME, NAME##_link, FILE, RULE, STORAGE, SETTING);
#include "cases.inc"
  return failures != 0;
}
