"""The private names of torch that this package uses, each with the reason.

A later torch may change or remove any of them; `python/tests/test_torch_private.py` reports which.
Other modules import them from here, as in `from ..torch_private import disable_dynamo`, which
`tools/lint/check-torch-names` checks. Names are looked up on import from here, so this module
itself doesn't import torch.
"""

import operator
import pkgutil
from typing import Any, NamedTuple

#: Functions, classes, modules and objects.
NAMES = {
    # `torch.compiler.disable` imports Dynamo, which takes longer than torch itself.
    "disable_dynamo": "torch:_disable_dynamo",
    # Tells whether torch.compile is in use. Public functions tell only inside compiled code.
    "eval_frame_callback": "torch._C._dynamo.eval_frame:get_eval_frame_callback",
    # Hooks of all optimizers. Without any, a step needn't go through torch's wrapper for them.
    "global_step_pre_hooks": "torch.optim.optimizer:_global_optimizer_pre_hooks",
    "global_step_post_hooks": "torch.optim.optimizer:_global_optimizer_post_hooks",
    # Refuses the parameters that torch's fused steps refuse, with the same message.
    "require_fusible": "torch.optim.optimizer:_device_dtype_check_for_fused",
    # Modes that watch functions, except the mode of `with torch.device(…)`, which doesn't affect
    # steps.
    "function_modes": "torch.overrides:_get_current_function_mode_stack",
    "DeviceContext": "torch.utils._device:DeviceContext",
    # Detect a tensor that intercepts operators, independent of its class.
    "dispatch_keys": "torch._C:_dispatch_keys",
    "DispatchKey": "torch._C:DispatchKey",
    # A tensor of functorch doesn't have its own memory.
    "is_functorch_wrapped_tensor": "torch._C:_functorch.is_functorch_wrapped_tensor",
    "get_unwrapped": "torch._C:_functorch.get_unwrapped",
    # Elements of an expanded tensor share memory. Only a write by torch would report this.
    "internal_overlap": "torch:_debug_has_internal_overlap",
    # Views that autograd can't follow. Only a write by torch would report this.
    "is_view": "torch:Tensor._is_view",
    "creation_meta": "torch._C:_autograd._get_creation_meta",
    "CreationMeta": "torch._C:_autograd.CreationMeta",
    # Public except for the name of the module. If set, `Module.to` swaps parameters.
    "swaps_params": "torch.__future__:get_swap_module_params_on_conversion",
    # Creates views of a flat direction, one per parameter, in one call.
    "unflatten_dense_tensors": "torch._C:_nn.unflatten_dense_tensors",
    # The matrix products of Muon, and the factor of its learning rate.
    "orthogonalized": "torch.optim._muon:_zeropower_via_newtonschulz",
    "adjusted_lr": "torch.optim._muon:_adjust_lr",
    # Finds tensors in containers of any kind, with their places, for arguments of calls.
    "pytree": "torch.utils:_pytree",
    # Distributed-autograd contexts: the one of this thread, whether one is open, and their number.
    "current_context": "torch.distributed.autograd:_current_context",
    "is_valid_context": "torch.distributed.autograd:_is_valid_context",
    "autograd_debug_info": "torch.distributed.autograd:_get_debug_info",
    # Whether RPC runs, and all of its workers: `get_worker_info` needs the name of one.
    "rpc_is_running": "torch.distributed.rpc.api:_is_current_rpc_agent_set",
    "rpc_agent": "torch.distributed.rpc.api:_get_current_rpc_agent",
    # Call an operator by the name of its schema, which `rpc_async` doesn't take.
    "invoke_rpc_builtin": "torch.distributed.rpc:_invoke_rpc_builtin",
    "invoke_remote_builtin": "torch.distributed.rpc:_invoke_remote_builtin",
    # A backend must call it after its agent has started.
    "init_rpc_states": "torch.distributed.rpc.api:_init_rpc_states",
    # Makes `wait` of a call's future raise the exception of the function, with its type.
    "set_unwrap_func": "torch._C:Future._set_unwrap_func",
}


class Attribute(NamedTuple):
    """An attribute of a kind of object.

    Args:
        of: the class or module, or the function that creates such objects.
        name: the name of the attribute.
    """

    of: str
    name: str


#: To read an attribute, a module imports a function: `from ..torch_private import local_tensor`.
ATTRIBUTES = {
    # The base tensor of a view, and the number of writes to a tensor.
    "base_of_view": Attribute("torch:Tensor", "_base"),
    "version_of": Attribute("torch:Tensor", "_version"),
    # Identifies a storage without an address, such as one on the meta device.
    "storage_number": Attribute("torch:UntypedStorage", "_cdata"),
    # The level of forward-mode AD; negative outside all levels. Public functions don't tell.
    "dual_level_of": Attribute("torch.autograd.forward_ad", "_current_level"),
    # `to_local` would record a function of autograd, and wait for collectives.
    "local_tensor": Attribute("torch.distributed.tensor:DTensor", "_local_tensor"),
    # An optimizer's hooks, which a conversion keeps. torch doesn't have a function to read them.
    "step_pre_hooks": Attribute("torch.optim:Optimizer", "_optimizer_step_pre_hooks"),
    "step_post_hooks": Attribute("torch.optim:Optimizer", "_optimizer_step_post_hooks"),
    "save_pre_hooks": Attribute("torch.optim:Optimizer", "_optimizer_state_dict_pre_hooks"),
    "save_post_hooks": Attribute("torch.optim:Optimizer", "_optimizer_state_dict_post_hooks"),
    "load_pre_hooks": Attribute("torch.optim:Optimizer", "_optimizer_load_state_dict_pre_hooks"),
    "load_post_hooks": Attribute("torch.optim:Optimizer", "_optimizer_load_state_dict_post_hooks"),
    # The parameters of LBFGS's only group, and their number. A copy by pickle lacks both.
    "lbfgs_params": Attribute("torch.optim:LBFGS", "_params"),
    "lbfgs_numel": Attribute("torch.optim:LBFGS", "_numel_cache"),
    # The number of a world, which increases with each world.
    "world_number": Attribute("torch.distributed.rpc", "_init_counter"),
    # `rpc.shutdown` waits with it. It calls Python on workers that may not have it.
    "wait_all_workers": Attribute("torch.distributed.rpc.api", "_wait_all_workers"),
    # Identifies a function that returns a future.
    "async_function": Attribute(
        "torch.distributed.rpc.functions:async_execution", "_wrapped_async_rpc_function"
    ),
}

#: Methods that classes here override.
OVERRIDDEN = (
    # LBFGS moves all parameters along its direction. A rule does this in one sweep.
    Attribute("torch.optim:LBFGS", "_add_grad"),
)

#: Names that torch's modules look up in this package's classes.
READ_BY_TORCH = {
    # Steps accept `grad_scale` and `found_inf`.
    "_step_supports_amp_scaling": "torch.amp.grad_scaler",
    # Functional optimizers may be created without parameters.
    "_allow_empty_param_list": "torch.distributed.optim.utils",
}


def __getattr__(name: str) -> Any:
    if name in ATTRIBUTES:
        return operator.attrgetter(ATTRIBUTES[name].name)
    if name not in NAMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    try:
        return pkgutil.resolve_name(NAMES[name])
    except (AttributeError, ImportError):
        import torch

        raise ImportError(
            f"torch {torch.__version__} has no `{NAMES[name].replace(':', '.')}`, which Updraft"
            " needs; `python -m updraft.info` names the versions that it was built for"
        ) from None
