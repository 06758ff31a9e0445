"""What a user writes: type checkers must have nothing to say about it."""

from __future__ import annotations

from typing import Any, assert_type

import sfumato as sf

people = sf.read(
    {"age": [30, 31, 41, 41], "ill": ["a", "b", "a", "b"]},
    schema=sf.Schema(quasi=["age"], sensitive=["ill"]),
    name="people",
)
assert_type(people, sf.Table)

release = sf.anonymize(people, sf.KAnonymity(2), suppression=0.1, order="shuffle")
assert_type(release, sf.Release)
assert_type(release.verify(), sf.audit.Verification)
assert_type(release.verify().holds, bool)
assert_type(release.suppressed, int)
release = sf.anonymize(people, sf.KAnonymity(2), algorithm="mondrian", strict=False)
mine: dict[str, Any] = {"an_option_of_a_shape_of_my_own": 3}
assert_type(sf.anonymize(people, sf.KAnonymity(2), **mine), sf.Release)

friends = sf.read([("ada", "ben"), ("ben", "cy")], shape="graph", duplicates="merge")
assert_type(friends.name, str)

with sf.Session(people, name="people", unit="row", budget=sf.PureDP(1)) as session:
    answer = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    assert_type(answer.guarantee, sf.dp.Guarantee)
    assert_type(session.remaining, sf.dp.Guarantee)

explanation = sf.dp.explain("laplace", epsilon=0.5)
assert_type(explanation, sf.dp.Explanation)
protocol = sf.local.GRR(["a", "b"], epsilon=1)
assert_type(protocol, sf.local.GRR)
