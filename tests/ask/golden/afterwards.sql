SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 10
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]; having: (10.0 < m0)}

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 10 AND ward <> 'east'
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]; having: and(("east" <> k0), (10.0 < m0))}

SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 10
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0]; having: (10.0 < m0)}

SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward LIMIT 5
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]; order: [m0 down, k0 up]; limit: 5}

SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [k0, m0]; order: [m0 up]}

SELECT ward, SUM(cost) / NULLIF(COUNT(*), 0) FROM visits GROUP BY ward ORDER BY AVG(age)
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(avg of "age":integer[0.0, 120.0] within [0.0, 120.0]), (count), (sum of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [k0, (m2 / case((0.0 = m1) -> null, else m1))]; order: [m0 up]}

SELECT COUNT(*) * 2 + 1, GREATEST(COUNT(*), 0), CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [((2.0 * m0) + 1.0), greatest(0.0, m0), case((5.0 < m0) -> "many", else "few")]}

SELECT UPPER(ward), COUNT(*) FROM visits GROUP BY ward
  = {from: scan("visits"); keys: ["ward":text in {"east", "north", "west"}]; measures: [(count)]; show: [upper(k0), m0]}

SELECT COUNT(*) FROM visits LIMIT 0
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]; limit: 0}
