/*===- ScalarAdamW.h - A hand-written step of AdamW -------------------------------*- C -*-===*/
#ifndef UPDRAFT_TOOLS_BENCH_SCALARADAMW_H
#define UPDRAFT_TOOLS_BENCH_SCALARADAMW_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Step number `step`, from 1, of `count` elements with the states `m` and `v`. */
void scalarAdamW(float *param, const float *grad, float *m, float *v, size_t count, float lr,
                 float beta1, float beta2, float eps, float weight_decay, int step);

#ifdef __cplusplus
}
#endif
#endif
