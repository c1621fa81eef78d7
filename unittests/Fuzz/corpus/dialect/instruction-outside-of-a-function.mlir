nvvm.wgmma.fence.aligned
