SELECT COUNT(*) FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(ward) FROM visits
  = {from: scan("visits"); keys: []; measures: [(count of "ward":text)]; show: [m0]}

SELECT COUNT(patient) FROM visits
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(DISTINCT patient) FROM visits
  = {from: scan("visits"); keys: []; measures: [(people)]; show: [m0]}

SELECT COUNT(DISTINCT v.patient) AS people FROM visits AS v
  = {from: scan("visits"); keys: []; measures: [(people)]; show: [m0]}

SELECT COUNT(*) FILTER (WHERE smoker), COUNT(*) FROM visits
  = {from: scan("visits"); keys: []; measures: [(count where "smoker":boolean), (count)]; show: [m0, m1]}

SELECT COUNT(*) FROM visits WHERE age >= 18 AND (ward = 'east' OR ward = 'west')
  = {from: filter(scan("visits"), (18.0 <= "age":integer[0.0, 120.0]), or(("east" = "ward":text), ("ward":text = "west"))); keys: []; measures: [(count)]; show: [m0]}

SELECT SUM(cost), AVG(cost), VARIANCE(cost), STDDEV(cost) FROM visits
  = {from: scan("visits"); keys: []; measures: [(avg of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (stddev sample of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (sum of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (variance sample of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [m2, m0, m3, m1]}

SELECT VAR_SAMP(cost), VAR_POP(cost), STDDEV_SAMP(cost), STDDEV_POP(cost) FROM visits
  = {from: scan("visits"); keys: []; measures: [(stddev population of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (stddev sample of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (variance population of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (variance sample of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [m3, m2, m1, m0]}

SELECT MEDIAN(cost), MIN(cost), MAX(cost) FROM visits
  = {from: scan("visits"); keys: []; measures: [(quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 0), (quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 1), (quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 1/2)]; show: [m2, m0, m1]}

SELECT QUANTILE(cost, 0.25), QUANTILE_CONT(cost, 0.75) FROM visits
  = {from: scan("visits"); keys: []; measures: [(quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 1/4), (quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 3/4)]; show: [m0, m1]}

SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) FROM visits
  = {from: scan("visits"); keys: []; measures: [(quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 9/10)]; show: [m0]}

SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost DESC) FROM visits
  = {from: scan("visits"); keys: []; measures: [(quantile of "cost":real[0.0, 1000.0] within [0.0, 1000.0] order 1/10)]; show: [m0]}

SELECT SUM(weight) FROM visits
  = {from: scan("visits"); keys: []; measures: [(sum of "weight":real)]; show: [m0]}

SELECT SUM(CLAMP(weight, 30, 200)) FROM visits
  = {from: scan("visits"); keys: []; measures: [(sum of least(200.0, greatest("weight":real, 30.0)) within [30.0, 200.0])]; show: [m0]}

SELECT AVG(LEAST(GREATEST(weight, 30), 200)) FROM visits
  = {from: scan("visits"); keys: []; measures: [(avg of least(200.0, greatest("weight":real, 30.0)) within [30.0, 200.0])]; show: [m0]}

SELECT SUM(1) FROM visits
  = {from: scan("visits"); keys: []; measures: [(sum of 1.0 within [1.0, 1.0])]; show: [m0]}

SELECT SUM(CASE WHEN smoker THEN 1 ELSE 0 END) FROM visits
  = {from: scan("visits"); keys: []; measures: [(sum of case("smoker":boolean -> 1.0, else 0.0) within [0.0, 1.0])]; show: [m0]}

SELECT SUM(smoker::INT) FROM visits
  = {from: scan("visits"); keys: []; measures: [(sum of case("smoker":boolean -> 1.0, not("smoker":boolean) -> 0.0, else null) within [0.0, 1.0])]; show: [m0]}

SELECT SUM(cost) / COUNT(*) AS mean, ROUND(AVG(cost)) FROM visits
  = {from: scan("visits"); keys: []; measures: [(avg of "cost":real[0.0, 1000.0] within [0.0, 1000.0]), (count), (sum of "cost":real[0.0, 1000.0] within [0.0, 1000.0])]; show: [(m2 / m1), round(m0)]}

SELECT COUNT(*) FROM VISITS WHERE AGE > 3
  = {from: filter(scan("visits"), (3.0 < "age":integer[0.0, 120.0])); keys: []; measures: [(count)]; show: [m0]}

SELECT COUNT(*) FROM "visits" WHERE "age" > 3
  = {from: filter(scan("visits"), (3.0 < "age":integer[0.0, 120.0])); keys: []; measures: [(count)]; show: [m0]}

FROM visits SELECT COUNT(*)
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

(SELECT COUNT(*) FROM visits)
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT /* all of them */ COUNT(*) FROM visits -- and no more
  = {from: scan("visits"); keys: []; measures: [(count)]; show: [m0]}

SELECT COVAR_POP(age, cost) AS c FROM visits
  = {from: scan("visits"); keys: []; measures: [(count where not(missing("age":integer[0.0, 120.0])), not(missing("cost":real[0.0, 1000.0]))), (sum of ((least(1000.0, greatest("cost":real[0.0, 1000.0], 0.0)) - 500.0) * (least(120.0, greatest("age":integer[0.0, 120.0], 0.0)) - 60.0)) within [-30000.0, 30000.0] where not(missing("age":integer[0.0, 120.0])), not(missing("cost":real[0.0, 1000.0]))), (sum of (least(1000.0, greatest("cost":real[0.0, 1000.0], 0.0)) - 500.0) within [-500.0, 500.0] where not(missing("age":integer[0.0, 120.0])), not(missing("cost":real[0.0, 1000.0]))), (sum of (least(120.0, greatest("age":integer[0.0, 120.0], 0.0)) - 60.0) within [-60.0, 60.0] where not(missing("age":integer[0.0, 120.0])), not(missing("cost":real[0.0, 1000.0])))]; show: [case((1.0 <= m0) -> least(30000.0, greatest(((m1 / m0) - ((m2 / m0) * (m3 / m0))), -30000.0)), else null)]}

SELECT COVAR_SAMP(age, CLAMP(weight, 0, 9)) FILTER (WHERE smoker) AS c, CORR(age, CLAMP(weight, 0, 9)) FILTER (WHERE smoker) AS r FROM visits
  = {from: scan("visits"); keys: []; measures: [(count where "smoker":boolean, not(missing("age":integer[0.0, 120.0])), not(missing(least(9.0, greatest("weight":real, 0.0))))), (sum of ((least(120.0, greatest("age":integer[0.0, 120.0], 0.0)) - 60.0) * (least(120.0, greatest("age":integer[0.0, 120.0], 0.0)) - 60.0)) within [-3600.0, 3600.0] where "smoker":boolean, not(missing("age":integer[0.0, 120.0])), not(missing(least(9.0, greatest("weight":real, 0.0))))), (sum of ((least(120.0, greatest("age":integer[0.0, 120.0], 0.0)) - 60.0) * (least(9.0, greatest(0.0, least(9.0, greatest("weight":real, 0.0)))) - 4.5)) within [-270.0, 270.0] where "smoker":boolean, not(missing("age":integer[0.0, 120.0])), not(missing(least(9.0, greatest("weight":real, 0.0))))), (sum of ((least(9.0, greatest(0.0, least(9.0, greatest("weight":real, 0.0)))) - 4.5) * (least(9.0, greatest(0.0, least(9.0, greatest("weight":real, 0.0)))) - 4.5)) within [-20.25, 20.25] where "smoker":boolean, not(missing("age":integer[0.0, 120.0])), not(missing(least(9.0, greatest("weight":real, 0.0))))), (sum of (least(120.0, greatest("age":integer[0.0, 120.0], 0.0)) - 60.0) within [-60.0, 60.0] where "smoker":boolean, not(missing("age":integer[0.0, 120.0])), not(missing(least(9.0, greatest("weight":real, 0.0))))), (sum of (least(9.0, greatest(0.0, least(9.0, greatest("weight":real, 0.0)))) - 4.5) within [-4.5, 4.5] where "smoker":boolean, not(missing("age":integer[0.0, 120.0])), not(missing(least(9.0, greatest("weight":real, 0.0)))))]; show: [case((2.0 <= m0) -> least(540.0, greatest(((((m2 / m0) - ((m4 / m0) * (m5 / m0))) * m0) / (m0 - 1.0)), -540.0)), else null), case(and((0.0 < ((m1 / m0) - ((m4 / m0) * (m4 / m0)))), (0.0 < ((m3 / m0) - ((m5 / m0) * (m5 / m0)))), (2.0 <= m0)) -> least(1.0, greatest((((m2 / m0) - ((m4 / m0) * (m5 / m0))) / sqrt((((m1 / m0) - ((m4 / m0) * (m4 / m0))) * ((m3 / m0) - ((m5 / m0) * (m5 / m0)))))), -1.0)), else null)]}
