/* Logistic regression on generated points: a linear model learns on which side of a hidden plane a
 * point is. The update rule is momentum.upd, which updraft_add_rule links into this program. */
#include "momentum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 2000, FEATURES = 16, STEPS = 100, WARMUP = 10 };

typedef struct model {
  float weights[FEATURES];
  float bias;
} model;

static float points[POINTS][FEATURES];
static float labels[POINTS]; /* 0 or 1 */

/* Returns a number from -1 to 1. */
static float random_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(int32_t)state / 2147483648.0f;
}

static void generate_points(void) {
  float plane[FEATURES];
  for (int f = 0; f < FEATURES; ++f)
    plane[f] = random_number();
  for (int p = 0; p < POINTS; ++p) {
    float side = 0.2f;
    for (int f = 0; f < FEATURES; ++f) {
      points[p][f] = random_number();
      side += plane[f] * points[p][f];
    }
    labels[p] = side > 0 ? 1.0f : 0.0f;
  }
}

/* Returns the mean loss, and writes its gradient. */
static float loss_of(const model *m, model *gradient) {
  float loss = 0;
  memset(gradient, 0, sizeof *gradient);
  for (int p = 0; p < POINTS; ++p) {
    float score = m->bias;
    for (int f = 0; f < FEATURES; ++f)
      score += m->weights[f] * points[p][f];
    loss += log1pf(expf(-fabsf(score))) + fmaxf(score, 0) - labels[p] * score;
    const float error = (1 / (1 + expf(-score)) - labels[p]) / POINTS;
    for (int f = 0; f < FEATURES; ++f)
      gradient->weights[f] += error * points[p][f];
    gradient->bias += error;
  }
  return loss / POINTS;
}

/* Describes the memory of a model: one vector and one number. */
static void view(model *m, upd_tensor tensors[2]) {
  static const int64_t shape[] = {FEATURES};
  const upd_tensor weights = {m->weights, shape, NULL, 1, UPD_F32, UPD_CPU, 0, 0};
  const upd_tensor bias = {&m->bias, NULL, NULL, 0, UPD_F32, UPD_CPU, 0, 0};
  tensors[0] = weights;
  tensors[1] = bias;
}

static int fail(void) {
  fprintf(stderr, "%s\n", upd_last_error());
  return 1;
}

int main(void) {
  static model parameters, gradient;
  upd_tensor params[2], grads[2];
  view(&parameters, params);
  view(&gradient, grads);
  generate_points();

  momentum_hypers hypers = momentum_default_hypers();
  const double lr = 4 * hypers.lr;
  upd_optimizer *optimizer;
  if (momentum_create(params, 2, &hypers, NULL, &optimizer) != UPD_OK)
    return fail();
  for (int step = 0; step < STEPS; ++step) {
    const float loss = loss_of(&parameters, &gradient);
    if (step % 20 == 0)
      printf("step %3d  loss %.4f\n", step, loss);
    hypers.lr = step < WARMUP ? lr * (step + 1) / WARMUP : lr;
    if (momentum_set_hypers(optimizer, 0, &hypers) != UPD_OK ||
        momentum_step(optimizer, grads, 2) != UPD_OK)
      return fail();
  }
  printf("step %3d  loss %.4f\n", STEPS, loss_of(&parameters, &gradient));

  upd_tensor velocity;
  int64_t steps;
  if (momentum_state_velocity(optimizer, 1, &velocity) != UPD_OK ||
      momentum_get_step(optimizer, 1, &steps) != UPD_OK)
    return fail();
  printf("velocity of the bias after %d steps: %.4f\n", (int)steps, *(float *)velocity.data);
  upd_optimizer_release(optimizer);
  return 0;
}
