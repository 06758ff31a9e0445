"""Random SQL, whole and broken, and what every outcome of it must be.

Questions come from a grammar, and from it with words left out, doubled, swapped and thrown in.
"""

from __future__ import annotations

import re

import polars as pl

import sfumato as sf
from sfumato.ask.language.refusals import REASONS
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import DataError, Refused, SfumatoError
from sfumato.testing.fuzz.grammar import Grammar
from sfumato.testing.fuzz.visits import KEYS, TAG_ROWS, WARD_ROWS, draw_stays, draw_visits

SECRET = "Zanzibar-7731"
UNITS = (Row(), Unit("id", rows=3), Unit("id", groups=2, rows_per_group=2), Unit("id"))
VISITS = {
    "id": pl.Int64, "ward": pl.String, "kind": pl.String, "age": pl.Int64, "cost": pl.Float64,
    "raw": pl.Float64, "n": pl.Int64, "ok": pl.Boolean, "day": pl.Date,
}  # fmt: skip
STAYS = {"id": pl.Int64, "ward": pl.String, "nights": pl.Int64}
WORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS JOIN LEFT RIGHT FULL CROSS NATURAL ON
USING UNION ALL EXCEPT INTERSECT DISTINCT CASE WHEN THEN ELSE END AND OR NOT IN IS NULL LIKE ILIKE
BETWEEN EXISTS CAST TRY_CAST :: INTERVAL DATE TIMESTAMP RANDOM() UUID() NOW() RAISE error( SUM( AVG(
COUNT( MIN( MAX( MEDIAN( QUANTILE( STDDEV( STRING_AGG( LIST( ARG_MAX( FIRST( OVER PARTITION
ROWS QUALIFY SAMPLE TABLESAMPLE PIVOT UNPIVOT LATERAL UNNEST( VALUES RECURSIVE INSERT DELETE DROP
TABLE COPY ATTACH PRAGMA SET EXPLAIN DESCRIBE CALL read_csv('x') ; -- /* */ ' " ( ) , . * + - / %
^ || = <> < <= > >= != == ~ ? $1 :x @x #1 {'a':1} [1] 0 1 -1 1e400 0x1F 1_000 NaN Infinity 'x'
'' 'it''s' '\\' "id" "ward" id ward kind age cost raw n ok day nights floor tag visits stays
wards tags data *
x -> x+1 FILTER FOLLOWING EXTRACT( SUBSTRING( REGEXP_MATCHES( POWER( SQRT( LN( EXP( MOD( CONCAT(
CLAMP( LEAST( COALESCE( ROUND( NULLIF( IF( GREATEST( 日本 Å \t é \u0000 \ud800 sfumato.visits
information_schema.tables main.visits CURRENT_USER version() ROLLUP CUBE GROUPING SETS
""".split()  # noqa: SIM905 - easier to read and to add to


def frames(rng):
    """Make the tables that questions are about; the first names people and holds a secret."""
    rows = draw_visits(rng, range(8), 6)
    for row in rows[:3]:
        row["kind"] = SECRET
    return {
        "visits": pl.DataFrame(rows, schema=VISITS),
        "stays": pl.DataFrame(draw_stays(rng, range(8), 2), schema=STAYS),
        "wards": pl.DataFrame(WARD_ROWS),
        "tags": pl.DataFrame(TAG_ROWS),
    }


def session(rng, unit, given, **more):
    """Open a session on tables as an engine takes them, by their names."""
    budget = rng.choice((sf.PureDP(10**5), sf.ApproxDP(10**5, 0.5), sf.ZCDP(10**5)))
    return sf.Session(
        given["visits"],
        public_types=True,
        unit=unit,
        budget=budget,
        name="visits",
        bounds={"age": (0, 9), "cost": (-5, 5)},
        keys=KEYS,
        private={} if isinstance(unit, Row) else {"stays": given["stays"]},
        public={"wards": given["wards"], "tags": given["tags"]},
        **more,
    )


def mutated(rng, text):
    """Leave out, double, swap and throw in words and characters."""
    tokens = re.findall(r"'[^']*'|\w+|\s+|.", text, flags=re.DOTALL)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        place = rng.randrange(len(tokens)) if tokens else 0
        match rng.randrange(6):
            case 0:
                del tokens[place : place + 1]
            case 1:
                tokens.insert(place, f" {rng.choice(WORDS)} ")
            case 2:
                tokens[place : place + 1] = [f" {rng.choice(WORDS)} "]
            case 3 if tokens:
                other = rng.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 4:
                tokens[place:place] = tokens[place : place + rng.randrange(1, 8)]
            case _:
                tokens = tokens[: max(1, place)]
    return "".join(tokens)


def asked(rng, one, text):
    """Ask in one of the ways there are; whatever comes must be of our own."""
    try:
        return _asked(rng, one, text, {"epsilon": rng.choice(("0.01", 1))})
    except DataError as error:
        raise AssertionError(f"an engine failed on {text!r}") from error
    except SfumatoError as refusal:
        return refusal


def _asked(rng, one, text, price):
    match rng.randrange(8):
        case 0:
            return one.estimate(text, **price)
        case 1:
            return one.together([text, "SELECT COUNT(*) FROM visits"], **price)
        case 2:
            return one.sql(text, accuracy=rng.choice((0.5, 50, 1e6)))
        case 3:
            return one.sql(text, **price, bounds={rng.choice("nxraw"): (0, 3)})
        case 4:
            return one.sql(text, **price, keys={"kind": ["x", "it's", None, SECRET]})
    return one.sql(text, **price)


def questions(rng, unit, *, broken=0.6):
    """Write questions without end, some of them broken."""
    grammar = Grammar(rng, by_row=isinstance(unit, Row))
    while True:
        text = grammar.question()
        yield mutated(rng, text) if rng.random() < broken else text


def checked(rng, one, text):
    """Ask, and demand an answer or a refusal that quotes nothing."""
    found = asked(rng, one, text)
    assert SECRET not in str(found) or not isinstance(found, SfumatoError)
    assert not isinstance(found, Refused) or found.code in REASONS
    return found


def checked_afterwards(one):
    """Demand that the ledger holds and that no charge was for nothing."""
    assert one.ledger.verify().ok
    assert all(entry.kind != "failed" for entry in one.ledger.entries())
