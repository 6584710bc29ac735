"""A program explained: its stages and its cost as text or as one page of HTML."""

from __future__ import annotations

from axiomjit.base.locks import import_late
from axiomjit.show.lowered import Lowered


class Explanation:
    """What `f.explain(*args)` gives: `str()` is text, `.html()` a page."""

    def __init__(self, name: str, lowered: Lowered) -> None:
        """Explain a lowered program of a function called `name`."""
        self._name, self._lowered = name, lowered

    def _sections(self) -> tuple[tuple[str, str], ...]:
        lowered = self._lowered
        cost = lowered.cost
        sums = (
            f"kernels {cost.kernels}, library calls {cost.library_calls}\n"
            f"reads {cost.bytes_read:,} bytes, writes {cost.bytes_written:,} bytes, "
            f"{cost.flops:,} operations\n"
            f"temporaries {cost.temporary_bytes:,} bytes, scratch {cost.scratch_bytes:,} bytes, "
            f"at most {cost.peak_bytes:,} bytes at once with results\n"
        )
        return (
            ("cost", sums),
            ("graph: what is computed", lowered.graph),
            ("views: what is stored and how it is read", lowered.views),
            ("loops: fused, ordered, blocked", lowered.loops),
            ("source: what is compiled", lowered.source),
            ("legend: what the names in the source are", lowered.legend),
        )

    def __str__(self) -> str:
        parts = [f"{self._name}\n"]
        for title, text in self._sections():
            parts.append(f"-- {title} --\n{text}")
        return "\n".join(parts)

    __repr__ = __str__

    def html(self) -> str:
        """A self-contained page with one section per stage; nothing is loaded from elsewhere."""
        import_late("html")  # here, since it takes long to import
        from html import escape

        sections = "".join(
            f"<h2>{escape(title)}</h2><pre>{escape(text)}</pre>" for title, text in self._sections()
        )
        style = (
            "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}"
            "pre{overflow-x:auto;padding:1rem;background:#f4f4f2;color:#111;border-radius:6px}"
            "@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}"
            "pre{background:#222;color:#eee}}"
        )
        return (
            f"<!doctype html><html lang=en><meta charset=utf-8>"
            f"<meta name=viewport content='width=device-width,initial-scale=1'>"
            f"<title>{escape(self._name)}</title><style>{style}</style>"
            f"<h1>{escape(self._name)}</h1>{sections}</html>"
        )
