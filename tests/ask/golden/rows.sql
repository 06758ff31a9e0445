SELECT COUNT(*), AVG(x) FROM rows
  = {from: scan("rows"); keys: []; measures: [(avg of "x":real[0.0, 10.0] within [0.0, 10.0]), (count)]; show: [m1, m0]}

SELECT ward, SUM(x) FROM rows GROUP BY ward
  = {from: scan("rows"); keys: ["ward":text in found]; measures: [(sum of "x":real[0.0, 10.0] within [0.0, 10.0])]; show: [k0, m0]}

SELECT region, SUM(x) FROM rows JOIN wards USING (ward) GROUP BY region
  = {from: join_public0(scan("rows"), "wards", "ward":text = "ward":text); keys: [public0("region":text) in {"inner", "outer"}]; measures: [(sum of "x":real[0.0, 10.0] within [0.0, 10.0])]; show: [k0, m0]}

SELECT COUNT(*) FROM (SELECT x * 2 AS y FROM rows WHERE k > 3) AS r WHERE y > 1
  = {from: filter(scan("rows"), (1.0 < ("x":real[0.0, 10.0] * 2.0)), (3.0 < "k":integer)); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM rows JOIN wards ON rows.k = wards.floor
  ! join_unique: wards is joined on columns that are not declared to name at most one of its rows, and the unit is the row: one row would count several times.
  ? SELECT COUNT(*) FROM rows

SELECT COUNT(*) FROM (SELECT ward, COUNT(*) FROM rows GROUP BY ward) AS r
  ! row_unit: The unit of rows is the row: sub-queries with GROUP BY or DISTINCT and joins of private tables would mix rows of different units.
  ? SELECT COUNT(*) FROM rows

SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM rows) AS r
  ! row_unit: The unit of rows is the row: sub-queries with GROUP BY or DISTINCT and joins of private tables would mix rows of different units.
  ? SELECT COUNT(*) FROM rows

SELECT COUNT(*) FROM rows AS a JOIN rows AS b ON a.k = b.k
  ! row_unit: The unit of rows is the row: sub-queries with GROUP BY or DISTINCT and joins of private tables would mix rows of different units.
  ? SELECT COUNT(*) FROM rows

SELECT COUNT(*) FROM rows AS a JOIN visits AS b ON a.k = b.age
  ! row_unit: The unit of rows is the row: sub-queries with GROUP BY or DISTINCT and joins of private tables would mix rows of different units.
  ? SELECT COUNT(*) FROM rows

SELECT COUNT(DISTINCT ward) FROM rows
  ! no_person: The unit of rows is the row, so that there are no people to count.
  ? SELECT COUNT(*) FROM rows
