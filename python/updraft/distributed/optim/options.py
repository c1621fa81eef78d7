"""How a distributed optimizer steps."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a distributed optimizer steps.

    Args:
        concurrency: "checked": a parameter that is stepped is known to autograd as changed, and a
            backward that reads it and began before raises torch's error. "hogwild": it is not, and
            such a backward reads values of which some may be newer than others. Updates are exact
            in both, and the gradients of one context are applied together on each worker.
        strict: a class that has no compiled rule is an error, not stepped by Python.
        timeout: seconds for each step; None for the timeout of `rpc_backend_options`.
        allow_repeated_steps: whether a context may be applied again on purpose. A request that is
            repeated after a timeout never applies one twice.

    Raises:
        ValueError: `concurrency` or `timeout` is none of these.

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
            raise ValueError(f'`concurrency` is {self.concurrency!r}; it is "checked" or "hogwild"')
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"`timeout` is {self.timeout}; it is a number of seconds, or None")
