SELECT COUNT(*) FROM visits WHERE age IN (1, 2, 3) AND name NOT IN ('a', 'b')
  = {from: filter(scan("visits"), ("a" <> "name":text), ("b" <> "name":text), or(("age":integer[0.0, 120.0] = 1.0), ("age":integer[0.0, 120.0] = 2.0), ("age":integer[0.0, 120.0] = 3.0))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE name LIKE 'a%_' OR name NOT LIKE '%b' OR name ILIKE 'C%'
  = {from: filter(scan("visits"), or(like("name":text, "a%_"), like(lower("name":text), "c%"), not(like("name":text, "%b")))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE ward IS NULL OR age IS NOT NULL OR smoker IS TRUE OR smoker IS NOT FALSE
  = {from: filter(scan("visits"), or(coalesce("smoker":boolean, false), missing("ward":text), not(coalesce(not("smoker":boolean), false)), not(missing("age":integer[0.0, 120.0])))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE day >= DATE '2020-02-29' AND day < '2021-01-01' AND YEAR(day) = 2020
  = {from: filter(scan("visits"), ("day":date < date("2021-01-01")), (2020.0 = year("day":date)), (date("2020-02-29") <= "day":date)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE DATE_PART('month', day) = 2 AND EXTRACT(DAY FROM day) = 1
  = {from: filter(scan("visits"), (1.0 = day("day":date)), (2.0 = month("day":date))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE ABS(cost - 3) * 2 / 4 + -age > FLOOR(weight) - CEIL(weight)
  = {from: filter(scan("visits"), ((floor("weight":real) - ceil("weight":real)) < (((2.0 * abs(("cost":real[0.0, 1000.0] - 3.0))) / 4.0) + (0.0 - "age":integer[0.0, 120.0])))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE ROUND(cost, 2) = 1.25 AND ROUND(cost) = 1
  = {from: filter(scan("visits"), ((round(("cost":real[0.0, 1000.0] * 100.0)) / 100.0) = 1.25), (1.0 = round("cost":real[0.0, 1000.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE CAST(age AS DOUBLE) > 1 AND CAST(cost AS INT) = 3 AND cost::BIGINT = 3
  = {from: filter(scan("visits"), (1.0 < "age":integer[0.0, 120.0]), (3.0 = round("cost":real[0.0, 1000.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE LOWER(name) = 'ann' AND LENGTH(name) = 3 AND SUBSTR(name, 1, 2) = 'an'
  = {from: filter(scan("visits"), ("an" = substring("name":text, 1.0, 2.0)), ("ann" = lower("name":text)), (3.0 = length("name":text))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE COALESCE(age, 0) = 0 AND IFNULL(age, 1) = 1 AND NULLIF(age, 3) = 2
  = {from: filter(scan("visits"), (0.0 = coalesce("age":integer[0.0, 120.0], 0.0)), (1.0 = coalesce("age":integer[0.0, 120.0], 1.0)), (2.0 = case(("age":integer[0.0, 120.0] = 3.0) -> null, else "age":integer[0.0, 120.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE CASE ward WHEN 'east' THEN age WHEN 'west' THEN 2 END > 1
  = {from: filter(scan("visits"), (1.0 < case(("east" = "ward":text) -> "age":integer[0.0, 120.0], ("ward":text = "west") -> 2.0, else null))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE IF(smoker, age, 0) > 1
  = {from: filter(scan("visits"), (1.0 < case("smoker":boolean -> "age":integer[0.0, 120.0], else 0.0))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE NOT (age > 1 AND NOT smoker) AND TRUE
  = {from: filter(scan("visits"), or("smoker":boolean, ("age":integer[0.0, 120.0] <= 1.0))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age / 0 > 1
  = {from: filter(scan("visits"), (1.0 < ("age":integer[0.0, 120.0] / 0.0))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age > NULL
  = {from: filter(scan("visits"), (null < "age":integer[0.0, 120.0])); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age > 1e3 OR age > .5 OR age > 5.
  = {from: filter(scan("visits"), or((0.5 < "age":integer[0.0, 120.0]), (1000.0 < "age":integer[0.0, 120.0]), (5.0 < "age":integer[0.0, 120.0]))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age > 1e999
  ! bad_number: A literal is not a number that every engine can hold.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age > 99999999999999999999999999999999999999999999999999999999999999
  = {from: filter(scan("visits"), (99999999999999999999999999999999999999999999999999999999999999 < "age":integer[0.0, 120.0])); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE name = 'it''s; DROP TABLE visits; --'
  = {from: filter(scan("visits"), ("it's; DROP TABLE visits; --" = "name":text)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE age = 'three'
  ! kind: The operator = needs values of one kind, such as a number, and a text was given.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE day = 'three'
  ! bad_date: 'three' is not a date written as YYYY-MM-DD.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE day > '2020-1-1'
  ! bad_date: '2020-1-1' is not a date written as YYYY-MM-DD.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age
  ! kind: WHERE needs a condition, and a number was given.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE name + 1 > 2
  ! kind: The operator + needs a number, and a text was given.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE smoker > TRUE
  ! kind: The operator > needs ordered values, and a condition was given.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age IN (1, NULL)
  ! literal: IN: NULL equals nothing, write IS NULL; a list of values needs literals.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age IN (1, cost)
  ! literal: IN needs literals.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE name LIKE ward
  ! literal: LIKE needs literals.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE name LIKE 'a\%'
  ! bad_pattern: A pattern of LIKE has no backslash and no ESCAPE.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE name LIKE 'a!%' ESCAPE '!'
  ! unsupported: name LIKE 'a!%' ESCAPE '!' is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age % 2 = 0
  ! unsupported: age % 2 is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits WHERE ((age) - (2) * FLOOR((age) / (2))) = 0

SELECT COUNT(*) FROM visits WHERE age // 2 = 0
  ! unsupported: age // 2 is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits WHERE FLOOR((age) / (2)) = 0

SELECT COUNT(*) FROM visits WHERE age ^ 2 > 0
  ! function: The function POWER(age, 2) is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE CAST(name AS INT) > 3
  ! cast: CAST of text values to integer is not part of the language: it can fail on single rows.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE TRY_CAST(name AS INT) > 3
  ! function: The function TRY_CAST(name AS INT) is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE CAST(age AS VARCHAR) = '3'
  ! cast: CAST of integer values to text is not part of the language: it can fail on single rows.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE CAST(cost AS DECIMAL(10, 2)) > 3
  ! unsupported: EXPRESSIONS in DECIMAL(10, 2) is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE day + INTERVAL 1 DAY > '2020-01-01'
  ! unsupported: INTERVAL '1' DAY is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE name || 'x' = 'ax'
  ! unsupported: name || 'x' is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE SQRT(age) > 3
  ! function: The function SQRT(age) is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(name, 'a+')
  ! function: The function REGEXP_MATCHES(name, 'a+') is not part of the language, which has no functions of users and none that engines understand differently.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE age IS DISTINCT FROM 3
  ! unsupported: age IS DISTINCT FROM 3 is not part of the language of questions.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE weight * weight * weight * weight * weight * weight * weight * weight * weight / 1e30 > 1
  ! too_small: An expression of the question may become too close to 0 for the engines' arithmetic; divide by less, or round with FLOOR.
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE days * days * days * days * days * days * days * days * days * days * days * days * days * days * days * days * days * days * days > 1
  ! too_large: An expression of the question may become too large for the engines' arithmetic; clamp it with CLAMP(x, low, high).
  ? SELECT COUNT(*) FROM visits

SELECT COUNT(*) FROM visits WHERE EXTRACT(QUARTER FROM day) = 2 AND EXTRACT(DOW FROM day) IN (0, 6)
  = {from: filter(scan("visits"), (2.0 = quarter("day":date)), or((0.0 = weekday("day":date)), (6.0 = weekday("day":date)))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE DATE_PART('dow', day) = 1 AND QUARTER(day) = 4 AND DAYOFWEEK(day) = 1
  = {from: filter(scan("visits"), (1.0 = weekday("day":date)), (4.0 = quarter("day":date))); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day) = '2020-02-01' AND DATE_TRUNC('day', day) > DATE '2020-02-03'
  = {from: filter(scan("visits"), (date("2020-02-01") = month_start("day":date)), (date("2020-02-03") < "day":date)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('week', day) < DATE_TRUNC('quarter', day)
  = {from: filter(scan("visits"), (week_start("day":date) < quarter_start("day":date))); keys: []; measures: [(count)]; show: [m0]}
