"""Fork safety: what a child process made by `os.fork` may use of what it inherits.

A child has one thread, and a copy of every lock as it was at the fork. A lock that another thread
held stays locked in the child for ever, over data that this thread was changing. So all registered
locks are acquired before a fork and released after it, in both processes, and no other thread is in
the middle of a change at the fork. Where a lock is not free within PATIENCE the fork goes on, and
its owner is told so in the child.

Files and connections belong to the parent: their owners give them up in the child.
"""

import os
import threading
import time
import weakref
from typing import Protocol

PATIENCE = 5.0  # seconds that a fork waits for all locks together


class Lock(Protocol):
    """A lock of the standard library."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...


class Owner(Protocol):
    """An object whose data is changed under its lock only."""

    @property
    def lock(self) -> Lock: ...

    def after_fork_in_child(self, at_rest: bool) -> None:
        """Adapt to the new process.

        `at_rest` is False if another thread was inside the lock, which is then locked for ever.
        """


class RefusedLock:
    """A lock that raises an error in place of being acquired."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        raise self.error

    def release(self) -> None:
        pass

    def __enter__(self) -> bool:
        raise self.error

    def __exit__(self, *_: object) -> None:
        pass


class Fork:
    """The forks of this process, one at a time, and the owners of locks."""

    def __init__(self) -> None:
        # A set, since adding and copying are atomic, unlike those of a WeakSet.
        self.owners: set[weakref.ref[Owner]] = set()
        self.mutex = threading.Lock()
        self.held: list[tuple[Owner, Lock]] = []
        self.busy: list[Owner] = []

    def before(self) -> None:
        self.mutex.acquire()
        deadline = time.monotonic() + PATIENCE
        for reference in self.owners.copy():
            owner = reference()
            if owner is not None:
                self.hold(owner, deadline)

    def hold(self, owner: Owner, deadline: float) -> None:
        lock = owner.lock
        if isinstance(lock, RefusedLock):  # this process is a child that may not use it
            return
        if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            self.held.append((owner, lock))
        else:
            self.busy.append(owner)

    def after_in_parent(self) -> None:
        self.release_all()
        self.busy.clear()
        self.mutex.release()

    def after_in_child(self) -> None:
        self.mutex = threading.Lock()
        resting, busy = [owner for owner, _ in self.held], list(self.busy)
        self.busy.clear()
        self.release_all()
        for owner in resting:
            owner.after_fork_in_child(at_rest=True)
        for owner in busy:
            owner.after_fork_in_child(at_rest=False)

    def release_all(self) -> None:
        while self.held:
            _, lock = self.held.pop()
            lock.release()


FORK = Fork()


def register(owner: Owner) -> None:
    """Hold the lock of `owner` during each fork, then call its `after_fork_in_child`."""
    FORK.owners.add(weakref.ref(owner, FORK.owners.discard))


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=FORK.before, after_in_parent=FORK.after_in_parent, after_in_child=FORK.after_in_child
    )
