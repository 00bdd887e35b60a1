# SPDX-License-Identifier: Apache-2.0
"""What a kernel and its processes do at network interfaces, by stores and in memory: contexts, mailboxes, pages,
messages, transfers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from exanet.karma.interface import LINE_BYTES, WAIT_CYCLES, Bench, Event, What, field, pack

CONTEXTS, CHANNELS, KEPT_CHANNELS = 16, 64, 8
"""Of a node, as gateware/ni/tb/ni_node.sv has them."""
DOMAIN = 5
MAILBOX, LOG_ENTRIES = 3, 8
PAGE = 4096
TIMEOUT, TRIES = 63, 4
"""No repetition comes amid what is measured: the longest retransmission timeout that there is."""
OWN, TARGET, ENDS, FENCES, RING, TABLES = 0x1000_0000, 0x2000_0000, 0x3000_0000, 0x3800_0000, 0x10_0000_0000, 0x70_0000_0000
"""Where bytes to send are, where they go, the words that transfers end with, fences, mailboxes, and tables of pages."""
END_WORDS = 256
"""In turn those of transfers: so many may be under way."""
FRAMES = 1 << 40
"""By how much a page's frame is above its address."""

# The interface's window (docs/gateware.md).
_SEND, _TRANSFER, _FENCE = 0x40, 0x80, 0xA0
_CONTEXTS, _CONFIG, _MAILBOXES, _DOMAINS = 0x100000, 0x104000, 0x108000, 0x10C000
_ENTRY_BYTES = 128


