"""The training job of the embedded shadow partition: real PyTorch data parallelism under torchrun, gloo over TCP.

A two-layer network learns a synthetic regression. Everything follows from the seed: the model, the function to be learnt,
and each batch from (step, rank), so that a run that was interrupted and restored walks the same path as one that was not.
Rank 0 saves every SAVE_EVERY steps, whole or not at all; at the start rank 0 reads the last good checkpoint and
broadcasts it. What it says, it says in its log; where triodrill's Python binding is there, its step, its phases and its tensors
can be looked at, and its tensors reached, by a drill.

$TRIODRILL_RUN_DIR/progress-HOST.log, one write a line (lines of a killed worker and its successor never mix):
    step=N rank=R local_rank=L restart=K loss=X     N steps are done
    restored step=N rank=R                          the run goes on after N steps
    saved step=N rank=R                             a checkpoint of N steps is durable
    rejected NAME rank=R                            a checkpoint failed its check, and the one before is tried
"""

import hashlib
import io
import os
import socket
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SEED = 20261129
FEATURES = 256
HIDDEN = 256
BATCH = 32
SAVE_EVERY = 10
STEPS = 1_000_000
STEP_SECONDS = 0.1  # length of a step on a quiet machine ...
CPU_SECONDS = 0.03  # ... of which so much is computing: enough for a CPU quota of 20% to be felt
COLLECTIVE_TIMEOUT = timedelta(minutes=30)  # PyTorch's default for gloo, written down because drills depend on it
DIGEST_BYTES = 64


class ProgressLog:
    """The job's only report. O_APPEND and one write a line: atomic between processes."""

    def __init__(self, run_dir, host):
        path = os.path.join(run_dir, f"progress-{host}.log")
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def say(self, line):
        os.write(self._fd, (line + "\n").encode())


class Checkpoint:
    """`latest` and `previous` in one directory. A file is the SHA-256 of its body in hex, then the body."""

    def __init__(self, directory):
        self._directory = directory
        self._latest = os.path.join(directory, "latest")
        self._previous = os.path.join(directory, "previous")
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def save(self, state):
        body = io.BytesIO()
        torch.save(state, body)
        data = body.getvalue()
        aside = self._latest + ".tmp"
        with open(aside, "wb") as file:
            file.write(hashlib.sha256(data).hexdigest().encode())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # At every instant at least one of the two names holds a whole checkpoint.
        if os.path.exists(self._latest):
            os.replace(self._latest, self._previous)
        os.replace(aside, self._latest)
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def load(self, log, rank):
        """The newest whole state, or None."""
        for path in (self._latest, self._previous):
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                continue
            digest, body = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
            if hashlib.sha256(body).hexdigest().encode() == digest:
                return torch.load(io.BytesIO(body))
            log.say(f"rejected {os.path.basename(path)} rank={rank}")
        return None


def make_model():
    torch.manual_seed(SEED)
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1))


class Batches:
    """The function to be learnt, and the batch of each (step, rank)."""

    def __init__(self):
        generator = torch.Generator().manual_seed(SEED + 1)
        self._weights = torch.randn(FEATURES, 1, generator=generator) / FEATURES**0.5

    def at(self, step, rank):
        generator = torch.Generator().manual_seed(SEED + 2 + step * 4096 + rank)
        inputs = torch.randn(BATCH, FEATURES, generator=generator)
        return inputs, torch.sin(inputs @ self._weights)


def compute(matrix):
    """Stands for the rest of a real forward pass. By the CPU's own clock: a process that is held back takes longer."""
    until = time.thread_time() + CPU_SECONDS
    while time.thread_time() < until:
        matrix @ matrix  # pylint: disable=pointless-statement


def restore(model, optimizer, checkpoint, log, rank):
    """Rank 0 reads and broadcasts; returns the step to go on from."""
    shared = [checkpoint.load(log, rank) if rank == 0 else None]
    dist.broadcast_object_list(shared, src=0)
    state = shared[0]
    if state is None:
        return 0
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    log.say(f"restored step={state['step']} rank={rank}")
    return state["step"]


def watched(rank, world, bare, model, optimizer):
    """The job as a drill sees it; None without the binding."""
    try:
        import triodrill  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    job = triodrill.attach(rank, world)
    job.watch(bare, optimizer)
    job.hook(model)
    return job


def main():
    torch.set_num_threads(1)
    run_dir = os.environ["TRIODRILL_RUN_DIR"]
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    log = ProgressLog(run_dir, socket.gethostname())

    dist.init_process_group("gloo", timeout=COLLECTIVE_TIMEOUT)
    bare = make_model()
    optimizer = torch.optim.SGD(bare.parameters(), lr=0.05, momentum=0.9)
    checkpoint = Checkpoint(os.path.join(run_dir, "checkpoint"))
    first = restore(bare, optimizer, checkpoint, log, rank)
    model = DistributedDataParallel(bare)
    batches = Batches()
    ballast = torch.randn(128, 128)
    job = watched(rank, dist.get_world_size(), bare, model, optimizer)

    for step in range(first, STEPS):
        began = time.monotonic()
        inputs, wanted = batches.at(step, rank)
        compute(ballast)
        rest = STEP_SECONDS - (time.monotonic() - began)
        if rest > 0:
            time.sleep(rest)  # stands for the accelerator's share of the step
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()  # "gradients" begins in here, before each bucket's all-reduce
        if job is not None:
            job.phase("reduced")
        optimizer.step()
        if job is not None:
            job.phase("applied")
            job.progress(step + 1)
        log.say(f"step={step + 1} rank={rank} local_rank={local_rank} restart={restart} loss={loss.item():.6f}")
        if rank == 0 and (step + 1) % SAVE_EVERY == 0:
            checkpoint.save({"step": step + 1, "model": bare.state_dict(), "optimizer": optimizer.state_dict()})
            log.say(f"saved step={step + 1} rank={rank}")


if __name__ == "__main__":
    main()
