/*===- ScalarAdamW.c - A hand-written step of AdamW ---------------------------------------===*
 * As C programs without Updraft write it: one loop over the elements, and the powers of the step
 * count before it.
 *===---------------------------------------------------------------------------------------===*/

#include "ScalarAdamW.h"

#include <math.h>

void scalarAdamW(float *param, const float *grad, float *m, float *v, size_t count, float lr,
                 float beta1, float beta2, float eps, float weight_decay, int step) {
  const float correction1 = 1.0f - powf(beta1, (float)step);
  const float correction2 = 1.0f - powf(beta2, (float)step);
  for (size_t i = 0; i < count; ++i) {
    m[i] = beta1 * m[i] + (1.0f - beta1) * grad[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * grad[i] * grad[i];
    const float m_hat = m[i] / correction1;
    const float v_hat = v[i] / correction2;
    param[i] -= lr * (m_hat / (sqrtf(v_hat) + eps) + weight_decay * param[i]);
  }
}
