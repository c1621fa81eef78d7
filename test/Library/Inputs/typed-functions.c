/* Uses every function of the header of `unscale |> clip_by_global_norm(1) |> AdamW` in C and C++.
 */
#include "scaled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(upd_status status) {
  if (status == UPD_OK)
    return;
  printf("error: %s\n", upd_last_error());
  exit(1);
}

/* A number on the CPU. */
static upd_tensor view(float *value) {
  upd_tensor tensor = {value, NULL, NULL, 0, UPD_F32, UPD_CPU, 0, 0};
  return tensor;
}

/* Two groups, with a name each and another learning rate. */
static upd_optimizer *create_groups(float *values) {
  static const char *const names[] = {"first", "second"};
  upd_tensor params[2];
  upd_hyper lists[2][SCALED_HYPER_COUNT];
  upd_group groups[2];
  for (int i = 0; i < 2; ++i) {
    scaled_hypers hypers = scaled_default_hypers();
    hypers.lr = 0.5 * (i + 1);
    hypers.weight_decay = 0;
    scaled_list_hypers(&hypers, lists[i]);
    params[i] = view(&values[i]);
    groups[i].params = &params[i];
    groups[i].names = &names[i];
    groups[i].param_count = 1;
    groups[i].hypers = lists[i];
    groups[i].hyper_count = SCALED_HYPER_COUNT;
  }
  upd_rule *rule;
  upd_optimizer *optimizer;
  require(scaled_link(&rule));
  require(upd_optimizer_create(rule, groups, 2, NULL, &optimizer));
  upd_rule_release(rule);
  return optimizer;
}

static void print_state(upd_optimizer *optimizer, const char *what) {
  int64_t steps;
  upd_tensor average;
  require(scaled_get_step(optimizer, 0, &steps));
  require(scaled_state_exp_avg(optimizer, 0, &average));
  printf("%s: %d steps, exp_avg %.4f\n", what, (int)steps, *(const float *)average.data);
}

int main(int argc, char **argv) {
  float values[2] = {4, 4}, slopes[2] = {8, 8}, found_inf = 0;
  const upd_tensor param = view(&values[0]), grad = view(&slopes[0]);
  upd_optimizer *optimizer;
  if (argc != 2)
    return 2;

  require(scaled_create(&param, 1, NULL, NULL, &optimizer));
  scaled_hypers hypers;
  require(scaled_get_hypers(optimizer, 0, &hypers));
  printf("defaults: max_norm %g, inv_scale %g, lr %g\n", hypers.max_norm, hypers.inv_scale,
         hypers.lr);
  hypers.inv_scale = 1.0 / 16;
  require(scaled_set_hypers(optimizer, 0, &hypers));
  require(scaled_step(optimizer, &grad, 1));
  print_state(optimizer, "unscaled");

  slopes[0] = INFINITY;
  require(scaled_step(optimizer, &grad, 1));
  print_state(optimizer, "infinite gradient");
  slopes[0] = 8;
  found_inf = 1;
  require(scaled_bind_found_inf(optimizer, &found_inf));
  require(scaled_step(optimizer, &grad, 1));
  print_state(optimizer, "found_inf");
  require(scaled_bind_found_inf(optimizer, NULL));
  require(scaled_step(optimizer, &grad, 1));
  print_state(optimizer, "not bound");

  hypers.lr = -1;
  if (scaled_set_hypers(optimizer, 0, &hypers) == UPD_INVALID_ARGUMENT)
    printf("%s\n", upd_last_error());
  require(scaled_get_hypers(optimizer, 0, &hypers));
  printf("lr %g\n", hypers.lr);

  /* Its states go to a file and to another optimizer. */
  require(upd_optimizer_save(optimizer, argv[1]));
  upd_optimizer_release(optimizer);
  require(scaled_create(&param, 1, &hypers, NULL, &optimizer));
  require(upd_optimizer_load(optimizer, argv[1]));
  print_state(optimizer, "loaded");
  upd_optimizer_release(optimizer);

  values[0] = 4;
  optimizer = create_groups(values);
  upd_tensor grads[2];
  for (int i = 0; i < 2; ++i)
    grads[i] = view(&slopes[i]);
  require(scaled_step(optimizer, grads, 2));
  printf("groups: %.3f %.3f\n", values[0], values[1]);
  upd_optimizer_release(optimizer);

  upd_tensor wrong = view(&values[0]);
  wrong.dtype = UPD_F64;
  optimizer = (upd_optimizer *)&wrong;
  if (scaled_create(&wrong, 1, NULL, NULL, &optimizer) != UPD_OK)
    printf("%s, %s\n", upd_last_error(), optimizer ? "kept" : "null");
  return 0;
}
