"""Triodrill's workload library for training jobs in Python: what triodrill/workload.h says, over ctypes.

    import triodrill
    job = triodrill.attach(rank, world)        # without the library: an object whose methods do nothing
    job.watch(model, optimizer)                # parameters, gradients and optimizer state, by name
    for step in range(first, last):
        loss = forward_and_backward()
        job.phase("gradients")                 # own gradients are complete, the all-reduce comes next
        all_reduce(model)
        job.phase("reduced")                   # the all-reduce is done, the optimizer comes next
        optimizer.step()
        job.phase("applied")
        job.progress(step + 1)

Under DistributedDataParallel the all-reduce is part of backward(): there `job.hook(model)` reports "gradients" before it,
once a bucket, and `job.phase("reduced")` follows backward().

The library is $TRIODRILL_LIBRARY, or libtriodrill.so.1 where the loader finds it. Only CPU tensors that are contiguous
are registered. One thread; no function fails the job.
"""

import ctypes
import os

DTYPES = {
    "torch.float32": 1,
    "torch.float64": 2,
    "torch.float16": 3,
    "torch.bfloat16": 4,
    "torch.int8": 5,
    "torch.int32": 6,
    "torch.int64": 7,
}
LONGEST_NAME = 47


def _load(path):
    library = None
    for name in (path, os.environ.get("TRIODRILL_LIBRARY"), "libtriodrill.so.1"):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library is not None:
            break
    if library is None:
        return None
    library.triodrill_register_tensor.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]
    library.triodrill_unregister_tensor.argtypes = [ctypes.c_char_p]
    library.triodrill_phase_id.argtypes = [ctypes.c_char_p]
    library.triodrill_progress.argtypes = [ctypes.c_uint64]
    library.triodrill_progress.restype = None
    library.triodrill_phase.restype = None
    library.triodrill_set_rank.restype = None
    library.triodrill_detach.restype = None
    return library


class Job:
    """One process of the job. `attached` says whether anybody can look at it."""

    def __init__(self, library):
        self._library = library
        self._phases = {}
        self._known = {}  # name -> (address, elements, dtype): what is registered
        self._kept = {}  # name -> tensor: lives as long as its registration
        self._watched = None

    @property
    def attached(self):
        return self._library is not None

    def progress(self, step):
        """`step` steps are done."""
        if self._library is not None:
            self._library.triodrill_progress(step)

    def set_rank(self, rank, world):
        if self._library is not None:
            self._library.triodrill_set_rank(rank, world)

    def phase(self, name):
        """A phase of the step begins; an armed rule takes effect now."""
        if self._library is None:
            return
        self.refresh()
        self._begin(name)

    def register(self, name, tensor):
        """Makes a tensor known by a name. False where that is not possible."""
        if self._library is None:
            return False
        name = name[:LONGEST_NAME]
        dtype = DTYPES.get(str(tensor.dtype))
        if dtype is None or tensor.device.type != "cpu" or not tensor.is_contiguous() or tensor.numel() == 0:
            return False
        what = (tensor.data_ptr(), tensor.numel(), dtype)
        if self._known.get(name) == what:
            return True
        if self._library.triodrill_register_tensor(name.encode(), *what) != 0:
            return False
        self._known[name] = what
        self._kept[name] = tensor  # its memory is not given back before the registration is
        return True

    def unregister(self, name):
        name = name[:LONGEST_NAME]
        if self._known.pop(name, None) is not None:
            self._library.triodrill_unregister_tensor(name.encode())
            self._kept.pop(name)

    def watch(self, module, optimizer=None):
        """Registers a torch module's parameters as weights/…, their gradients as gradients/… and reduced_gradients/…,
        and the optimizer's state as optimizer/…, now and again at each phase: they may be made anew at any time."""
        if self._library is not None:
            self._watched = (module, optimizer)
            self.refresh()

    def refresh(self):
        if self._watched is None:
            return
        module, optimizer = self._watched
        seen = set()
        for number, (name, parameter) in enumerate(module.named_parameters()):
            part = f"{number}.{name}"
            parts = [("weights", parameter.data)]
            if parameter.grad is not None:
                parts += [("gradients", parameter.grad), ("reduced_gradients", parameter.grad)]
            if optimizer is not None:
                state = optimizer.state.get(parameter, {})
                parts += [(f"optimizer/{key}", value) for key, value in state.items() if hasattr(value, "data_ptr")]
            for kind, tensor in parts:
                full = f"{kind}/{part}"[:LONGEST_NAME]
                if self.register(full, tensor):
                    seen.add(full)
        for name in [name for name in self._known if name not in seen and not name.startswith("gradients/bucket")]:
            self.unregister(name)

    def hook(self, model):
        """Reports "gradients" for a DistributedDataParallel model, before each bucket is reduced."""
        if self._library is None:
            return
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # pylint: disable=import-outside-toplevel

        def before_the_all_reduce(group, bucket):
            name = f"gradients/bucket{bucket.index()}"
            self.register(name, bucket.buffer())
            self._begin("gradients")
            return default_hooks.allreduce_hook(group, bucket)

        model.register_comm_hook(None, before_the_all_reduce)

    def detach(self):
        if self._library is not None:
            self._library.triodrill_detach()
            self._library = None
            self._known.clear()
            self._kept.clear()
            self._watched = None

    def _begin(self, name):
        number = self._phases.get(name)
        if number is None:
            number = self._phases[name] = self._library.triodrill_phase_id(name.encode())
        self._library.triodrill_phase(number)


def attach(rank, world, library=None):
    """The job's page, once a process; an object that does nothing where there is no library or no page."""
    loaded = _load(library)
    if loaded is None or loaded.triodrill_attach(rank, world) != 0:
        return Job(None)
    return Job(loaded)
