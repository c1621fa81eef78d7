"""The hyperparameters that are sent to workers."""

from ...optim.correspondence import Correspondence, Group, reader
from ...optim.state_storage import FLOATS


class HyperReaders:
    """Reads the hyperparameters of a rule from parameter groups."""

    def __init__(self, correspondence: Correspondence) -> None:
        self._readers = {name: reader(place) for name, place in correspondence.hypers.items()}

    def read(self, group: Group, storage: str) -> dict[str, float]:
        """Returns the rule's hyperparameters, for parameters of a storage type."""
        # A default may depend on the type.
        dtype = FLOATS[storage]
        return {name: float(read(group, dtype)) for name, read in self._readers.items()}
