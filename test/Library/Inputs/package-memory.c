/* Steps 1000 tensors of 64 f32 with the package in argv[1], and prints how much memory of the
 * process is in use besides tensors and states, in kB. */
#include <stdio.h>
#include <stdlib.h>

#include <updraft-c/optimizer.h>
#include <updraft-c/package.h>

enum { tensors = 1000, elements = 64 };

static float weights[tensors][elements], gradients[tensors][elements];

static long peak_kilobytes(void) {
  char line[128];
  long peak = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    sscanf(line, "VmHWM: %ld", &peak);
  if (status)
    fclose(status);
  return peak;
}

static void check(upd_status status) {
  if (status == UPD_OK)
    return;
  fprintf(stderr, "%s\n", upd_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  const int64_t shape[] = {elements};
  static upd_tensor params[tensors], grads[tensors];
  for (int i = 0; i < tensors; ++i) {
    for (int j = 0; j < elements; ++j)
      weights[i][j] = gradients[i][j] = 1;
    params[i] = (upd_tensor){weights[i], shape, NULL, 1, UPD_F32, UPD_CPU, 0, 0};
    grads[i] = (upd_tensor){gradients[i], shape, NULL, 1, UPD_F32, UPD_CPU, 0, 0};
  }
  const upd_group group = {params, NULL, tensors, NULL, 0};
  upd_package *package;
  upd_rule *rule;
  upd_optimizer *optimizer;
  check(upd_package_open(argv[1], NULL, &package));
  check(upd_package_load(package, NULL, NULL, &rule));
  check(upd_optimizer_create(rule, &group, 1, NULL, &optimizer));
  for (int step = 0; step < 3; ++step)
    check(upd_optimizer_step(optimizer, grads, tensors));
  /* Weights, gradients and two states. */
  printf("%ld kB\n", peak_kilobytes() - 4L * tensors * elements * (long)sizeof(float) / 1024);
  upd_optimizer_release(optimizer);
  upd_rule_release(rule);
  upd_package_release(package);
  return argc != 2;
}
