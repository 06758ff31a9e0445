SELECT COUNT(*) FROM main.visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT visits.ward, COUNT(*) FROM hospital.public.visits GROUP BY visits.ward
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT COUNT(*) FROM (visits)
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM ((SELECT * FROM visits WHERE smoker) AS v)
  = {from: filter(scan("visits"), "smoker":boolean); keys: []; measures: [(count)]; show: [m0]}

SELECT VAR(age), STD(age) FROM visits
  = {from: scan("visits"); keys: []; measures: [(stddev sample of "age":integer[0.0, 120.0] within [0.0, 120.0]), (variance sample of "age":integer[0.0, 120.0] within [0.0, 120.0])]; show: [m1, m0]}

SELECT TOP 2 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]; order: [m0 down]; limit: 2}

SELECT DISTINCT ward FROM visits
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0]; having: (1.0 <= m0)}

SELECT ward FROM visits GROUP BY ward
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0]; having: (1.0 <= m0)}

SELECT DISTINCT patient FROM visits
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM visits

SELECT POWER(COUNT(*), 2) FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [(m0 * m0)]}

SELECT ROUND(AVG(age), 1) FROM visits
  = {from: scan("visits"); keys: []; measures: [(avg of "age":integer[0.0, 120.0] within [0.0, 120.0])]; show: [(round((10.0 * m0)) / 10.0)]}

SELECT COUNT(*) FROM visits WHERE smoker = 1
  = {from: filter(scan("visits"), "smoker":boolean); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE smoker IN (0, 1)
  = {from: filter(scan("visits"), or("smoker":boolean, not("smoker":boolean))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE smoker = 2
  ! kind: The operator = needs values of one kind, such as a condition, and a number was given.
  ? SELECT COUNT(*) FROM visits

SELECT ward, 2 * n AS twice FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE n > 10 ORDER BY twice LIMIT 1
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, (2.0 * m0)]; having: (10.0 < m0); order: [(2.0 * m0) up]; limit: 1}

WITH t AS (SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY ward HAVING COUNT(*) > 5) SELECT a / n AS share FROM t WHERE a > 3
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(avg of "age":integer[0.0, 120.0] within [0.0, 120.0]), (count)]; show: [(m0 / m1)]; having: and((3.0 < m0), (5.0 < m1))}

SELECT * FROM (SELECT COUNT(*) AS n FROM visits) AS t
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT n FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS t
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS t

SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t
  ! subquery_group: A sub-query that aggregates must GROUP BY the person, so that every row still belongs to one.
  ? SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY "patient", ward) AS t

SELECT n FROM (SELECT COUNT(*) AS n FROM visits LIMIT 1) AS t
  ! subquery_order: ORDER BY and LIMIT within a sub-query compare the rows of different people.
  ? SELECT n FROM (SELECT COUNT(*) AS n FROM visits) AS t

SELECT SQRT(COUNT(*)) FROM visits
  ! not_aggregate: SQRT(COUNT(*)) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(*) FROM visits
