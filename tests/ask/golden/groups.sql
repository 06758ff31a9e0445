SELECT ward, COUNT(*) FROM visits GROUP BY ward
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT ward AS w, COUNT(*) FROM visits GROUP BY w
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT ward, COUNT(*) FROM visits GROUP BY 1
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT COUNT(*) FROM visits GROUP BY ward
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [m0]}

SELECT UPPER(ward), COUNT(*) FROM visits GROUP BY UPPER(ward)
  = {from: scan("visits"); keys: [upper("ward":text) in {"EAST", "NORTH", "WEST"}]; measures: [(count)]; show: [k0, m0]}

SELECT age, COUNT(*) FROM visits WHERE age BETWEEN 1 AND 3 GROUP BY age
  = {from: filter(scan("visits"), ("age":integer[0.0, 120.0] <= 3.0), (1.0 <= "age":integer[0.0, 120.0])); keys: ["age":integer[0.0, 120.0] in {1.0, 2.0, 3.0}]; measures: [(count)]; show: [k0, m0]}

SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade
  = {from: scan("visits"); keys: [(10.0 * floor(("age":integer[0.0, 120.0] / 10.0))) in {0.0, 10.0, 100.0, 110.0, 120.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, null}]; measures: [(count)]; show: [k0, m0]}

SELECT FLOOR(cost / 250) * 250 AS step, COUNT(*) FROM visits GROUP BY step
  = {from: scan("visits"); keys: [(250.0 * floor(("cost":real[0.0, 1000.0] / 250.0))) in {0.0, 1000.0, 250.0, 500.0, 750.0, null}]; measures: [(count)]; show: [k0, m0]}

SELECT FLOOR(weight / 10) * 10 AS step, COUNT(*) FROM visits GROUP BY step
  = {from: scan("visits"); keys: [(10.0 * floor(("weight":real / 10.0))) in found]; measures: [(count)]; show: [k0, m0]}

SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS who, COUNT(*) FROM visits GROUP BY who
  = {from: scan("visits"); keys: [case(("age":integer[0.0, 120.0] < 18.0) -> "child", else "adult") in {"adult", "child"}]; measures: [(count)]; show: [k0, m0]}

