"""A progress bar for those who have waited long enough to want one."""

import time

from rich.progress import Progress

PATIENCE = 2.0  # seconds before it appears


class LateProgress:
    """Shows (done, total) once some seconds have passed."""

    def __init__(self, bars: Progress, what: str) -> None:
        self.bars = bars
        self.task = self.bars.add_task(what, total=None)
        self.start = time.monotonic()

    def show(self, done: int, total: int) -> None:
        if time.monotonic() - self.start > PATIENCE and not self.bars.live.is_started:
            self.bars.start()
        self.bars.update(self.task, completed=done, total=total)

    def __enter__(self) -> "LateProgress":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars.live.is_started:
            self.bars.stop()
