"""Functions that run on some workers only."""

import pytest

from updraft import distributed


@pytest.mark.parametrize(
    ("decorator", "executing"),
    [
        (distributed.on_rank(0, 2), [0, 2]),
        (distributed.on_rank(), []),
        (distributed.not_on_rank(0, 2), [1, 3]),
        (distributed.not_on_rank(), [0, 1, 2, 3]),
        (distributed.rank_zero_only, [0]),
        (distributed.rank_non_zero_only, [1, 2, 3]),
        (distributed.rank_all, [0, 1, 2, 3]),
    ],
)
def test_the_selected_workers_run_the_function(place, decorator, executing):
    @decorator
    def add(a, b=1):
        """Adds."""
        return a + b

    assert add.__name__ == "add" and add.__doc__ == "Adds."
    for rank in range(4):
        place(rank=rank, size=4)
        assert add(2, b=3) == (5 if rank in executing else None)


@pytest.mark.parametrize("make", [distributed.on_rank, distributed.not_on_rank])
def test_ranks_that_cannot_be(make):
    with pytest.raises(TypeError, match=r"^the rank is `True`; it must be an int$"):
        make(True)
    with pytest.raises(ValueError, match=r"^the rank is -1; workers count from 0$"):
        make(0, -1)
    with pytest.raises(TypeError, match=r"^the rank is `'worker0'`; it must be an int$"):
        make("worker0")
