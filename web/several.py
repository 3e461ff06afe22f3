"""What a server's figures are when several processes serve: everybody's, each sample with its process.

A scrape reaches one of the processes, which asks the others. A process that does not say in time what it
measures is missing from that scrape.
"""

from __future__ import annotations

from collections.abc import Mapping

WITHIN_S = 0.5
SHARED = ("antiphon_disk_free_bytes", "antiphon_disk_low")
"""The same for all processes: told once, by the one that is asked."""


def gathered(pages: Mapping[int, bytes], asked: int) -> bytes:
    """One exposition of many: number of a process -> its page. `asked` is the one that was scraped."""
    families: dict[str, tuple[list[bytes], list[bytes]]] = {}
    for worker, page in sorted(pages.items()):
        name = ""
        for line in page.splitlines(keepends=True):
            if line.startswith(b"#"):
                name = line.split(maxsplit=3)[2].decode()
                heading, _ = families.setdefault(name, ([], []))
                if line not in heading:
                    heading.append(line)
            elif name in SHARED:
                if worker == asked:
                    families[name][1].append(line)
            else:
                families[name][1].append(_labelled(line, worker))
    return b"".join(b"".join((*heading, *samples)) for heading, samples in families.values())


def _labelled(sample: bytes, worker: int) -> bytes:
    """`name{a="b"} 1` or `name 1`, with one more label."""
    name, brace, rest = sample.partition(b"{")
    label = b'worker="%d"' % worker
    if brace:
        return b"%s{%s,%s" % (name, label, rest)
    name, _, value = sample.partition(b" ")
    return b"%s{%s} %s" % (name, label, value)
