# SPDX-License-Identifier: Apache-2.0
"""Measures timeline.html in Chromium: size, time to the first picture, pictures a second while it zooms; and what
these take of processors in all processes of the browser, which other work on the machine hardly changes.

usage: python bench/timeline_page.py [--ranks 128] [--messages 1000000] [--folder FOLDER] [--picture FILE]

The trace is written, not recorded: on a periodic square each rank computes, exchanges messages of three sizes with four
neighbours, and every 20 rounds reduces with all; the computing is drawn by chance. It is replayed on torus-512. Not a
part of `make bench`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from exanet import replay, results
from exanet.results import programs, timeline
from exanet.trace import folder
from exanet.trace.write import Stream

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "unit"))

from driven import Driven

REDUCES_EVERY = 20
SIZES = (64, 1024, 16384)
STEPS = 120
ZOOM = """
(async () => {
  const { view, store } = timeline, times = [], message = Math.floor(store.messages.count / 2), at = store.messages.posted[message];
  const frame = () => new Promise(requestAnimationFrame);
  look(view, view.all);
  await frame();
  for (let step = 0; step < STEPS; ++step) {
    const factor = (2 * store.messages.took[message] / store.end) ** (1 / STEPS), began = performance.now();
    zoomTime(view, factor, at);
    pan(view, 0.002, 0);
    drawNow();
    timeline.canvas.paper.getImageData(0, 0, 1, 1); // waits until all is drawn
    times.push(performance.now() - began);
    if (step % 10 === 0) await frame();
  }
  return times;
})()
"""
FRAMES = """
new Promise((done) => {
  const { view, store } = timeline, message = Math.floor(store.messages.count / 2), at = store.messages.posted[message];
  const factor = (2 * store.messages.took[message] / store.end) ** (1 / STEPS), times = [];
  look(view, view.all);
  const step = (now) => {
    times.push(now);
    if (times.length > STEPS) return done((STEPS * 1000) / (times[STEPS] - times[0]));
    zoomTime(view, factor, at);
    drawNow();
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


def write(directory: Path, ranks: int, messages: int) -> None:
    """The trace, of about so many messages between neighbours."""
    folder.prepare(directory, "--folder")
    side = next(side for side in range(int(ranks**0.5), 0, -1) if ranks % side == 0)
    rounds, height = max(1, messages // (4 * ranks)), ranks // side
    for rank in range(ranks):
        chance, stream = random.Random(rank), Stream(directory, rank, ranks)
        x, y = rank % side, rank // side
        to = [y * side + (x + 1) % side, y * side + (x - 1) % side, (y + 1) % height * side + x, (y - 1) % height * side + x]
        for number in range(rounds):
            size = SIZES[number // 7 % len(SIZES)]
            for tag, source in enumerate((to[1], to[0], to[3], to[2])):
                stream.message("Irecv", source, size, tag=tag, request=tag + 1, compute_ps=chance.randrange(5_000_000) if tag == 0 else 0)
            for tag, target in enumerate(to):
                stream.message("Isend", target, size, tag=tag, request=tag + 5)
            stream.wait(*range(1, 9))
            if number % REDUCES_EVERY == 0:
                stream.collective("Allreduce", 8, element=8)
        stream.end()
        stream.close()
    folder.finish(directory, ranks, {"program": ["stencil"]}, option="--folder")


def make(directory: Path, ranks: int, messages: int) -> Path:
    """The page of a replay."""
    write(directory / "trace", ranks, messages)
    found, meta = replay.replay(replay.Options([str(directory / "trace")], "torus-512", call_times=True))
    place = results.write(directory / "run", found, meta, tables=programs.tables(found, meta))
    began = time.monotonic()
    page = timeline.write(place)
    print(f"{len(found['calls'])} calls, {found['summary']['messages']} messages; written in {time.monotonic() - began:.1f} s")
    return page


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=128)
    parser.add_argument("--messages", type=int, default=900_000, help="between neighbours; those of reductions come on top")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="exanet-timeline-") as scratch:
        directory = options.folder or Path(scratch)
        page = (directory / "run" / timeline.FILE).resolve()
        if not page.exists():
            page = make(directory, options.ranks, options.messages).resolve()
        print(f"page: {page.stat().st_size / 1e6:.1f} MB")
        with Driven(page, Path(scratch) / "profile") as window:
            began = window.processor_s()
            window.wait("document.body && document.body.dataset.drawn")
            used = window.processor_s() - began
            print(f"first picture after {window.ask('document.body.dataset.drawn')} ms; processor time {used:.2f} s")
            times = sorted(window.ask(ZOOM.replace("STEPS", str(STEPS))))
            print(f"a picture while it zooms: median {times[STEPS // 2]:.1f} ms, 95 % within {times[STEPS * 95 // 100]:.1f} ms")
            began = window.processor_s()
            rate = window.ask(FRAMES.replace("STEPS", str(STEPS)))
            print(f"pictures a second: {rate:.0f}; processor time of each {(window.processor_s() - began) / STEPS * 1000:.1f} ms")
            if options.picture:
                window.picture(options.picture)


if __name__ == "__main__":
    main()
