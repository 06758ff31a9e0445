SELECT * FROM visits
  ! raw_column: * would show values of single rows. A question shows aggregates such as COUNT, SUM or AVG, and the keys of GROUP BY.
  ? SELECT COUNT(*) FROM visits

SELECT v.* FROM visits AS v
  ! raw_column: v.* would show values of single rows. A question shows aggregates such as COUNT, SUM or AVG, and the keys of GROUP BY.
  ? SELECT COUNT(*) FROM visits AS v

SELECT name FROM visits
  ! raw_column: name would show values of single rows. A question shows aggregates such as COUNT, SUM or AVG, and the keys of GROUP BY.
  ? SELECT name, COUNT(*) FROM visits GROUP BY name

SELECT name, cost FROM visits WHERE age > 90 LIMIT 1
  ! raw_column: name would show values of single rows. A question shows aggregates such as COUNT, SUM or AVG, and the keys of GROUP BY.
  ? SELECT COUNT(*) FROM visits WHERE age > 90

SELECT cost, COUNT(*) FROM visits
  ! raw_column: cost would show values of single rows. A question shows aggregates such as COUNT, SUM or AVG, and the keys of GROUP BY.
  ? SELECT COUNT(*) FROM visits

SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward
  ! distinct_top: SELECT DISTINCT shows values of single rows.
  ? SELECT ward, COUNT(*) FROM visits GROUP BY ward

SELECT DISTINCT ON (ward) name FROM visits
  ! distinct_top: SELECT DISTINCT shows values of single rows.
  ? SELECT name, COUNT(*) FROM visits GROUP BY name

SELECT 1 FROM visits
  ! no_measure: The question asks for no number: add COUNT(*) or another aggregate.
  ? SELECT COUNT(*) FROM visits

SELECT patient, COUNT(*) FROM visits GROUP BY patient
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE patient = 42
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM visits

SELECT MAX(patient) FROM visits
  ! person_shown: patient names people: it may stand in COUNT(DISTINCT patient), in the GROUP BY of a sub-query and in joins, and nowhere else.
  ? SELECT COUNT(*) FROM visits

SELECT cost, COUNT(*) FROM visits GROUP BY cost
  ! real_key: Groups of real numbers cannot be answered: cost has too many values; use FLOOR(x / 10) * 10.
  ? SELECT FLOOR(cost / 10) * 10, COUNT(*) FROM visits GROUP BY FLOOR(cost / 10) * 10

SELECT days * days, COUNT(*) FROM visits GROUP BY 1
  ! large_key: key_1 may pass 2^62 and cannot be a key.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(DISTINCT name) FROM visits
  ! distinct_values: COUNT(DISTINCT name) counts different values, and one person can change it by as many as she has rows; COUNT(DISTINCT person) counts people.
  ? SELECT COUNT(DISTINCT "patient") FROM visits

