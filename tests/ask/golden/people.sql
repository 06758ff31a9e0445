SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS p
  = {from: people(scan("visits")); keys: []; measures: [(avg of each(count()))]; show: [m0]}

WITH p AS (SELECT patient, SUM(cost) AS total, MAX(age) AS age FROM visits GROUP BY patient) SELECT MEDIAN(total) FROM p WHERE age > 50
  = {from: filter(people(scan("visits")), (50.0 < each(max("age":integer[0.0, 120.0])[0.0, 120.0]))); keys: []; measures: [(quantile of each(sum("cost":real[0.0, 1000.0])[0.0, 1000.0]) order 1/2)]; show: [m0]}

SELECT n, COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS p WHERE n BETWEEN 1 AND 5 GROUP BY n
  = {from: filter(people(scan("visits")), (1.0 <= each(count())), (each(count()) <= 5.0)); keys: [each(count()) in {1.0, 2.0, 3.0, 4.0, 5.0}]; measures: [(count)]; show: [k0, m0]}

SELECT ward, AVG(total) FROM (SELECT patient, ward, SUM(cost) AS total FROM visits GROUP BY patient, ward) AS p GROUP BY ward
  = {from: people(scan("visits"), key("ward":text)); keys: [key("ward":text) in {"east", "north", "west"}]; measures: [(avg of each(sum("cost":real[0.0, 1000.0])[0.0, 1000.0]))]; show: [k0, m0]}

SELECT COUNT(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING COUNT(*) > 3) AS p
  = {from: filter(people(scan("visits")), (3.0 < each(count()))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM (SELECT DISTINCT patient FROM visits) AS p
  = {from: people(scan("visits")); keys: []; measures: [(count)]; show: [m0]}

SELECT ward, COUNT(*) FROM (SELECT DISTINCT patient, ward FROM visits) AS p GROUP BY ward
  = {from: people(scan("visits"), key("ward":text)); keys: [key("ward":text) in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT AVG(r) FROM (SELECT patient, SUM(cost) / COUNT(*) AS r FROM visits GROUP BY patient) AS p
  = {from: people(scan("visits")); keys: []; measures: [(avg of (each(sum("cost":real[0.0, 1000.0])[0.0, 1000.0]) / each(count())))]; show: [m0]}

SELECT AVG(n) FROM (SELECT patient, COUNT(*) FILTER (WHERE smoker) AS n FROM visits GROUP BY patient) AS p
  = {from: people(scan("visits")); keys: []; measures: [(avg of each(count(case("smoker":boolean -> 1.0, else null))))]; show: [m0]}

SELECT COUNT(DISTINCT who) FROM (SELECT patient AS who, age FROM visits) AS v WHERE age > 3
  = {from: filter(scan("visits"), (3.0 < "age":integer[0.0, 120.0])); keys: []; measures: [(people)]; show: [m0]}

WITH a AS (SELECT * FROM visits WHERE age > 3), b AS (SELECT patient, cost * 2 AS c FROM a) SELECT SUM(c) FROM b
  = {from: filter(scan("visits"), (3.0 < "age":integer[0.0, 120.0])); keys: []; measures: [(sum of ("cost":real[0.0, 1000.0] * 2.0) within [0.0, 2000.0])]; show: [m0]}

SELECT AVG(m) FROM (SELECT patient, AVG(n) AS m FROM (SELECT patient, ward, CLAMP(COUNT(*), 0, 9) AS n FROM visits GROUP BY patient, ward) AS w GROUP BY patient) AS p
  = {from: people(people(scan("visits"), key("ward":text))); keys: []; measures: [(avg of each(avg(least(9.0, greatest(0.0, each(count()))))[0.0, 9.0]) within [0.0, 9.0])]; show: [m0]}

SELECT SUM(total) FROM (SELECT patient, SUM(weight) AS total FROM visits GROUP BY patient) AS p
  ! subquery_bounds: SUM(weight) per person needs bounds: write SUM(CLAMP(x, low, high)), or give bounds.
  ? SELECT SUM(total) FROM (SELECT patient, SUM(CLAMP(weight, 0, 100)) AS total FROM visits GROUP BY patient) AS p

SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS p
  ! subquery_group: A sub-query that aggregates must GROUP BY the person, so that every row still belongs to one.
  ? SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY "patient", ward) AS p

SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits) AS p
  ! subquery_group: A sub-query that aggregates must GROUP BY the person, so that every row still belongs to one.
  ? SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY "patient") AS p

SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) AS p
  ! subquery_distinct: SELECT DISTINCT in a sub-query must list the person, so that every row still belongs to one.
  ? SELECT COUNT(*) FROM (SELECT DISTINCT "patient", ward FROM visits) AS p

SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 10) AS p
  ! subquery_order: ORDER BY and LIMIT within a sub-query compare the rows of different people.
  ? SELECT COUNT(*) FROM (SELECT * FROM visits) AS p

SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age) AS p
  ! subquery_order: ORDER BY and LIMIT within a sub-query compare the rows of different people.
  ? SELECT COUNT(*) FROM (SELECT * FROM visits) AS p

SELECT MAX(n) FROM (SELECT patient, MEDIAN(cost) AS n FROM visits GROUP BY patient) AS p
  ! subquery_aggregate: MEDIAN(cost) cannot be computed per person; COUNT, SUM, AVG, MIN and MAX can.
  ? SELECT MAX(n) FROM (SELECT patient, AVG(cost) AS n FROM visits GROUP BY patient) AS p

SELECT COUNT(*) FROM (SELECT patient, cost FROM visits GROUP BY patient) AS p
  ! raw_column: cost would show values of single rows. A question shows aggregates such as COUNT, SUM or AVG, and the keys of GROUP BY.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM (SELECT patient, COUNT(*) FROM visits GROUP BY patient, cost) AS p
  ! real_key: Groups of real numbers cannot be answered: cost has too many values; use FLOOR(x / 10) * 10.
  ? SELECT COUNT(*) FROM visits
