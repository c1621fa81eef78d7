"""torch's own tests of distributed optimizers, of the class of Updraft, on torch's agent.

A program of unittest, which forks four processes for each test.
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
        # By a spawn each of the four would import all of this again.
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    # Not by torch's run_tests, which under CI wants to write its report with a package of its own.
    unittest.main()