SELECT COUNT(DISTINCT patient, ward) FROM visits
  ! distinct_values: COUNT(DISTINCT CASE WHEN patient IS NULL THEN NULL WHEN ward IS NULL THEN NULL … counts different values, and one person can change it by as many as she has rows; COUNT(DISTINCT person) counts people.
  ? SELECT COUNT(DISTINCT "patient") FROM visits

SELECT SUM(DISTINCT cost) FROM visits
  ! distinct_values: An aggregate of DISTINCT cost counts different values, and one person can change it by as many as she has rows; COUNT(DISTINCT person) counts people.
  ? SELECT COUNT(*) FROM visits

SELECT MODE(ward) FROM visits
  ! not_aggregate: MODE(ward) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(ward) FROM visits

SELECT ANY_VALUE(name) FROM visits
  ! not_aggregate: ANY_VALUE(name) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT FIRST(name) FROM visits
  ! not_aggregate: FIRST(name) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT STRING_AGG(name, ',') FROM visits
  ! not_aggregate: LISTAGG(name, ',') is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT ARRAY_AGG(name) FROM visits
  ! not_aggregate: ARRAY_AGG(name) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT LIST(name) FROM visits
  ! not_aggregate: ARRAY_AGG(name) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT ARG_MAX(name, cost) FROM visits
  ! not_aggregate: ARG_MAX(name, cost) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT HISTOGRAM(age) FROM visits
  ! not_aggregate: HISTOGRAM(age) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(*) FROM visits

SELECT APPROX_COUNT_DISTINCT(name) FROM visits
  ! not_aggregate: APPROX_COUNT_DISTINCT(name) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(name) FROM visits

SELECT CORR(age, weight) FROM visits
  ! pair_bounds: CORR needs bounds of both terms, the lower below the upper: declare them, give bounds=, or write CLAMP(x, low, high).
  ? SELECT COUNT(*) FROM visits

SELECT BIT_XOR(age) FROM visits
  ! not_aggregate: BIT_XOR(age) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(age) FROM visits

SELECT BOOL_OR(smoker) FROM visits
  ! not_aggregate: BOOL_OR(CAST(smoker AS BOOLEAN)) is not an aggregate that can be answered privately; those are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN and MAX.
  ? SELECT COUNT(smoker) FROM visits

SELECT MIN(name) FROM visits
  ! kind: MIN needs a number, and a text was given.
  ? SELECT COUNT(*) FROM visits

SELECT SUM(smoker) FROM visits
  ! kind: SUM needs a number, and a condition was given.
  ? SELECT COUNT(*) FROM visits

SELECT QUANTILE(cost, 2) FROM visits
  ! bad_order: The order of a quantile is a literal number from 0 to 1.
  ? SELECT COUNT(*) FROM visits

SELECT QUANTILE(cost, age) FROM visits
  ! bad_order: The order of a quantile is a literal number from 0 to 1.
  ? SELECT COUNT(*) FROM visits

SELECT QUANTILE_CONT(cost, [0.1, 0.9]) FROM visits
  ! function: The function [0.1, 0.9] is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT SUM(SUM(cost)) FROM visits
  ! nested_aggregate: SUM(cost) is an aggregate within an aggregate; use a sub-query with GROUP BY the person.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE COUNT(*) > 3
  ! aggregate_place: COUNT(*) is an aggregate and cannot stand in WHERE.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits GROUP BY COUNT(*)
  ! aggregate_place: COUNT(*) is an aggregate and cannot stand in GROUP BY.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits GROUP BY 'x'
  ! constant_key: GROUP BY key_1 is a constant.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits GROUP BY 7
  ! bad_position: Position 7 names no column of the SELECT list.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits GROUP BY ROLLUP (ward)
  ! grouping_sets: ROLLUP (ward) is several tables in one: ask it by session.sql, or for each with its own GROUP BY, or for the finest and add up its numbers, which is free.
  ? SELECT COUNT(*) FROM visits GROUP BY ward

SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), ())
  ! grouping_sets: GROUPING SETS ((ward), ()) is several tables in one: ask it by session.sql, or for each with its own GROUP BY, or for the finest and add up its numbers, which is free.
  ? SELECT COUNT(*) FROM visits GROUP BY ward

SELECT ward, COUNT(*) FROM visits GROUP BY ALL
  ! unsupported: ALL in GROUP BY ALL is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) OVER () FROM visits
  ! window: Window functions compare the rows of different people: COUNT(*) OVER ().
  ? SELECT COUNT(*) FROM visits

SELECT ROW_NUMBER() OVER (ORDER BY cost) FROM visits
  ! window: Window functions compare the rows of different people: ROW_NUMBER() OVER (ORDER BY cost).
  ? SELECT COUNT(*) FROM visits

SELECT ward, COUNT(*) FROM visits GROUP BY ward QUALIFY ROW_NUMBER() OVER () = 1
  ! window: Window functions compare the rows of different people: QUALIFY.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM stays
  ! set_operation: UNION of queries is not answered; ask each of them on its own.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits EXCEPT SELECT COUNT(*) FROM stays
  ! set_operation: EXCEPT of queries is not answered; ask each of them on its own.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) AS u
  ! set_operation: UNION of queries is not answered; ask each of them on its own.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE patient IN (SELECT patient FROM stays)
  ! subquery_where: Sub-queries in conditions are not answered; join on the person instead.
  ? SELECT COUNT(*) FROM visits JOIN (SELECT DISTINCT patient FROM stays) AS others USING ("patient")

SELECT COUNT(*) FROM visits AS v WHERE EXISTS (SELECT 1 FROM stays AS s WHERE s.patient = v.patient)
  ! subquery_where: Sub-queries in conditions are not answered; join on the person instead.
  ? SELECT COUNT(*) FROM visits AS v

SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)
  ! subquery_where: Sub-queries in conditions are not answered; join on the person instead.
  ? SELECT COUNT(*) FROM visits

