"""Made by python/tests/optim_stub.py; what there is, is said in __init__.py."""

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor
from torch.optim.optimizer import ParamsT

from .clipping import with_clipping as with_clipping
from .conversion import convert as convert
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .rule_classes import ShippedOptimizer as ShippedOptimizer
from .torch_classes import ASGD as ASGD
from .torch_classes import SGD as SGD
from .torch_classes import Adadelta as Adadelta
from .torch_classes import Adafactor as Adafactor
from .torch_classes import Adagrad as Adagrad
from .torch_classes import Adam as Adam
from .torch_classes import Adamax as Adamax
from .torch_classes import AdamW as AdamW
from .torch_classes import NAdam as NAdam
from .torch_classes import RAdam as RAdam
from .torch_classes import RMSprop as RMSprop
from .torch_classes import Rprop as Rprop
from .torch_classes import SparseAdam as SparseAdam

class AdaBelief(ShippedOptimizer):
    """AdaBelief: Zhuang et al., "AdaBelief Optimizer: Adapting Stepsizes by the Belief in Observed
    Gradients", NeurIPS 2020; with `amsgrad` as in Reddi, Kale and Kumar, "On the Convergence of
    Adam and Beyond", ICLR 2018.

      m' = beta1 m + (1 - beta1) g        s' = beta2 s + (1 - beta2) (g - m')^2 + eps
      p' = p (1 - lr weight_decay) - lr / (1 - beta1^t) m' / (sqrt(u) / sqrt(1 - beta2^t) + eps)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float | Tensor = 1e-16,
        weight_decay: float | Tensor = 0.0,
        *,
        amsgrad: bool = False,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class Adan(ShippedOptimizer):
    """Adan: Xie et al., "Adan: Adaptive Nesterov Momentum Algorithm for Faster Optimizing Deep
    Models", TPAMI 2024.

      d  = g - last g, 0 at the first step
      m' = beta1 m + (1 - beta1) g        v' = beta2 v + (1 - beta2) d
      n' = beta3 n + (1 - beta3) (g + beta2 d)^2
      x  = (m' / (1 - beta1^t) + beta2 v' / (1 - beta2^t)) / (sqrt(n' / (1 - beta3^t)) + eps)
      p' = (p - lr x) / (1 + lr weight_decay), or with `no_prox` p (1 - lr weight_decay) - lr x
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float | Tensor, float | Tensor, float | Tensor] = (0.98, 0.92, 0.99),
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        *,
        no_prox: bool = False,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class AdEMAMix(ShippedOptimizer):
    """AdEMAMix: Pagliardini, Ablin and Grangier, "The AdEMAMix Optimizer: Better, Faster, Older",
    ICLR 2025.

      m' = beta1 m + (1 - beta1) g        n' = b n + (1 - b) g
      v' = beta2 v + (1 - beta2) g^2
      p' = p - lr ((m' / (1 - beta1^t) + a n') / (sqrt(v' / (1 - beta2^t)) + eps) + weight_decay p)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float | Tensor, float | Tensor, float | Tensor] = (0.9, 0.999, 0.9999),
        alpha: float | Tensor = 2.0,
        alpha_warmup: float | Tensor = 0.0,
        beta3_warmup: float | Tensor = 0.0,
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class LAMB(ShippedOptimizer):
    """LAMB: You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes",
    ICLR 2020.

      m' = beta1 m + (1 - beta1) g        v' = beta2 v + (1 - beta2) g^2
      u  = m' / (1 - beta1^t) / (sqrt(v' / (1 - beta2^t)) + eps) + weight_decay p
      p' = p - lr |p| / |u| u
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float | Tensor = 1e-06,
        weight_decay: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class LARS(ShippedOptimizer):
    """LARS: You, Gitman and Ginsburg, "Large Batch Training of Convolutional Networks", arXiv
    2017.

      r  = trust_coefficient |p| / (|g| + weight_decay |p|)
      b' = momentum b + lr r (g + weight_decay p)
      p' = p - b'
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.1,
        momentum: float | Tensor = 0.9,
        trust_coefficient: float | Tensor = 0.001,
        weight_decay: float | Tensor = 0.0005,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class Lion(ShippedOptimizer):
    """Lion: Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023.

    c  = beta1 m + (1 - beta1) g
    p' = p (1 - lr weight_decay) - lr sign(c)
    m' = beta2 m + (1 - beta2) g
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.0001,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.99),
        weight_decay: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class MARS(ShippedOptimizer):
    """MARS-AdamW: Yuan, Liu, Wu, Zhou and Gu, "MARS: Unleashing the Power of Variance Reduction
    for Training Large Models", ICML 2025.

      c  = g + gamma beta1 / (1 - beta1) (g - last g), with `clipped` divided by max(1, its norm)
      m' = beta1 m + (1 - beta1) c        v' = beta2 v + (1 - beta2) c^2
      p' = p - lr (m' / (1 - beta1^t) / (sqrt(v' / (1 - beta2^t)) + eps) + weight_decay p)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.003,
        betas: tuple[float | Tensor, float | Tensor] = (0.95, 0.99),
        gamma: float | Tensor = 0.025,
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        *,
        clipped: bool = True,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class NovoGrad(ShippedOptimizer):
    """NovoGrad: Ginsburg et al., "Training Deep Networks with Stochastic Gradient Normalized by
    Layerwise Adaptive Second Moments", arXiv 2019.

      v' = |g|^2 at the first step, then beta2 v + (1 - beta2) |g|^2
      m' = beta1 m + g / (sqrt(v') + eps) + weight_decay p
      p' = p - lr m'
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        betas: tuple[float | Tensor, float | Tensor] = (0.95, 0.98),
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class Prodigy(ShippedOptimizer):
    """Prodigy: Mishchenko and Defazio, "Prodigy: An Expeditiously Adaptive Parameter-Free
    Learner", ICML 2024.

      a  = lr d                           p0 is the parameter before the first step
      r' = beta3 r + d / d0 a <g, p0 - p>         s' = beta3 s + d / d0 a g
      m' = beta1 m + (1 - beta1) d g              v' = beta2 v + (1 - beta2) d^2 g^2
      h  = d_coef r' / |s'|_1             e = max(d, h) while d is d0, else d
      d' = min(max of all h so far, growth_rate e)
      p' = p (1 - a weight_decay) - a m' / (sqrt(v') + d' eps)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        betas: tuple[float | Tensor, float | Tensor, float | Tensor] = (
            0.9,
            0.999,
            0.999499874937461,
        ),
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        d0: float | Tensor = 1e-06,
        d_coef: float | Tensor = 1.0,
        growth_rate: float | Tensor = ...,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class QHAdam(ShippedOptimizer):
    """Quasi-hyperbolic Adam: Ma and Yarats, "Quasi-hyperbolic momentum and Adam for deep
    learning", ICLR 2019.

      d  = g + weight_decay p
      m' = beta1 m + (1 - beta1) d        v' = beta2 v + (1 - beta2) d^2
      a  = (1 - nu1) d   + nu1 m' / (1 - beta1^t)
      b  = (1 - nu2) d^2 + nu2 v' / (1 - beta2^t)
      p' = p - lr a / (sqrt(b) + eps)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float | Tensor, float | Tensor] = (0.995, 0.999),
        nu1: float | Tensor = 0.7,
        nu2: float | Tensor = 1.0,
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        *,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class QHM(ShippedOptimizer):
    """Quasi-hyperbolic momentum: Ma and Yarats, "Quasi-hyperbolic momentum and Adam for deep
    learning", ICLR 2019.

      d  = g + weight_decay p                      with weight_decay_type "grad", else d = g
      q  = p (1 - lr weight_decay)                 with weight_decay_type "direct", else q = p
      b' = momentum b + (1 - momentum) d
      p' = q - lr (nu b' + (1 - nu) d)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        momentum: float | Tensor = 0.999,
        nu: float | Tensor = 0.7,
        weight_decay: float | Tensor = 0.0,
        *,
        weight_decay_type: str = "grad",
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class RowwiseAdagrad(ShippedOptimizer):
    """Row-wise Adagrad: Mudigere et al., "Software-Hardware Co-design for Fast and Scalable
    Training of Deep Learning Recommendation Models", ISCA 2022.

      d  = g + weight_decay p
      s' = s + mean over the row of d^2, from initial_accumulator_value on
      p' = p - lr / (1 + (t - 1) lr_decay) d / (sqrt(s') + eps)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        lr_decay: float | Tensor = 0.0,
        weight_decay: float | Tensor = 0.0,
        initial_accumulator_value: float | Tensor = 0.0,
        eps: float | Tensor = 1e-10,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class ScheduleFreeAdamW(ShippedOptimizer):
    """Schedule-free AdamW: Defazio et al., "The Road Less Scheduled", NeurIPS 2024.

    a  = lr min(1, t / warmup_steps) sqrt(1 - beta2^t)
    v' = beta2 v + (1 - beta2) g^2
    z' = z - a (g / (sqrt(v') + eps) + weight_decay y)
    x' = (1 - c) x + c z'               where c = a^2 / (sum of a^2 over all steps)
    y' = (1 - beta1) z' + beta1 x'
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.0025,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float | Tensor = 1e-08,
        weight_decay: float | Tensor = 0.0,
        warmup_steps: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class ScheduleFreeSGD(ShippedOptimizer):
    """Schedule-free SGD: Defazio et al., "The Road Less Scheduled", NeurIPS 2024.

    a  = lr min(1, t / warmup_steps)
    z' = z - a (g + weight_decay y)
    x' = (1 - c) x + c z'               where c = a^2 / (sum of a^2 over all steps)
    y' = (1 - momentum) z' + momentum x'
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        momentum: float | Tensor = 0.9,
        weight_decay: float | Tensor = 0.0,
        warmup_steps: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class Signum(ShippedOptimizer):
    """Signum: Bernstein, Wang, Azizzadenesheli and Anandkumar, "signSGD: Compressed Optimisation
    for Non-Convex Problems", ICML 2018.

      b' = momentum b + (1 - momentum) g
      p' = p - lr (sign(b') + weight_decay p)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.0001,
        momentum: float | Tensor = 0.9,
        weight_decay: float | Tensor = 0.0,
        *,
        maximize: bool = False,
        buffered: bool = True,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class Sophia(ShippedOptimizer):
    """Sophia's step: Liu, Li, Hall, Liang and Ma, "Sophia: A Scalable Stochastic Second-order
    Optimizer for Language Model Pre-training", ICLR 2024.

      m' = beta1 m + (1 - beta1) g
      p' = p (1 - lr weight_decay) - lr clip(m' / max(gamma h, eps), 1)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.0001,
        betas: tuple[float | Tensor] = (0.96,),
        gamma: float | Tensor = 0.05,
        eps: float | Tensor = 1e-12,
        weight_decay: float | Tensor = 0.2,
        *,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...

class Yogi(ShippedOptimizer):
    """Yogi: Zaheer, Reddi, Sachan, Kale and Kumar, "Adaptive Methods for Nonconvex Optimization",
    NeurIPS 2018.

      d  = g + weight_decay p
      m' = beta1 m + (1 - beta1) d        v' = v - (1 - beta2) sign(v - d^2) d^2
      p' = p - lr / (1 - beta1^t) m' / (sqrt(v') / sqrt(1 - beta2^t) + eps)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float | Tensor = 0.001,
        weight_decay: float | Tensor = 0.0,
        initial_accumulator_value: float | Tensor = 1e-06,
        *,
        bias_correction: bool = True,
        maximize: bool = False,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "ieee",
        seed: int | None = None,
    ) -> None: ...
