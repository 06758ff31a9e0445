SELECT /*+ BROADCAST(v) */ COUNT(*) FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) /* ; DROP TABLE visits; */ FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits --; DROP TABLE visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits;
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits;;
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits /* unfinished
  ! syntax: The question is not SQL that can be read: it ends too early or is cut at line 1, column 1.

SELECT COUNT(*) FROM visits WHERE name = 'unfinished
  ! syntax: The question is not SQL that can be read: it ends too early or is cut at line 1, column 1.

SELECT COUNT(*) FROM visits WHERE name = $$dollar$$
  ! unsupported: 'dollar' is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits WHERE name = 'dollar'

SELECT COUNT(*) FROM visits WHERE name = E'\n'
  ! unsupported: e'\n' is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE name = 'a' 'b'
  ! function: The function CONCAT('a', 'b') is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE "name" = "ward"
  = {from: filter(scan("visits"), ("name":text = "ward":text)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age = 0x1F
  ! syntax: The question is not SQL that can be read: it stops making sense near 'x1F' at line 1, column 44.

SELECT COUNT(*) FROM visits WHERE age = 1_000
  = {from: filter(scan("visits"), ("age":integer[0.0, 120.0] = 1000.0)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age = '3'::INT
  ! cast: CAST of text values to integer is not part of the language: it can fail on single rows.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age > 1e400
  ! bad_number: A literal is not a number that every engine can hold.
  ? SELECT COUNT(*) FROM visits

SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 1e400
  ! bad_number: A literal is not a number that every engine can hold.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age IN (1e400)
  ! bad_number: A literal is not a number that every engine can hold.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age > 1e-300
  ! bad_number: A literal is not a number that every engine can hold.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*), COUNT(*), COUNT(*) AS count FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0, m0, m0]}

SELECT COUNT(*) AS n, SUM(cost) AS n FROM visits
  = {from: scan("visits"); keys: []; measures: [(count), (sum of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [m0, m1]}

SELECT COUNT(*) AS ward, ward FROM visits GROUP BY ward
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [m0, k0]}

SELECT SUM(age) AS age FROM visits WHERE age > 3 HAVING age > 100
  = {from: filter(scan("visits"), (3.0 < "age":integer[0.0, 120.0])); keys: []; measures: [(sum of "age":integer[0.0, 120.0] within [0.0, 120.0])]; show: [m0]; having: (100.0 < m0)}

SELECT FLOOR(age / 10) AS age, COUNT(*) FROM visits GROUP BY age
  = {from: scan("visits"); keys: ["age":integer[0.0, 120.0] in {0.0, 1.0, 10.0, 100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0, 108.0, 109.0, 11.0, 110.0, 111.0, 112.0, 113.0, 114.0, 115.0, 116.0, 117.0, 118.0, 119.0, 12.0, 120.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 2.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 3.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 4.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0, 48.0, 49.0, 5.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 6.0, 60.0, 61.0, 62.0, 63.0, 64.0, 65.0, 66.0, 67.0, 68.0, 69.0, 7.0, 70.0, 71.0, 72.0, 73.0, 74.0, 75.0, 76.0, 77.0, 78.0, 79.0, 8.0, 80.0, 81.0, 82.0, 83.0, 84.0, 85.0, 86.0, 87.0, 88.0, 89.0, 9.0, 90.0, 91.0, 92.0, 93.0, 94.0, 95.0, 96.0, 97.0, 98.0, 99.0, null}]; measures: [(count)]; show: [floor((k0 / 10.0)), m0]}

WITH visits AS (SELECT * FROM stays) SELECT SUM(nights) FROM visits
  = {from: scan("stays"); keys: []; measures: [(sum of "nights":integer[0.0, 60.0] within [0.0, 60.0])]; show: [m0]}

WITH a AS (SELECT * FROM visits), a AS (SELECT * FROM stays) SELECT COUNT(nights) FROM a
  ! duplicate_name: Two tables of the question are called a; give one another name.
  ? SELECT COUNT(*) FROM visits

WITH a AS (SELECT * FROM b), b AS (SELECT * FROM visits) SELECT COUNT(*) FROM a
  ! unknown_table: There is no table b.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM (WITH a AS (SELECT * FROM visits) SELECT * FROM a) AS b
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM ((SELECT * FROM visits)) AS b
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM (visits JOIN stays USING (patient))
  ! unsupported: visits JOIN stays USING (patient) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM (SELECT patient, age, age AS "AGE" FROM visits) AS v WHERE age > 3
  = {from: filter(scan("visits"), (3.0 < "age":integer[0.0, 120.0])); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM (SELECT patient, age, cost AS "AGE" FROM visits) AS v WHERE age > 3
  ! ambiguous_column: age names more than one column; say which table it is of.
  ? SELECT COUNT(*) FROM (SELECT patient, age, cost AS "AGE" FROM visits) AS v

SELECT COUNT(*) FROM (SELECT age FROM visits) AS v WHERE cost > 3
  ! unknown_column: There is no column cost.
  ? SELECT COUNT(*) FROM (SELECT age FROM visits) AS v

SELECT COUNT(DISTINCT patient) FROM (SELECT age FROM visits) AS v
  ! unknown_column: There is no column patient.
  ? SELECT COUNT(*) FROM (SELECT age FROM visits) AS v

SELECT COUNT(*) FROM visits AS v WHERE visits.age > 3
  ! unknown_column: There is no column visits.age. Did you mean age?
  ? SELECT COUNT(*) FROM visits AS v

SELECT COUNT(*) FROM visits WHERE smoker AND smoker AND smoker
  = {from: filter(scan("visits"), "smoker":boolean); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE FALSE
  = {from: filter(scan("visits"), false); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE 1 = 1
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits HAVING COUNT(*) > 3
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]; having: (3.0 < m0)}

SELECT COUNT(*) FROM visits GROUP BY ()
  ! unsupported: () is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits ORDER BY RANDOM()
  ! random: RANDOM() is not answered: noise comes from the session, never from the engine.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age = ALL (SELECT 1)
  ! unsupported: ALL (SELECT 1) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE (age, cost) = (1, 2)
  ! unsupported: (age, cost) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age COLLATE nocase = 1
  ! function: The function age COLLATE nocase is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits AT (VERSION => 3)
  ! unsupported: WHEN in visits AT (VERSION => 3) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM ONLY visits
  ! unsupported: ONLY in ONLY visits is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT AVG(age ORDER BY cost) FROM visits
  ! unsupported: age ORDER BY cost is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT SUM(cost) IGNORE NULLS FROM visits
  ! not_aggregate: SUM(cost) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT SUM(cost) FROM visits

SELECT MAX(cost, 3) FROM visits
  ! unsupported: COUNT in MAX(cost, 3) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(cost, age) FROM visits
  ! unsupported: EXPRESSIONS in COUNT(cost, age) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT QUANTILE_DISC(cost, 0.5) FROM visits
  ! not_aggregate: QUANTILE_DISC(cost, 0.5) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(cost) FROM visits

SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY cost) FROM visits
  ! not_aggregate: QUANTILE_DISC(cost, 0.5 ORDER BY cost) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(*) FROM visits

SELECT MEDIAN(DISTINCT cost) FROM visits
  ! distinct_values: An aggregate of DISTINCT cost counts different values, and one person can change it by as many as she has rows; COUNT(DISTINCT person) counts people.
  ? SELECT COUNT(*) FROM visits

SELECT AVG(cost) FILTER (WHERE COUNT(*) > 1) FROM visits
  ! aggregate_place: COUNT(*) is an aggregate and cannot stand in FILTER.
  ? SELECT COUNT(*) FROM visits

SELECT SUM(cost) FILTER (WHERE patient = 3) FROM visits
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM visits

SELECT APPROX_QUANTILE(cost, 0.5) FROM visits
  ! not_aggregate: APPROX_QUANTILE(cost, 0.5) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(cost) FROM visits
