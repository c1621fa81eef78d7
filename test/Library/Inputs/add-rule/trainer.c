/* Prints a parameter that was 1 after a step with the gradient 1. */
#include "descent.h"

#include <stdio.h>

int main(void) {
  float value = 1, gradient = 1;
  const upd_tensor param = {&value, NULL, NULL, 0, UPD_F32, UPD_CPU, 0, 0};
  const upd_tensor grad = {&gradient, NULL, NULL, 0, UPD_F32, UPD_CPU, 0, 0};
  upd_optimizer *optimizer;
  if (descent_create(&param, 1, NULL, NULL, &optimizer) != UPD_OK ||
      descent_step(optimizer, &grad, 1) != UPD_OK) {
    fprintf(stderr, "%s\n", upd_last_error());
    return 1;
  }
  printf("%g\n", value);
  upd_optimizer_release(optimizer);
  return 0;
}
