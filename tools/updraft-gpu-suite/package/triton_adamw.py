"""A straightforward AdamW in Triton: one kernel, and one launch per tensor."""

# Triton compiles the decorated function from its source, so the annotations must stay.
import torch
import triton
import triton.language as tl


@triton.jit
def adamw_kernel(
    param,
    grad,
    exp_avg,
    exp_avg_sq,
    count,
    lr,
    beta1,
    beta2,
    eps,
    weight_decay,
    step_size,
    root_correction,
    BLOCK: tl.constexpr,  # noqa: N803
):
    """Steps one block of elements."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    p = tl.load(param + at, mask=inside).to(tl.float32)
    g = tl.load(grad + at, mask=inside).to(tl.float32)
    m = tl.load(exp_avg + at, mask=inside).to(tl.float32)
    v = tl.load(exp_avg_sq + at, mask=inside).to(tl.float32)
    p = p * (1 - lr * weight_decay)
    m = m + (g - m) * (1 - beta1)
    v = v * beta2 + g * g * (1 - beta2)
    p = p - step_size * m / (tl.sqrt(v) / root_correction + eps)
    tl.store(param + at, p.to(param.dtype.element_ty), mask=inside)
    tl.store(exp_avg + at, m.to(exp_avg.dtype.element_ty), mask=inside)
    tl.store(exp_avg_sq + at, v.to(exp_avg_sq.dtype.element_ty), mask=inside)


class TritonAdamW:
    """AdamW with torch's defaults."""

    def __init__(self, params: list[torch.Tensor], grads: list[torch.Tensor]) -> None:
        """Creates states of zeros with the parameters' types."""
        self.tensors = [
            (p, g, torch.zeros_like(p), torch.zeros_like(p))
            for p, g in zip(params, grads, strict=True)
        ]
        self.steps = 0

    def step(self) -> None:
        """Takes one step."""
        lr, beta1, beta2, eps, weight_decay, block = 1e-3, 0.9, 0.999, 1e-8, 1e-2, 1024
        self.steps += 1
        step_size = lr / (1 - beta1**self.steps)
        root_correction = (1 - beta2**self.steps) ** 0.5
        scalars = (lr, beta1, beta2, eps, weight_decay, step_size, root_correction)
        for param, grad, exp_avg, exp_avg_sq in self.tensors:
            count = param.numel()
            blocks = (triton.cdiv(count, block),)
            adamw_kernel[blocks](param, grad, exp_avg, exp_avg_sq, count, *scalars, BLOCK=block)
