"""Rules of the library written in Python, to compare with their files."""

import updraft


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
    updraft.require(lr >= 0, "Invalid learning rate: {lr}")
    updraft.require((beta1 >= 0) & (beta1 < 1), "Invalid beta parameter at index 0: {beta1}")
    g = -grad if maximize else grad
    decayed = param * (1 - lr * weight_decay)

    m = updraft.lerp(state.setdefault("exp_avg", 0), g, 1 - beta1)
    v = updraft.addcmul(state.setdefault("exp_avg_sq", 0) * beta2, g, g, 1 - beta2)
    state["exp_avg"], state["exp_avg_sq"] = m, v
    u = v
    if amsgrad:
        u = state["max_exp_avg_sq"] = updraft.max(state.setdefault("max_exp_avg_sq", 0), v)

    step_size = lr / (1 - beta1**step)
    denom = updraft.sqrt(u) / updraft.sqrt(1 - beta2**step) + eps
    return updraft.addcdiv(decayed, m, denom, -step_size)


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
    d = g if decoupled_weight_decay else updraft.decayed(g, param, weight_decay)

    mu = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
    mu_next = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
    m = updraft.lerp(state.setdefault("exp_avg"), d, 1 - beta1)
    v = updraft.addcmul(state.setdefault("exp_avg_sq") * beta2, d, d, 1 - beta2)
    product = updraft.scalar_product(
        state.setdefault("mu_product", 1, over="tensor", storage="f32"), mu
    )
    state.update(exp_avg=m, exp_avg_sq=v, mu_product=product)
    denom = updraft.sqrt(v / (1 - beta2**step)) + eps
    moved = updraft.addcdiv(p, d, denom, -lr * (1 - mu) / (1 - product))
    return updraft.addcdiv(moved, m, denom, -lr * mu_next / (1 - product * mu_next))


@updraft.rule(name="LARS")
def lars(param, grad, state, lr=0.1, momentum=0.9, trust_coefficient=1e-3, weight_decay=5e-4):
    """Norms of whole parameters."""
    param_norm, grad_norm = updraft.norm(param), updraft.norm(grad)
    trust = updraft.where(
        (param_norm > 0) & (grad_norm > 0),
        trust_coefficient * param_norm / (grad_norm + weight_decay * param_norm),
        1,
    )
    buffer = state.setdefault("momentum_buffer", 0)
    direction = updraft.add(grad, param, weight_decay)
    state["momentum_buffer"] = updraft.add(buffer * momentum, direction, lr * trust)
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
    alpha = updraft.max(eps2, updraft.rms(param)) * updraft.min(lr, 1 / updraft.sqrt(step))
    square = grad * grad

    row_var = state.setdefault("row_var", 0, over="row", when=matrix)
    col_var = state.setdefault("col_var", 0, over="column", when=matrix)
    variance = state.setdefault("variance", 0, when=~matrix)
    row = updraft.lerp(row_var, updraft.row_mean(square), rate)
    column = updraft.lerp(col_var, updraft.column_mean(square), rate)
    whole = updraft.lerp(variance, square, rate)
    state["row_var"], state["col_var"], state["variance"] = row, column, whole

    row_scale = 1 / updraft.sqrt(row)
    column_scale = updraft.sqrt(updraft.max(updraft.batch_mean(row), eps1)) / updraft.sqrt(column)
    scale = updraft.where(
        matrix,
        updraft.min(row_scale * column_scale, 1 / eps1),
        1 / updraft.sqrt(updraft.max(whole, eps1 * eps1)),
    )
    u = scale * grad
    denom = updraft.max(1, updraft.rms(u) / d)
    return updraft.add(param * (1 - lr * weight_decay), u, -alpha / denom)


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
    d = updraft.decayed(grad, param, weight_decay)
    if buffered:
        buffer = state.setdefault("momentum_buffer", 0)
        b = updraft.where(first, d, updraft.add(buffer * momentum, d, 1 - dampening))
        state["momentum_buffer"] = b
        d = updraft.add(d, b, momentum) if nesterov else b
    return updraft.add(param, d, -lr)


@updraft.transform
def unscaled(grad, inv_scale=1):
    """Skips the step where a gradient is not finite."""
    g = grad * inv_scale
    updraft.skip_when(~updraft.isfinite(updraft.group_max(abs(g))))
    return g


@updraft.transform
def noisy(grad, step, eta=0.01, gamma=0.55):
    """Adds random numbers to the gradient."""
    deviation = updraft.sqrt(eta / step**gamma)
    return grad + deviation * updraft.normal()
