"""torch's own tests of distributed optimizers, with Updraft's class, on torch's agent.

A unittest program, which forks four processes for each test.
"""

import unittest

import torch
from torch.testing._internal.common_distributed import MultiProcessTestCase
from torch.testing._internal.distributed.rpc import dist_optimizer_test
from torch.testing._internal.distributed.rpc.tensorpipe_rpc_agent_test_fixture import (
    TensorPipeRpcAgentTestFixture,
)

from updraft.distributed.optim import DistributedOptimizer

dist_optimizer_test.DistributedOptimizer = DistributedOptimizer


class UpdraftDistOptimizerTest(
    dist_optimizer_test.DistOptimizerTest, TensorPipeRpcAgentTestFixture, MultiProcessTestCase
):
    def setUp(self):
        super().setUp()
        # Spawned processes would each import all of this again.
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    # torch's run_tests would write a report with another package under CI.
    unittest.main()
