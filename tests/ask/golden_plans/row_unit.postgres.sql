SELECT
  "key_0",
  COUNT(*) AS "people",
  COUNT(*) AS "total_0",
  CAST(SUM(CAST("value_1" AS DECIMAL)) AS BIGINT) AS "total_1"
FROM (
  SELECT
    "r1_ward" AS "key_0",
    COALESCE("r7_number", CAST(0 AS BIGINT)) AS "value_1"
  FROM (
    SELECT
      *,
      CAST(FLOOR((
        "r6_cost" / CAST('0.0009765625' AS DOUBLE PRECISION)
      ) + CAST('0.5' AS DOUBLE PRECISION)) AS BIGINT) AS "r7_number"
    FROM (
      SELECT
        *,
        CASE
          WHEN "r2_cost" = CAST('NaN' AS DOUBLE PRECISION)
          THEN CAST(NULL AS DOUBLE PRECISION)
          WHEN "r2_cost" < CAST('0.0' AS DOUBLE PRECISION)
          THEN CAST('0.0' AS DOUBLE PRECISION)
          WHEN "r2_cost" > CAST('100.0' AS DOUBLE PRECISION)
          THEN CAST('100.0' AS DOUBLE PRECISION)
          WHEN ABS("r2_cost") < CAST('1e-30' AS DOUBLE PRECISION)
          THEN CAST('0.0' AS DOUBLE PRECISION)
          ELSE "r2_cost"
        END AS "r6_cost"
      FROM (
        SELECT
          "r1_ward",
          "r2_cost"
        FROM (
          SELECT
            *,
            CASE
              WHEN "r2_cost" = CAST('NaN' AS DOUBLE PRECISION)
              THEN CAST(NULL AS DOUBLE PRECISION)
              WHEN "r2_cost" < CAST('-1e+30' AS DOUBLE PRECISION)
              THEN CAST('-1e+30' AS DOUBLE PRECISION)
              WHEN "r2_cost" > CAST('1e+30' AS DOUBLE PRECISION)
              THEN CAST('1e+30' AS DOUBLE PRECISION)
              WHEN ABS("r2_cost") < CAST('1e-30' AS DOUBLE PRECISION)
              THEN CAST('0.0' AS DOUBLE PRECISION)
              ELSE "r2_cost"
            END AS "r3_cost"
          FROM (
            SELECT
              "ward" COLLATE "C" AS "r1_ward",
              "cost" AS "r2_cost"
            FROM "sfumato"."rows"
          ) AS "r4_rows"
        ) AS "r5_rows"
        WHERE
          "r3_cost" > CAST('1.0' AS DOUBLE PRECISION)
      ) AS "r8_rows"
    ) AS "r9_rows"
  ) AS "r10_rows"
  WHERE
    (
      "r1_ward" IN ('it''s')
    ) OR (
      "r1_ward" IS NULL
    )
) AS "kept"
GROUP BY
  "key_0"
