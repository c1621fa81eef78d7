"""The shipped rules that can be written with torch's operations."""

import updraft


def _multiplies(name):
    try:
        updraft.load(name).to_torch_source()
    except updraft.UnsupportedError as error:
        return str(error).endswith("it multiplies matrices")
    return False


IN_TORCH = [name for name in updraft.shipped_rules() if not _multiplies(name)]
