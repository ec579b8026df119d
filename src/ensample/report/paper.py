"""The claims and what was measured, as one self-contained page."""

from collections.abc import Sequence
from html import escape

from ensample.claims import Row, Scale, Verdict

__all__ = ["page"]

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
article{border-left:4px solid #999;padding:.2rem 1rem;margin:1.5rem 0}.holds{border-color:#2a7}.refuted{border-color:#c33}
.inconclusive{border-color:#d90}code{background:#f3f3f3;padding:.1em .3em}dl{display:grid;grid-template-columns:8rem 1fr}
dt{color:#666}dd{margin:0}"""


def page(rows: Sequence[Row], scale: Scale, seed: int) -> str:
    """HTML that needs nothing else."""
    counts = ", ".join(
        f"{count} {verdict.value}" for verdict in Verdict if (count := sum(row.outcome.verdict is verdict for row in rows))
    )
    parts: list[str] = []
    section = None
    for row in rows:
        if row.claim.section is not section:
            section = row.claim.section
            parts.append(f"<h2>{escape(section.value)}</h2>")
        parts.append(article(row))
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>The executable paper</title><style>{STYLE}</style>'
    intro = f"<h1>The executable paper</h1><p>{len(rows)} claims at scale {scale.value}, seed {seed}: {counts}.</p>"
    return "\n".join([head, intro, *parts, "</html>", ""])


def article(row: Row) -> str:
    claim, outcome = row.claim, row.outcome
    verdict = outcome.verdict.value
    if outcome.decides is not None:
        verdict += f" ({outcome.decides:,} samples would decide)"
    facts = {
        "statement": claim.statement,
        "formula": claim.latex,
        "reference": claim.reference,
        "assumes": "; ".join(claim.assumptions),
        "measured": f"{outcome.measured:.6g} {outcome.relation} {outcome.bound:.6g}, margin {outcome.margin:+.2%}",
        "sample": f"{outcome.sample:,} in {row.seconds:.1f} s",
        "detail": outcome.detail,
        "note": claim.note,
        "broken twin": claim.broken.description,
    }
    lines = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text)
    title = f"<h3>{escape(claim.title)}: {escape(verdict)}</h3><code>{escape(claim.id)}</code>"
    return f'<article class="{outcome.verdict.value}" id="{claim.id}">{title}<dl>{lines}</dl></article>'
