"""Rules of the library written in Python, to compare with their files."""

import updraft
from updraft import lang


@updraft.rule(name="AdamW")
def adamw(
    param,
    grad,
    state,
    step,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=1e-2,
    amsgrad=False,
    maximize=False,
):
    """Adam with decoupled weight decay."""
    lang.require(lr >= 0, "Invalid learning rate: {lr}")
    lang.require((beta1 >= 0) & (beta1 < 1), "Invalid beta parameter at index 0: {beta1}")
    g = -grad if maximize else grad
    decayed = param * (1 - lr * weight_decay)

    m = lang.lerp(state.setdefault("exp_avg", 0), g, 1 - beta1)
    v = lang.addcmul(state.setdefault("exp_avg_sq", 0) * beta2, g, g, 1 - beta2)
    state["exp_avg"], state["exp_avg_sq"] = m, v
    u = v
    if amsgrad:
        u = state["max_exp_avg_sq"] = lang.max(state.setdefault("max_exp_avg_sq", 0), v)

    step_size = lr / (1 - beta1**step)
    denom = lang.sqrt(u) / lang.sqrt(1 - beta2**step) + eps
    return lang.addcdiv(decayed, m, denom, -step_size)


@updraft.rule(name="NAdam")
def nadam(
    param,
    grad,
    state,
    step,
    lr=2e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0,
    momentum_decay=4e-3,
    maximize=False,
    decoupled_weight_decay=False,
):
    """Nesterov momentum in Adam; a state that is one number for the parameter."""
    g = -grad if maximize else grad
    p = param * (1 - lr * weight_decay) if decoupled_weight_decay else param
    d = g if decoupled_weight_decay else lang.decayed(g, param, weight_decay)

    mu = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
    mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
    m = lang.lerp(state.setdefault("exp_avg"), d, 1 - beta1)
    v = lang.addcmul(state.setdefault("exp_avg_sq") * beta2, d, d, 1 - beta2)
    product = lang.scalar_product(
        state.setdefault("mu_product", 1, over="tensor", storage="f32"), mu
    )
    state.update(exp_avg=m, exp_avg_sq=v, mu_product=product)
    denom = lang.sqrt(v / (1 - beta2**step)) + eps
    moved = lang.addcdiv(p, d, denom, -lr * (1 - mu) / (1 - product))
    return lang.addcdiv(moved, m, denom, -lr * mu_next / (1 - product * mu_next))


@updraft.rule(name="LARS")
def lars(param, grad, state, lr=0.1, momentum=0.9, trust_coefficient=1e-3, weight_decay=5e-4):
    """Norms of whole parameters."""
    param_norm, grad_norm = lang.norm(param), lang.norm(grad)
    trust = lang.where(
        (param_norm > 0) & (grad_norm > 0),
        trust_coefficient * param_norm / (grad_norm + weight_decay * param_norm),
        1,
    )
    buffer = state.setdefault("momentum_buffer", 0)
    direction = lang.add(grad, param, weight_decay)
    state["momentum_buffer"] = lang.add(buffer * momentum, direction, lr * trust)
    return param - state["momentum_buffer"]


@updraft.rule(name="Adafactor")
def adafactor(
    param,
    grad,
    state,
    step,
    matrix,
    lr=1e-2,
    beta2_decay=-0.8,
    eps1=1.1920928955078125e-07,
    eps2=1e-3,
    d=1,
    weight_decay=0,
):
    """Values per row and column of a matrix."""
    rate = step**beta2_decay
    alpha = lang.max(eps2, lang.rms(param)) * lang.min(lr, 1 / lang.sqrt(step))
    square = grad * grad

    row_var = state.setdefault("row_var", 0, over="row", when=matrix)
    col_var = state.setdefault("col_var", 0, over="column", when=matrix)
    variance = state.setdefault("variance", 0, when=~matrix)
    row = lang.lerp(row_var, lang.row_mean(square), rate)
    column = lang.lerp(col_var, lang.column_mean(square), rate)
    whole = lang.lerp(variance, square, rate)
    state["row_var"], state["col_var"], state["variance"] = row, column, whole

    row_scale = 1 / lang.sqrt(row)
    column_scale = lang.sqrt(lang.max(lang.batch_mean(row), eps1)) / lang.sqrt(column)
    scale = lang.where(
        matrix,
        lang.min(row_scale * column_scale, 1 / eps1),
        1 / lang.sqrt(lang.max(whole, eps1 * eps1)),
    )
    u = scale * grad
    denom = lang.max(1, lang.rms(u) / d)
    return lang.add(param * (1 - lr * weight_decay), u, -alpha / denom)


@updraft.rule(name="SGD")
def sgd(
    param,
    grad,
    state,
    first,
    lr=1e-3,
    momentum=0.0,
    dampening=0,
    weight_decay=0,
    buffered=False,
    nesterov=False,
):
    """The first momentum is the undamped gradient."""
    d = lang.decayed(grad, param, weight_decay)
    if buffered:
        buffer = state.setdefault("momentum_buffer", 0)
        b = lang.where(first, d, lang.add(buffer * momentum, d, 1 - dampening))
        state["momentum_buffer"] = b
        d = lang.add(d, b, momentum) if nesterov else b
    return lang.add(param, d, -lr)


@updraft.transform
def unscaled(grad, inv_scale=1):
    """Skips the step where a gradient is not finite."""
    g = grad * inv_scale
    lang.skip_when(~lang.isfinite(lang.group_max(abs(g))))
    return g


@updraft.transform
def noisy(grad, step, eta=0.01, gamma=0.55):
    """Adds random numbers to the gradient."""
    deviation = lang.sqrt(eta / step**gamma)
    return grad + deviation * lang.normal()