SELECT smoker, AVG(cost) FROM visits GROUP BY smoker
  = {from: scan("visits"); keys: ["smoker":boolean in {false, null, true}]; measures: [(avg of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [k0, m0]}

SELECT age >= 65 AS old, AVG(cost) FROM visits GROUP BY old
  = {from: scan("visits"); keys: [(65.0 <= "age":integer[0.0, 120.0]) in {false, null, true}]; measures: [(avg of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [k0, m0]}

SELECT name, COUNT(*) FROM visits GROUP BY name
  = {from: scan("visits"); keys: ["name":text in found]; measures: [(count)]; show: [k0, m0]}

SELECT name, COUNT(*) FROM visits WHERE name IN ('ann', 'bob') GROUP BY name
  = {from: filter(scan("visits"), or(("ann" = "name":text), ("bob" = "name":text))); keys: ["name":text in {"ann", "bob"}]; measures: [(count)]; show: [k0, m0]}

SELECT name, COUNT(*) FROM visits WHERE name = 'ann' GROUP BY name
  = {from: filter(scan("visits"), ("ann" = "name":text)); keys: ["name":text in {"ann"}]; measures: [(count)]; show: [k0, m0]}

SELECT days, COUNT(*) FROM visits WHERE days IN (1, 2, 3.0) GROUP BY days
  = {from: filter(scan("visits"), or(("days":integer = 1.0), ("days":integer = 2.0), ("days":integer = 3.0))); keys: ["days":integer in {1.0, 2.0, 3.0}]; measures: [(count)]; show: [k0, m0]}

SELECT YEAR(day), MONTH(day), COUNT(*) FROM visits GROUP BY YEAR(day), MONTH(day)
  = {from: scan("visits"); keys: [month("day":date) in {1.0, 10.0, 11.0, 12.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, null}, year("day":date) in found]; measures: [(count)]; show: [k1, k0, m0]}

SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) FROM visits GROUP BY y
  = {from: scan("visits"); keys: [year("day":date) in found]; measures: [(count)]; show: [k0, m0]}

SELECT day, COUNT(*) FROM visits GROUP BY day
  = {from: scan("visits"); keys: ["day":date in found]; measures: [(count)]; show: [k0, m0]}

SELECT ward, smoker, COUNT(*) FROM visits GROUP BY ward, smoker
  = {from: scan("visits"); keys: ["smoker":boolean in {false, null, true}, "ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k1, k0, m0]}

SELECT COALESCE(ward, 'none') AS w, COUNT(*) FROM visits GROUP BY w
  = {from: scan("visits"); keys: [coalesce("ward":text, "none") in {"east", "none", "north", "west"}]; measures: [(count)]; show: [k0, m0]}

SELECT SUBSTRING(ward, 1, 1) AS w, COUNT(*) FROM visits GROUP BY w
  = {from: scan("visits"); keys: [substring("ward":text, 1.0, 1.0) in {"e", "n", "w"}]; measures: [(count)]; show: [k0, m0]}

SELECT EXTRACT(DOW FROM day) AS d, COUNT(*) FROM visits GROUP BY d
  = {from: scan("visits"); keys: [weekday("day":date) in {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, null}]; measures: [(count)]; show: [k0, m0]}

SELECT QUARTER(day) AS q, COUNT(*) FROM visits GROUP BY q
  = {from: scan("visits"); keys: [quarter("day":date) in {1.0, 2.0, 3.0, 4.0, null}]; measures: [(count)]; show: [k0, m0]}

SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m
  = {from: scan("visits"); keys: [month_start("day":date) in found]; measures: [(count)]; show: [k0, m0]}

SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits WHERE day BETWEEN '2020-11-15' AND '2021-02-01' GROUP BY m
  = {from: filter(scan("visits"), ("day":date <= date("2021-02-01")), (date("2020-11-15") <= "day":date)); keys: [month_start("day":date) in {date("2020-11-01"), date("2020-12-01"), date("2021-01-01"), date("2021-02-01")}]; measures: [(count)]; show: [k0, m0]}

SELECT DATE_TRUNC('week', day) AS w, COUNT(*) FROM visits WHERE day >= '2020-12-30' AND day < '2021-01-12' GROUP BY w
  = {from: filter(scan("visits"), ("day":date < date("2021-01-12")), (date("2020-12-30") <= "day":date)); keys: [week_start("day":date) in {date("2020-12-28"), date("2021-01-04"), date("2021-01-11")}]; measures: [(count)]; show: [k0, m0]}

SELECT YEAR(day) AS y, COUNT(*) FROM visits WHERE day >= '1900-01-01' AND day < '1930-01-01' AND DAY(day) = 3 GROUP BY y
  = {from: filter(scan("visits"), ("day":date < date("1930-01-01")), (3.0 = day("day":date)), (date("1900-01-01") <= "day":date)); keys: [year("day":date) in {1900.0, 1901.0, 1902.0, 1903.0, 1904.0, 1905.0, 1906.0, 1907.0, 1908.0, 1909.0, 1910.0, 1911.0, 1912.0, 1913.0, 1914.0, 1915.0, 1916.0, 1917.0, 1918.0, 1919.0, 1920.0, 1921.0, 1922.0, 1923.0, 1924.0, 1925.0, 1926.0, 1927.0, 1928.0, 1929.0}]; measures: [(count)]; show: [k0, m0]}

SELECT day, COUNT(*) FROM visits WHERE day >= '2020-12-30' AND day < '2021-01-02' GROUP BY day
  = {from: filter(scan("visits"), ("day":date < date("2021-01-02")), (date("2020-12-30") <= "day":date)); keys: ["day":date in {date("2020-12-30"), date("2020-12-31"), date("2021-01-01")}]; measures: [(count)]; show: [k0, m0]}

SELECT day, COUNT(*) FROM visits WHERE day >= '2020-12-30' GROUP BY day
  = {from: filter(scan("visits"), (date("2020-12-30") <= "day":date)); keys: ["day":date in found]; measures: [(count)]; show: [k0, m0]}

SELECT day > '2020-01-01' AS late, COUNT(*) FROM visits WHERE day BETWEEN '2019-12-30' AND '2020-12-30' GROUP BY late
  = {from: filter(scan("visits"), ("day":date <= date("2020-12-30")), (date("2019-12-30") <= "day":date)); keys: [(date("2020-01-01") < "day":date) in {false, null, true}]; measures: [(count)]; show: [k0, m0]}
