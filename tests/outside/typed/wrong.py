"""Slips of a user: each marked line must be found before the program runs."""

from __future__ import annotations

import sfumato as sf

people = sf.read({"age": [30, 31]}, schema=sf.Schema(quasi=["age"]))
sf.read("people.csv", delimter=";")  # slip
sf.read([("ada", "ben")], shape="graph", duplicates="drop")  # slip
sf.anonymize(people, sf.KAnonymity(2), supression=0.1)  # slip
sf.anonymize(people, sf.KAnonymity(2), suppression="10 %")  # slip
sf.anonymize(people, sf.KAnonymity(2), order="shuffled")  # slip
sf.anonymize(people, 5)  # slip
sf.anonymise(people, sf.KAnonymity(2))  # slip
release = sf.anonymize(people, sf.KAnonymity(2))
release.verfy()  # slip
kept = release.verify().hold  # slip
total: str = release.suppressed  # slip
sf.KAnonymity("5")  # slip
sf.dp.Laplace(sensitivity=1, epsilom=0.5)  # slip
sf.dp.laplace_noise(1)  # slip
sf.audit.chek(people)  # slip
sf.local.GRR(["a", "b"])  # slip
with sf.Session(people, name="people", unit="row", budget=sf.PureDP(1)) as session:
    session.sql("SELECT COUNT(*) FROM people", epsilo=0.5)  # slip
    stated = session.sql("SELECT COUNT(*) FROM people", epsilon=0.5).gaurantee  # slip
