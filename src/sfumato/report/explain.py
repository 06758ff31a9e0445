"""Pages about a promise: `sfumato explain`, and the privacy loss of any pair of laws.

Contract: one HTML file with inline SVG, without scripts, fonts or images from elsewhere. It
reads on a phone, in the dark and on paper. Every text is escaped here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from markupsafe import Markup

from sfumato.dp.explanation import ANSWERS, LOSSES
from sfumato.dp.tradeoff import trade_off_of
from sfumato.pictures.planes import Line, plane

if TYPE_CHECKING:
    from sfumato.dp.explanation import Explanation
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.tradeoff import Pair

_STYLE = Markup("""
:root { --ink: #1d2433; --soft: #5b6475; --paper: #fbfaf7; --card: #ffffff; --edge: #dfe2ea;
  --here: #2f6fb2; --there: #c2622d; --curve: #2c7a5b; --floor: #9aa3b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaf0; --soft: #a3abbb; --paper: #14171d;
  --card: #1c2129; --edge: #333b48; --here: #6fa8e0; --there: #e69563; --curve: #63c29a;
  --floor: #6d7789; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.55 Georgia, "Iowan Old Style", "Noto Serif", serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2.2rem 1.2rem 3rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.lead { color: var(--soft); margin: 0 0 1.4rem; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 10px;
  padding: 1rem 1.3rem; }
.card p:first-child { margin-top: .2rem; font-size: 1.08rem; } .card p:last-child { margin: 0; }
table { border-collapse: collapse; } td { padding: .2rem 1.6rem .2rem 0; }
td:last-child { font-variant-numeric: tabular-nums; font-weight: bold; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: .88rem; margin-top: .5rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 13px system-ui, sans-serif; }
svg .frame { stroke: var(--edge); fill: none; } svg .rule { stroke: var(--edge); }
svg .here { stroke: var(--here); } svg .there { stroke: var(--there); }
svg .curve { stroke: var(--curve); } svg .floor { stroke: var(--floor); stroke-dasharray: 6 5; }
svg polyline { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
svg .area { stroke: none; fill-opacity: .22; } svg line.here, svg line.there { stroke-width: 3; }
svg .area.here, svg rect.here { fill: var(--here); }
svg .area.there, svg rect.there { fill: var(--there); }
svg rect.curve { fill: var(--curve); stroke: none; }
svg .guess { stroke: var(--floor); stroke-opacity: .55; } svg rect.guess { fill: var(--edge);
  stroke: none; }
svg rect.floor { fill: var(--floor); stroke: none; }
footer { margin-top: 2.4rem; color: var(--soft); font-size: .85rem; }
@media print { body { background: #fff; } .card { break-inside: avoid; } }
""")

_PAGE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="lead">{guarantee}</p>
<section class="card">
{promise}
</section>
<h2>What it costs</h2>
<table>{error}</table>
<h2>How it looks</h2>
<div class="pictures">
<figure class="card">{laws}<figcaption>{caption}</figcaption></figure>
<figure class="card">{tests}<figcaption>The best that any test for “which world?” can do: the
more seldom it raises a false alarm, the more often it misses. The guarantee keeps every test
above the dashed line; the diagonal is guessing.</figcaption></figure>
</div>
<h2>What it does not promise</h2>
<ul>{limits}</ul>
<footer>Made by Sfumato from public parameters alone. No data were read.</footer>
</main>
</body>
</html>
""")


_CAPTIONS = {
    ANSWERS: "The answer that is released, as likely as it is in each of the two worlds. The truth "
    "differs by the sensitivity; the more the two overlap, the less an answer says about which "
    "world is real.",
    LOSSES: "How likely each outcome is in the two worlds, placed by how much it says about which "
    "is real: at 0 nothing, to the right for one, to the left for the other.",
}


def page(explanation: Explanation) -> str:
    """Return the page as HTML."""
    return str(
        _PAGE.format(
            style=_STYLE,
            title=f"{explanation.name[:1].upper()}{explanation.name[1:]}: what it promises",
            guarantee=_sentence(str(explanation.guarantee)),
            promise=_each("<p>{}</p>", explanation.promise),
            error=Markup("").join(
                Markup("<tr><td>{}</td><td>{}</td></tr>").format(*row) for row in explanation.error
            ),
            laws=_laws(explanation),
            caption=_CAPTIONS[explanation.axis],
            tests=_tests(explanation),
            limits=_each("<li>{}</li>", explanation.limits),
        )
    )


_STUDY = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="lead">{words}</p>
<div class="pictures">
<figure class="card">{losses}<figcaption>The privacy loss: how strongly an output speaks for the
world it came from, and how likely such outputs are. Outputs that prove it{proof}.</figcaption>
</figure>
<figure class="card">{tests}<figcaption>The best that any test for “which world?” can do. The
diagonal is guessing.</figcaption></figure>
</div>
</main>
</body>
</html>
""")


def pair_page(
    pair: Pair, *, title: str = "Privacy loss", guarantee: Guarantee | None = None
) -> str:
    """Return a page about any pair of output distributions, with a promise to compare."""
    finite = tuple(point for point in pair.loss if math.isfinite(point[0]))
    proof = sum(p for loss, p in pair.loss if loss == math.inf)
    lines = [Line("guessing", "guess", ((0.0, 1.0), (1.0, 0.0)))]
    if guarantee is not None:
        lines.append(Line("as guaranteed", "floor", trade_off_of(guarantee)))
    lines.append(Line("this pair", "curve", pair.trade_off()))
    return str(
        _STUDY.format(
            style=_STYLE,
            title=title,
            words=_sentence(str(guarantee)) if guarantee is not None else "",
            losses=plane(
                [Line("loss", "here", finite or ((0.0, 0.0),))],
                label="Distribution of the privacy loss",
                x_name="privacy loss",
                y_name="probability",
                stems=True,
            ),
            proof=f" have probability {proof:.3g}" if proof else " do not occur",
            tests=plane(
                lines,
                label="Trade-off between false alarms and missed detections",
                x_name="false alarms",
                y_name="missed",
            ),
        )
    )


def _laws(explanation: Explanation) -> Markup:
    return plane(
        [
            Line("one world", "here", explanation.here, filled=True),
            Line("the other", "there", explanation.there, filled=True),
        ],
        label="Two overlapping distributions of the released answer",
        x_name=explanation.axis,
        y_name="probability" if explanation.whole else "density",
        stems=explanation.whole,
    )


def _tests(explanation: Explanation) -> Markup:
    lines = [
        Line("guessing", "guess", ((0.0, 1.0), (1.0, 0.0))),
        Line("as guaranteed", "floor", explanation.promised),
    ]
    if explanation.curve:
        lines.append(Line("this mechanism", "curve", explanation.curve))
    return plane(
        lines,
        label="Trade-off between false alarms and missed detections",
        x_name="false alarms",
        y_name="missed",
    )


def _each(pattern: str, texts: tuple[str, ...]) -> Markup:
    return Markup("\n").join(Markup(pattern).format(text) for text in texts)  # noqa: S704 - ours


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
