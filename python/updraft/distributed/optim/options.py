"""How a distributed optimizer steps."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a distributed optimizer steps.

    Args:
        concurrency: "checked": autograd sees that a step changed the parameter, so a backward that
            reads it and began before raises torch's error. "hogwild": autograd doesn't see it, and
            such a backward may read a mix of older and newer values. In both modes updates are
            exact, and the gradients of one context are applied together on each worker.
        strict: raises an error for a class without a compiled rule, instead of stepping in Python.
        timeout: seconds for each step; None for the timeout of `rpc_backend_options`.
        allow_repeated_steps: whether a context may be applied again on purpose. A retry after a
            timeout never applies it twice.

    Raises:
        ValueError: `concurrency` or `timeout` is invalid.

    Example:
        >>> from updraft.distributed.optim import DistributedOptimizer, Options
        >>> weight = torch.distributed.rpc.RRef(torch.nn.Parameter(torch.ones(2)))
        >>> options = Options(concurrency="hogwild", timeout=30)
        >>> DistributedOptimizer(torch.optim.SGD, [weight], options=options).options
        Options(concurrency='hogwild', strict=False, timeout=30, allow_repeated_steps=False)
    """

    concurrency: str = "checked"
    strict: bool = False
    timeout: float | None = None
    allow_repeated_steps: bool = False

    def __post_init__(self) -> None:
        if self.concurrency not in ("checked", "hogwild"):
            raise ValueError(
                f'`concurrency` must be "checked" or "hogwild", got {self.concurrency!r}'
            )
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"`timeout` must be a positive number or None, got {self.timeout}")
