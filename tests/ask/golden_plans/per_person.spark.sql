WITH `contributions` AS (
  SELECT
    `r4_person` AS `person`,
    COALESCE(`r16_number`, CAST(0 AS BIGINT)) AS `value_0`
  FROM (
    SELECT
      *,
      CAST(CASE WHEN ABS((
        `r15_mean` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) < 4503599627370496 THEN CAST(FLOOR((
        `r15_mean` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) AS DOUBLE) ELSE (
        `r15_mean` / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE) END AS BIGINT) AS `r16_number`
    FROM (
      SELECT
        *,
        CASE
          WHEN ISNAN(`r5_mean`)
          THEN CAST(NULL AS DOUBLE)
          WHEN `r5_mean` < CAST('0.0' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          WHEN `r5_mean` > CAST('100.0' AS DOUBLE)
          THEN CAST('100.0' AS DOUBLE)
          WHEN ABS(`r5_mean`) < CAST('1e-30' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          ELSE `r5_mean`
        END AS `r15_mean`
      FROM (
        SELECT
          `r4_person`,
          (
            (
              (
                CAST(CAST(SUM(CAST(`r8_high` AS BIGINT)) AS BIGINT) AS DOUBLE) * CAST('1073741824.0' AS DOUBLE)
              ) + CAST(CAST(SUM(CAST(`r9_low` AS BIGINT)) AS BIGINT) AS DOUBLE)
            ) * CAST('1.1102230246251565e-16' AS DOUBLE)
          ) / NULLIF(CAST(COUNT(`r6_cost`) AS DOUBLE), CAST('0.0' AS DOUBLE)) AS `r5_mean`
        FROM (SELECT
          *,
          `r7_scaled` - (
            `r8_high` * CAST('1073741824.0' AS DOUBLE)
          ) AS `r9_low`
        FROM (SELECT
          *,
          CASE WHEN ABS(`r7_scaled` / CAST('1073741824.0' AS DOUBLE)) < 4503599627370496 THEN CAST(FLOOR(`r7_scaled` / CAST('1073741824.0' AS DOUBLE)) AS DOUBLE) ELSE `r7_scaled` / CAST('1073741824.0' AS DOUBLE) END AS `r8_high`
        FROM (
          SELECT
            *,
            CASE WHEN ABS((
              `r6_cost` / CAST('1.1102230246251565e-16' AS DOUBLE)
            ) + CAST('0.5' AS DOUBLE)) < 4503599627370496 THEN CAST(FLOOR((
              `r6_cost` / CAST('1.1102230246251565e-16' AS DOUBLE)
            ) + CAST('0.5' AS DOUBLE)) AS DOUBLE) ELSE (
              `r6_cost` / CAST('1.1102230246251565e-16' AS DOUBLE)
            ) + CAST('0.5' AS DOUBLE) END AS `r7_scaled`
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
                `who` AS `r4_person`,
                `ward` AS `r1_ward`,
                `cost` AS `r2_cost`,
                CAST(`age` AS BIGINT) AS `r3_age`
              FROM `sfumato`.`visits`
              WHERE
                NOT (
                  `who` IS NULL
                )
            ) AS `r10_rows`
          ) AS `r11_rows`
        ) AS `r12_rows`) AS `r13_rows`) AS `r14_rows`
        GROUP BY
          `r4_person`
      ) AS `r17_rows`
    ) AS `r18_rows`
  ) AS `r19_rows`
), `numbered` AS (
  SELECT
    `contributions`.`person`,
    `contributions`.`value_0`,
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
              CAST(1 AS BIGINT) * 48271
            ) + `value_0`
          ) % 2147483647
        )
      ) + `u_3`
    ) % 2147483647 AS `t_row`,
    (
      (
        `u_0` * `g_0`
      ) + `u_1`
    ) % 2147483647 AS `t_high`,
    (
      (
        `u_1` * `g_1`
      ) + `u_2`
    ) % 2147483647 AS `t_low`
  FROM `numbered`
), `ranked` AS (
  SELECT
    *,
    (
      `t_row` * (
        `t_row` + `u_1`
      )
    ) % 2147483647 AS `row_rank`,
    (
      (
        (
          `t_high` * (
            `t_high` + `u_2`
          )
        ) % 2147483647
      ) * 2147483648
    ) + (
      (
        `t_low` * (
          `t_low` + `u_3`
        )
      ) % 2147483647
    ) AS `group_rank`
  FROM `drawn`
), `listed` AS (
  SELECT
    `person`,
    `value_0`,
    `group_rank`,
    `row_rank`,
    DENSE_RANK() OVER (PARTITION BY `person` ORDER BY `group_rank` ASC) AS `group_place`
  FROM `ranked`
), `placed` AS (
  SELECT
    `person`,
    `value_0`,
    ROW_NUMBER() OVER (PARTITION BY `person`, `group_rank` ORDER BY `row_rank` ASC, `value_0` ASC) AS `row_place`
  FROM `listed`
  WHERE
    `group_place` <= 1
)
SELECT
  COUNT(CASE WHEN `row_place` = 1 THEN 1 END) AS `people`,
  CAST(SUM(CAST(`value_0` AS DECIMAL(38, 0))) AS BIGINT) AS `total_0`
FROM (
  SELECT
    `person`,
    `value_0`,
    `row_place`
  FROM `placed`
  WHERE
    `row_place` <= 1
) AS `kept`
HAVING
  COUNT(*) > 0
