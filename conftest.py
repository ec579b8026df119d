"""What is not collected: the one module that cannot be imported without torch, an extra that the tests do without."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/ensample/models/torch_nets.py"]
