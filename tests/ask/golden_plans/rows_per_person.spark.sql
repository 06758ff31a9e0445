WITH `contributions` AS (
  SELECT
    `r4_person` AS `person`,
    COALESCE(`r6_number`, CAST(0 AS BIGINT)) AS `value_0`,
    `r6_number` AS `spread_0`
  FROM (
    SELECT
      *,
      CAST(CASE WHEN ABS((
        `r5_cost` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) < 4503599627370496 THEN CAST(FLOOR((
        `r5_cost` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) AS DOUBLE) ELSE (
        `r5_cost` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE) END AS BIGINT) AS `r6_number`
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
        END AS `r5_cost`
      FROM (
        SELECT
          `who` AS `r4_person`,
          `ward` AS `r1_ward`,
          `cost` AS `r2_cost`,
          CAST(`age` AS BIGINT) AS `r3_age`
        FROM `sfumato`.`visits`
        WHERE
          NOT (
            `who` IS NULL
          )
      ) AS `r7_rows`
    ) AS `r8_rows`
  ) AS `r9_rows`
  WHERE
    NOT (
      `r6_number` IS NULL
    )
), `numbered` AS (
  SELECT
    `contributions`.`person`,
    `contributions`.`value_0`,
    `contributions`.`spread_0`,
    `people`.`u_0`,
    `people`.`u_1`,
    `people`.`u_2`,
    `people`.`u_3`,
    CAST(1336579814 AS BIGINT) AS `g_0`,
    CAST(410250346 AS BIGINT) AS `g_1`,
    CAST(1995781156 AS BIGINT) AS `g_2`
  FROM `contributions`
  INNER JOIN (SELECT
    `person`,
    (
      CAST(CONV(SUBSTRING(`digest`, 1, 8), 16, 10) AS BIGINT) % 2147483646
    ) + 1 AS `u_0`,
    (
      CAST(CONV(SUBSTRING(`digest`, 9, 8), 16, 10) AS BIGINT) % 2147483646
    ) + 1 AS `u_1`,
    (
      CAST(CONV(SUBSTRING(`digest`, 17, 8), 16, 10) AS BIGINT) % 2147483646
    ) + 1 AS `u_2`,
    (
      CAST(CONV(SUBSTRING(`digest`, 25, 8), 16, 10) AS BIGINT) % 2147483646
    ) + 1 AS `u_3`
  FROM (
    SELECT
      `person`,
      MD5('73616c74p' || CAST(`person` AS STRING)) AS `digest`
    FROM (
      SELECT DISTINCT
        `person`
      FROM `contributions`
    ) AS `distinct_values`
  ) AS `digests`) AS `people`
    ON `contributions`.`person` = `people`.`person`
), `drawn` AS (
  SELECT
    *,
    (
      (
        `u_0` * (
          (
            (
              (
                (
                  (
                    `g_2` * 48271
                  ) + (
                    (
                      `value_0` * `value_0`
                    ) % 2147483647
                  )
                ) % 2147483647
              ) * 48271
            ) + `spread_0`
          ) % 2147483647
        )
      ) + `u_3`
    ) % 2147483647 AS `t_row`
  FROM `numbered`
), `ranked` AS (
  SELECT
    *,
    (
      `t_row` * (
        `t_row` + `u_1`
      )
    ) % 2147483647 AS `row_rank`
  FROM `drawn`
), `placed` AS (
  SELECT
    `person`,
    `value_0`,
    `spread_0`,
    ROW_NUMBER() OVER (PARTITION BY `person` ORDER BY `row_rank` ASC, ABS(`value_0`) ASC, `spread_0` ASC) AS `row_place`
  FROM `ranked`
)
SELECT
  `spread_0`,
  COUNT(DISTINCT `person`) AS `people`,
  SUM(CAST(`value_0` AS DECIMAL(38, 0)) * CAST(`value_0` AS DECIMAL(38, 0))) AS `total_0`
FROM (
  SELECT
    `person`,
    `value_0`,
    `spread_0`,
    `row_place`
  FROM `placed`
  WHERE
    `row_place` <= 3
) AS `kept`
GROUP BY
  `spread_0`
