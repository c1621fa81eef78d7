"""Tables of contexts forget closed contexts."""

import threading

import torch.distributed.autograd as dist_autograd
from clients import on_client

from updraft.distributed.optim.contexts import ContextTable


@on_client
def test_tables_keep_open_contexts_and_forget_closed_ones():
    table = ContextTable()
    all_open, close = threading.Barrier(6), threading.Event()

    def stay(number):
        with dist_autograd.context() as context:
            table[context] = number
            kept.append((context, number))
            all_open.wait(60)
            close.wait(60)

    kept = []
    threads = [threading.Thread(target=stay, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    all_open.wait(60)
    longest = 0
    for number in range(1000):
        with dist_autograd.context() as context:
            table[context] = number
            assert table.get(context, None) == number
            longest = max(longest, len(table))
    assert longest < 100
    assert [table.get(context, None) for context, _ in kept] == [number for _, number in kept]
    close.set()
    for thread in threads:
        thread.join()
    for number in range(200):
        with dist_autograd.context() as context:
            table[context] = number
    assert [table.get(context, None) for context, _ in kept] == [None] * 5
    assert len(table) < 100


@on_client
def test_contexts_that_no_table_knows():
    """If more contexts are open than the table has, each entry is checked."""
    table = ContextTable()
    all_open, close = threading.Barrier(9), threading.Event()

    def stay():
        with dist_autograd.context():
            all_open.wait(60)
            close.wait(60)

    threads = [threading.Thread(target=stay) for _ in range(8)]
    for thread in threads:
        thread.start()
    all_open.wait(60)
    for number in range(300):
        with dist_autograd.context() as context:
            table[context] = number
            table[context] = number + 1
            assert table.get(context, None) == number + 1
    assert len(table) < 100
    close.set()
    for thread in threads:
        thread.join()