SELECT (SELECT MAX(name) FROM visits), COUNT(*) FROM visits
  ! subquery_where: Sub-queries in conditions are not answered; join on the person instead.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5
  ! random: RANDOM() is not answered: noise comes from the session, never from the engine.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) + RANDOM() FROM visits
  ! random: RANDOM() is not answered: noise comes from the session, never from the engine.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE my_function(age) > 3
  ! function: The function MY_FUNCTION is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE CURRENT_DATE > day
  ! function: The function CURRENT_DATE is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age > ?
  ! parameter: A question has no parameters such as ?; write the value itself.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age > $1
  ! parameter: A question has no parameters such as $1; write the value itself.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age > :age
  ! parameter: A question has no parameters such as $age; write the value itself.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits LIMIT 1 OFFSET 1
  ! unsupported: OFFSET in SELECT COUNT(*) FROM visits LIMIT 1 OFFSET 1 is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits LIMIT (SELECT 3)
  ! bad_limit: LIMIT takes a literal whole number.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits ORDER BY 9
  ! bad_position: Position 9 names no column of the SELECT list.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits TABLESAMPLE 10%
  ! unsupported: SAMPLE in visits TABLESAMPLE SYSTEM (10 PERCENT) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM READ_CSV('/etc/passwd')
  ! table_function: A question reads the tables of the session only, not READ_CSV('/etc/passwd').

SELECT COUNT(*) FROM '/etc/passwd'
  ! unknown_table: There is no table /etc/passwd.

SELECT COUNT(*) FROM GENERATE_SERIES(1, 10)
  ! table_function: A question reads the tables of the session only, not GENERATE_SERIES(1, 10).

SELECT COUNT(*) FROM main.visitors
  ! unknown_table: There is no table main.visitors.

SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(x)
  ! table_function: A question reads the tables of the session only, not (VALUES (1), (2)) AS t(x).

SELECT COUNT(*) FROM visits, UNNEST([1, 2])
  ! table_function: A question reads the tables of the session only, not UNNEST([1, 2]).
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR ward IN ('east'))
  ! unsupported: PIVOTS in visits PIVOT(COUNT(*) FOR ward IN ('east')) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) INTO t FROM visits
  ! unsupported: INTO in CREATE TABLE t AS SELECT COUNT(*) FROM visits is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits FOR UPDATE
  ! unsupported: LOCKS in SELECT COUNT(*) FROM visits is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

WITH RECURSIVE r AS (SELECT * FROM visits) SELECT COUNT(*) FROM r
  ! unsupported: RECURSIVE in WITH RECURSIVE r AS (SELECT * FROM visits) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits AS v(a, b)
  ! unsupported: COLUMNS in v(a, b) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT 1
  ! no_measure: The question asks for no number: add COUNT(*) or another aggregate.

SELECT
  ! no_measure: The question asks for no number: add COUNT(*) or another aggregate.

SELECT COUNT(*)
  ! no_measure: The question asks for no number: add COUNT(*) or another aggregate.

SELECT COUNT(*) FROM visits WHERE
  ! syntax: The question is not SQL that can be read: it stops making sense near 'WHERE' at line 1, column 33.

SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM stays
  ! one_statement: A question is one SELECT statement, not several.

SELECT COUNT(*) FROM visits; DROP TABLE visits
  ! one_statement: A question is one SELECT statement, not several.

INSERT INTO visits VALUES (1)
  ! one_statement: A question is one SELECT statement, not INSERT.

UPDATE visits SET age = 3
  ! one_statement: A question is one SELECT statement, not UPDATE.

DELETE FROM visits
  ! one_statement: A question is one SELECT statement, not DELETE.

DROP TABLE visits
  ! one_statement: A question is one SELECT statement, not DROP.

CREATE TABLE t AS SELECT * FROM visits
  ! one_statement: A question is one SELECT statement, not CREATE.

COPY visits TO 'x.csv'
  ! one_statement: A question is one SELECT statement, not COPY.

PRAGMA database_list
  ! one_statement: A question is one SELECT statement, not PRAGMA.

SET memory_limit = '1GB'
  ! one_statement: A question is one SELECT statement, not SET.

ATTACH 'x.db'
  ! one_statement: A question is one SELECT statement, not ATTACH.

INSTALL httpfs
  ! one_statement: A question is one SELECT statement, not INSTALL.

EXPLAIN SELECT COUNT(*) FROM visits
  ! one_statement: A question is one SELECT statement, not EXPLAIN.

DESCRIBE visits
  ! one_statement: A question is one SELECT statement, not DESCRIBE.

SHOW TABLES
  ! one_statement: A question is one SELECT statement, not SHOW.

CALL pragma_version()
  ! one_statement: A question is one SELECT statement, not CALL.

