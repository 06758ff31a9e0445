SELECT
  `key_0`,
  COUNT(*) AS `people`,
  COUNT(*) AS `total_0`,
  CAST(SUM(CAST(`value_1` AS DECIMAL(38, 0))) AS BIGINT) AS `total_1`
FROM (
  SELECT
    `r1_ward` AS `key_0`,
    COALESCE(`r7_number`, CAST(0 AS BIGINT)) AS `value_1`
  FROM (
    SELECT
      *,
      CAST(CASE WHEN ABS((
        `r6_cost` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) < 4503599627370496 THEN CAST(FLOOR((
        `r6_cost` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) AS DOUBLE) ELSE (
        `r6_cost` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE) END AS BIGINT) AS `r7_number`
    FROM (
      SELECT
        *,
        CASE
          WHEN ISNAN(`r2_cost`)
          THEN CAST(NULL AS DOUBLE)
          WHEN `r2_cost` < CAST('0.0' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          WHEN `r2_cost` > CAST('100.0' AS DOUBLE)
          THEN CAST('100.0' AS DOUBLE)
          WHEN ABS(`r2_cost`) < CAST('1e-30' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          ELSE `r2_cost`
        END AS `r6_cost`
      FROM (
        SELECT
          `r1_ward`,
          `r2_cost`
        FROM (
          SELECT
            *,
            CASE
              WHEN ISNAN(`r2_cost`)
              THEN CAST(NULL AS DOUBLE)
              WHEN `r2_cost` < CAST('-1e+30' AS DOUBLE)
              THEN CAST('-1e+30' AS DOUBLE)
              WHEN `r2_cost` > CAST('1e+30' AS DOUBLE)
              THEN CAST('1e+30' AS DOUBLE)
              WHEN ABS(`r2_cost`) < CAST('1e-30' AS DOUBLE)
              THEN CAST('0.0' AS DOUBLE)
              ELSE `r2_cost`
            END AS `r3_cost`
          FROM (
            SELECT
              `ward` AS `r1_ward`,
              `cost` AS `r2_cost`
            FROM `sfumato`.`rows`
          ) AS `r4_rows`
        ) AS `r5_rows`
        WHERE
          `r3_cost` > CAST('1.0' AS DOUBLE)
      ) AS `r8_rows`
    ) AS `r9_rows`
  ) AS `r10_rows`
  WHERE
    (
      `r1_ward` IN (CAST(X'69742773' AS STRING))
    ) OR (
      `r1_ward` IS NULL
    )
) AS `kept`
GROUP BY
  `key_0`
