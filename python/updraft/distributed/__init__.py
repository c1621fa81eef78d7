"""Training on several workers, on `torch.distributed.rpc`."""