SELECT COUNT(*) FROM visit
  ! unknown_table: There is no table visit. Did you mean visits?

SELECT COUNT(*) FROM "Visits"
  ! unknown_table: There is no table Visits. Did you mean visits?

SELECT COUNT(*) FROM visits WHERE agee > 3
  ! unknown_column: There is no column agee. Did you mean age?
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE "Age" > 3
  ! unknown_column: There is no column Age. Did you mean age?
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE stays.nights > 3
  ! unknown_column: There is no column stays.nights. Did you mean weight?
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE "age; DROP TABLE visits; --" > 3
  ! unknown_column: There is no column age; DROP TABLE visits; --.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) AS "a""; DROP TABLE visits; --" FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) AS ňame FROM visits WHERE name = 'ŋ'
  = {from: filter(scan("visits"), ("\u014b" = "name":text)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa FROM visits
  ! long_name: The name aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa is longer than 60 bytes, which some engines cut.
  ? SELECT COUNT(*) FROM visits

SELECT COLUMNS(*) FROM visits
  ! function: The function COLUMNS(*) is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE {'a': age}.a > 3
  ! unsupported: {'a': age}.a is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE [age][1] > 3
  ! unsupported: [age][1] is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE list_transform([age], x -> x + 1)[1] > 3
  ! unsupported: LIST_TRANSFORM([age], LAMBDA x : x + 1)[1] is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT getenv('HOME'), COUNT(*) FROM visits
  ! function: The function GETENV is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE error(name)
  ! function: The function ERROR is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT SUM(CASE WHEN age > 3 THEN name END) FROM visits
  ! kind: SUM needs a number, and a text was given.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE FLOOR() > 3
  ! unsupported: A function without its arguments is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT SUM() FROM visits
  ! syntax: The question is not SQL that can be read: it stops making sense near ')' at line 1, column 12.

SELECT COUNT() FROM visits
  ! unsupported: COUNT() is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits AS v JOIN wards AS w ON v.name = w.region
  ! join_many: wards is joined on columns on which 2000 of its rows agree, and at most 1000 may: join on more columns, or on others.

SELECT MEDIAN(day) FROM visits
  ! date_bounds: MEDIAN of dates is looked for between bounds, and none are known: give bounds={'column': ('2020-01-01', '2029-12-31')}.
  ? SELECT MEDIAN(YEAR(day)) FROM visits

SELECT ward, smoker, SUM(cost) FROM visits GROUP BY CUBE (ward, smoker)
  ! grouping_sets: CUBE (ward, smoker) is several tables in one: ask it by session.sql, or for each with its own GROUP BY, or for the finest and add up its numbers, which is free.
  ? SELECT ward, smoker, SUM(cost) FROM visits GROUP BY ward, smoker

SELECT COUNT(*) FROM visits WHERE EXTRACT(HOUR FROM day) > 8
  ! time_of_day: EXTRACT(HOUR FROM day) asks for a time of day, and questions know dates without one; keep the hour in a column of its own.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE DATE_PART('minute', day) > 8
  ! time_of_day: DATE_PART('minute', day) asks for a time of day, and questions know dates without one; keep the hour in a column of its own.
  ? SELECT COUNT(*) FROM visits

SELECT DATE_TRUNC('hour', day), COUNT(*) FROM visits GROUP BY 1
  ! time_of_day: DATE_TRUNC('HOUR', day) asks for a time of day, and questions know dates without one; keep the hour in a column of its own.
  ? SELECT COUNT(*) FROM visits

SELECT DATE_TRUNC('decade', day), COUNT(*) FROM visits GROUP BY 1
  ! function: The function DATE_TRUNC('DECADE', day) is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('day', ward) = '2020-01-01'
  ! kind: DATE_TRUNC needs a date, and a text was given.
  ? SELECT COUNT(*) FROM visits

SELECT COVAR_POP(age, ward) FROM visits
  ! kind: COVAR_POP needs a number, and a text was given.
  ? SELECT COUNT(*) FROM visits

SELECT COVAR_POP(age, 3) FROM visits
  ! pair_bounds: COVAR_POP needs bounds of both terms, the lower below the upper: declare them, give bounds=, or write CLAMP(x, low, high).
  ? SELECT COUNT(*) FROM visits

SELECT HOUR(day), COUNT(*) FROM visits GROUP BY 1
  ! time_of_day: HOUR(day) asks for a time of day, and questions know dates without one; keep the hour in a column of its own.
  ? SELECT COUNT(*) FROM visits