class Driver:
    """All nodes of a bench with their contexts and a mailbox open; `translate`: transfers by addresses of a
    protection domain."""

    def __init__(
        self, bench: Bench, *, translate: bool = False, kept_channels: Sequence[int] | None = None, log_entries: int = LOG_ENTRIES
    ) -> None:
        """`kept_channels`: of each node, that serve reads of others; 2 to the power of `log_entries` is the size of
        the mailbox."""
        self.bench = bench
        self.translate, self.log_entries = translate, log_entries
        self.kept_channels = list(kept_channels or [KEPT_CHANNELS] * bench.nodes)
        self.tables: dict[tuple[int, int], int] = {}
        """Entries of tables of pages, by node and address."""
        self.operations: list[dict[str, Any]] = []
        """What has been handed over, in order, for the model."""
        self._next_table = [TABLES + PAGE] * bench.nodes
        self._tables: dict[tuple[int, int], int] = {}
        self._ends = 0
        for node, kept in enumerate(self.kept_channels):
            timeouts = {"timeout": TIMEOUT, "block_timeout": TIMEOUT, "tries": TRIES}
            places = {"dcid": node, "y_shift": 3, "z_shift": 6}
            config = pack("ni_config", **places, **timeouts, kept_channels=kept, translate=translate)
            bench.store(node, _CONFIG, config)
            for context in range(CONTEXTS):
                bench.store(node, _CONTEXTS + 16 * context, pack("ni_context", pdid=DOMAIN, enabled=1))
            bench.store(node, _DOMAINS + 16 * DOMAIN, pack("ni_domain", valid=1, root=TABLES // PAGE))
            self.open_mailbox(node, MAILBOX, RING, log_entries)
        bench.settle()

    def open_mailbox(self, node: int, mailbox: int, ring: int, log_entries: int) -> None:
        word = pack("ni_mailbox", line=ring // _ENTRY_BYTES, log_entries=log_entries, pdid=DOMAIN, open=1)
        self.bench.store(node, _MAILBOXES + 16 * mailbox, word)

    def map(self, node: int, begin: int, count: int) -> None:
        """Puts the pages of `count` bytes into the node's tables, each in a frame that is FRAMES above it."""
        for page in range(begin // PAGE * PAGE, begin + count, PAGE):
            table = TABLES
            for level in range(3):
                at = table + 8 * (page >> 39 - 9 * level & 511)
                if (node, at) not in self._tables:
                    self._tables[node, at] = self._next_table[node]
                    self._next_table[node] += PAGE
                    self._entry(node, at, pack("ni_page", valid=1, frame=self._tables[node, at] // PAGE))
                table = self._tables[node, at]
            leaf = pack("ni_page", valid=1, leaf=1, writable=1, frame=(FRAMES + page) // PAGE)
            self._entry(node, table + 8 * (page >> 12 & 511), leaf)

    def map_transfers(self, node: int, begin: int, count: int) -> None:
        """Maps that, and the words that the node's transfers end with."""
        self.map(node, begin, count)
        self.map(node, ENDS, PAGE)

    def _entry(self, node: int, address: int, entry: int) -> None:
        self.tables[node, address] = entry
        self.bench.set(node, address, entry.to_bytes(8, "little"))

    def memory(self, address: int) -> int:
        """Where an address of a transfer is in memory."""
        return address + FRAMES if self.translate else address

    def message(self, node: int, to: int, payload: bytes, *, context: int = 0, mailbox: int = MAILBOX, behind: bool = False) -> None:
        """Stores a message, 16 bytes at a time, and what sends it, or, if `behind`, has a transfer do so that names
        its slot."""
        page = 0x1000 * context
        for at in range(0, len(payload), LINE_BYTES):
            part = payload[at : at + LINE_BYTES].ljust(LINE_BYTES, b"\0")
            self.bench.store(node, page + at, int.from_bytes(part, "little"), LINE_BYTES)
        self.bench.store(node, page + _SEND, pack("message_send", dcid=to, mailbox=mailbox, length=len(payload), behind=behind))
        self.operations.append(
            {"kind": "message", "node": node, "to": to, "bytes": len(payload), "context": context, "mailbox": mailbox, "domain": DOMAIN}
            | {"behind": behind}
        )

    def transfer(
        self,
        node: int,
        to: int,
        count: int,
        *,
        own: int = OWN,
        target: int = TARGET,
        read: bool = False,
        fence: bytes | None = None,
        message_slot: int | None = None,
        notify: bool = True,
        context: int = 0,
        narrow: bool = False,
    ) -> int:
        """Hands a transfer over, by two stores of 16 bytes or, if `narrow`, four of 8. Returns the address of the word
        at its end.

        `fence`: 8 bytes that are written behind the data, at FENCES plus the transfer's number times 16;
        `message_slot`: of the context, whose message is sent when the transfer has ended; without `notify` that word is
        not written.
        """
        token, page = self._ends % END_WORDS, 0x1000 * context
        self._ends += 1
        end, fence_word = ENDS + 8 * token, FENCES + 16 * token
        self.bench.set(node, self.memory(end), bytes(8))
        if fence is not None:
            word = pack("transfer_fence", word=fence_word // 8, value=int.from_bytes(fence, "little"))
            self.bench.store(node, page + _FENCE, word, LINE_BYTES)
        addresses = {"own": own, "target": target, "end_word": end // 8}
        behind = {"message": message_slot is not None, "message_slot": message_slot or 0}
        record = pack(
            "transfer", **addresses, **behind, length=count, dcid=to, notify=notify, read=read, fence=fence is not None, token=token
        )
        size = 8 if narrow else LINE_BYTES
        for at in range(0, 32, size):
            self.bench.store(node, page + _TRANSFER + at, record >> 8 * at & (1 << 8 * size) - 1, size)
        self.operations.append(
            {"kind": "transfer", "node": node, "to": to, "bytes": count, "own": own, "target": target, "read": read, "domain": DOMAIN}
            | {"notify": notify, "end_word": end, "fence_word": fence_word if fence is not None else 0, "fence": fence is not None}
            | behind
            | {"context": context}
        )
        return end

    def handed_over(self, events: Iterable[Event]) -> list[int]:
        """Cycles in which the bus has taken the last store of each operation, by events recorded from before the
        first of them on."""
        taken: list[deque[int]] = [deque() for _ in range(self.bench.nodes)]
        for event in events:
            begin = event.value % 0x1000
            if event.what == What.STORE and event.value < _CONTEXTS and (begin == _SEND or begin + event.place == _TRANSFER + 32):
                taken[event.node].append(event.cycle)
        return [taken[operation["node"]].popleft() for operation in self.operations]

    def ended(self, node: int, end: int) -> bool:
        """Whether a transfer has ended, by its word in memory. Raises RuntimeError when it has failed."""
        word = int.from_bytes(self.bench.get(node, self.memory(end), 8), "little")
        if field("transfer_end", "failure", word):
            raise RuntimeError(f"a transfer has failed: {word:#x}")
        return bool(field("transfer_end", "done", word))

    def until_ended(self, node: int, end: int, *, most: int = WAIT_CYCLES) -> None:
        """Polls the word that reports a transfer's end."""
        self.bench.wait(node, self.memory(end), most=most)
        self.ended(node, end)

    def until_received(self, node: int, number: int, *, ring: int = RING) -> None:
        """Polls the entry of the mailbox that message `number` goes to, in its first round, by its phase."""
        self.bench.wait(node, ring + _ENTRY_BYTES * (number + 1) - LINE_BYTES)
