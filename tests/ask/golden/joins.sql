SELECT w.region, COUNT(*) FROM visits AS v JOIN wards AS w ON v.ward = w.ward GROUP BY w.region
  = {from: join_public0(scan("visits"), "wards", "ward":text = "ward":text); keys: [public0("region":text) in {"inner", "outer"}]; measures: [(count)]; show: [k0, m0]}

SELECT region, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY region
  = {from: join_public0(scan("visits"), "wards", "ward":text = "ward":text); keys: [public0("region":text) in {"inner", "outer"}]; measures: [(count)]; show: [k0, m0]}

SELECT region, COUNT(*) FROM wards JOIN visits USING (ward) GROUP BY region
  = {from: join_public0(scan("visits"), "wards", "ward":text = "ward":text); keys: [public0("region":text) in {"inner", "outer"}]; measures: [(count)]; show: [k0, m0]}

SELECT ward, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY ward
  = {from: join_public0(scan("visits"), "wards", "ward":text = "ward":text); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT COUNT(*) FROM visits AS v LEFT JOIN wards AS w ON v.ward = w.ward WHERE w.floor IS NULL
  = {from: filter(left_join_public0(scan("visits"), "wards", "ward":text = "ward":text), missing(public0("floor":integer[0.0, 5.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits AS v LEFT OUTER JOIN wards AS w ON v.ward = w.ward AND v.age = w.floor
  = {from: left_join_public0(scan("visits"), "wards", "age":integer[0.0, 120.0] = "floor":integer[0.0, 5.0], "ward":text = "ward":text); keys: []; measures: [(count)]; show: [m0]}

SELECT SUM(beds) FROM visits AS v JOIN wards AS w ON v.ward = w.ward AND w.floor > 2
  = {from: filter(join_public0(scan("visits"), "wards", "ward":text = "ward":text), (2.0 < public0("floor":integer[0.0, 5.0]))); keys: []; measures: [(sum of public0("beds":integer[0.0, 100.0]) within [0.0, 100.0])]; show: [m0]}

SELECT SUM(v.cost) FROM visits AS v JOIN wards AS w ON LOWER(v.ward) = w.ward
  = {from: join_public0(scan("visits"), "wards", lower("ward":text) = "ward":text); keys: []; measures: [(sum of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [m0]}

SELECT COUNT(*) FROM visits AS v JOIN stays AS s ON v.patient = s.patient
  = {from: join_person0(scan("visits"), scan("stays")); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits AS v JOIN stays AS s USING (patient) WHERE s.nights > v.age
  = {from: filter(join_person0(scan("visits"), scan("stays")), ("age":integer[0.0, 120.0] < other0("nights":integer[0.0, 60.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits AS v JOIN stays AS s ON v.patient = s.patient AND v.ward = s.ward
  = {from: join_person0(scan("visits"), scan("stays"), "ward":text = "ward":text); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(DISTINCT v.patient) FROM visits AS v LEFT JOIN stays AS s ON v.patient = s.patient WHERE s.nights IS NULL
  = {from: filter(left_join_person0(scan("visits"), scan("stays")), missing(other0("nights":integer[0.0, 60.0]))); keys: []; measures: [(people)]; show: [m0]}

SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.patient = b.patient AND a.age < b.age
  = {from: filter(join_person0(scan("visits"), scan("visits")), ("age":integer[0.0, 120.0] < other0("age":integer[0.0, 120.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT AVG(p.n) FROM stays JOIN (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS p USING (patient)
  = {from: join_person0(scan("stays"), people(scan("visits"))); keys: []; measures: [(avg of other0(each(count())))]; show: [m0]}

SELECT COUNT(*) FROM visits JOIN (SELECT patient, nights / 2 AS half FROM stays) AS s USING (patient) WHERE half > 3
  = {from: filter(join_person0(scan("visits"), scan("stays")), (3.0 < other0(("nights":integer[0.0, 60.0] / 2.0)))); keys: []; measures: [(count)]; show: [m0]}

SELECT region, COUNT(*) FROM stays JOIN visits USING (patient) JOIN wards ON visits.ward = wards.ward GROUP BY region
  = {from: join_public0(join_person1(scan("stays"), scan("visits")), "wards", other1("ward":text) = "ward":text); keys: [public0("region":text) in {"inner", "outer"}]; measures: [(count)]; show: [k0, m0]}

SELECT COUNT(*) FROM visits, stays
  ! join_condition: A join needs equalities: write ON or USING; a comma or CROSS JOIN has none.
  ? SELECT COUNT(*) FROM visits JOIN stays USING ("patient")

SELECT COUNT(*) FROM visits CROSS JOIN stays
  ! join_kind: A CROSS JOIN is not answered: INNER and LEFT joins are.
  ? SELECT COUNT(*) FROM visits JOIN stays USING ("patient")

SELECT COUNT(*) FROM visits JOIN stays ON visits.ward = stays.ward
  ! join_person: Private tables are joined on the person, with visits.patient = stays.patient among the equalities.
  ? SELECT COUNT(*) FROM visits JOIN stays USING ("patient")

SELECT COUNT(*) FROM visits RIGHT JOIN stays USING (patient)
  ! join_kind: A RIGHT JOIN is not answered: INNER and LEFT joins are.
  ? SELECT COUNT(*) FROM visits JOIN stays USING (patient)

SELECT COUNT(*) FROM visits FULL JOIN wards USING (ward)
  ! join_kind: A FULL JOIN is not answered: INNER and LEFT joins are.
  ? SELECT COUNT(*) FROM visits JOIN wards USING (ward)

SELECT COUNT(*) FROM visits NATURAL JOIN wards
  ! unsupported: METHOD in NATURAL JOIN wards is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits JOIN wards ON visits.age > wards.floor
  ! join_condition: A join needs equalities: write ON column = wards.column.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward AND wards.floor > 2
  ! join_condition: A join needs equalities: the ON of a LEFT JOIN cannot hold wards.floor > 2.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM wards LEFT JOIN visits USING (ward)
  ! join_public_first: A LEFT JOIN from the public table wards gives rows that belong to nobody; begin with the private table.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM wards
  ! public_only: wards is a public table: it can be read without a question.

SELECT COUNT(*) FROM visits JOIN (SELECT * FROM wards) AS w USING (ward)
  ! public_subquery: A sub-query on the public table wards cannot be joined; join the table itself.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits JOIN wards ON visits.patient = wards.floor
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM visits

SELECT ward, COUNT(*) FROM visits JOIN stays USING (patient) GROUP BY ward
  ! ambiguous_column: ward names more than one column; say which table it is of.
  ? SELECT COUNT(*) FROM visits JOIN stays USING (patient)

SELECT COUNT(*) FROM visits JOIN visits USING (patient)
  ! duplicate_name: Two tables of the question are called visits; give one another name.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits SEMI JOIN stays USING (patient)
  ! join_kind: A SEMI JOIN is not answered: INNER and LEFT joins are.
  ? SELECT COUNT(*) FROM visits JOIN stays USING (patient)

SELECT COUNT(DISTINCT s.patient) FROM visits AS v LEFT JOIN stays AS s ON v.patient = s.patient
  ! unknown_column: There is no column s.patient. Did you mean patient?
  ? SELECT COUNT(*) FROM visits AS v LEFT JOIN stays AS s ON v.patient = s.patient
