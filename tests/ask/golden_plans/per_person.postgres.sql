SELECT
  COUNT(CASE WHEN "row_place" = 1 THEN 1 END) AS "people",
  CAST(SUM(CAST("value_0" AS DECIMAL)) AS BIGINT) AS "total_0"
FROM (
  WITH "contributions" AS (
    SELECT
      "r4_person" AS "person",
      COALESCE("r16_number", CAST(0 AS BIGINT)) AS "value_0"
    FROM (
      SELECT
        *,
        CAST(FLOOR((
          "r15_mean" / CAST('0.0009765625' AS DOUBLE PRECISION)
        ) + CAST('0.5' AS DOUBLE PRECISION)) AS BIGINT) AS "r16_number"
      FROM (
        SELECT
          *,
          CASE
            WHEN "r5_mean" = CAST('NaN' AS DOUBLE PRECISION)
            THEN CAST(NULL AS DOUBLE PRECISION)
            WHEN "r5_mean" < CAST('0.0' AS DOUBLE PRECISION)
            THEN CAST('0.0' AS DOUBLE PRECISION)
            WHEN "r5_mean" > CAST('100.0' AS DOUBLE PRECISION)
            THEN CAST('100.0' AS DOUBLE PRECISION)
            WHEN ABS("r5_mean") < CAST('1e-30' AS DOUBLE PRECISION)
            THEN CAST('0.0' AS DOUBLE PRECISION)
            ELSE "r5_mean"
          END AS "r15_mean"
        FROM (
          SELECT
            "r4_person",
            (
              (
                (
                  CAST(CAST(SUM(CAST("r8_high" AS BIGINT)) AS BIGINT) AS DOUBLE PRECISION) * CAST('1073741824.0' AS DOUBLE PRECISION)
                ) + CAST(CAST(SUM(CAST("r9_low" AS BIGINT)) AS BIGINT) AS DOUBLE PRECISION)
              ) * CAST('1.1102230246251565e-16' AS DOUBLE PRECISION)
            ) / NULLIF(CAST(COUNT("r6_cost") AS DOUBLE PRECISION), CAST('0.0' AS DOUBLE PRECISION)) AS "r5_mean"
          FROM (SELECT
            *,
            "r7_scaled" - (
              "r8_high" * CAST('1073741824.0' AS DOUBLE PRECISION)
            ) AS "r9_low"
          FROM (SELECT
            *,
            FLOOR("r7_scaled" / CAST('1073741824.0' AS DOUBLE PRECISION)) AS "r8_high"
          FROM (
            SELECT
              *,
              FLOOR((
                "r6_cost" / CAST('1.1102230246251565e-16' AS DOUBLE PRECISION)
              ) + CAST('0.5' AS DOUBLE PRECISION)) AS "r7_scaled"
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
                  "who" AS "r4_person",
                  "ward" COLLATE "C" AS "r1_ward",
                  "cost" AS "r2_cost",
                  CAST("age" AS BIGINT) AS "r3_age"
                FROM "sfumato"."visits"
                WHERE
                  NOT (
                    "who" IS NULL
                  )
              ) AS "r10_rows"
            ) AS "r11_rows"
          ) AS "r12_rows" OFFSET 0) AS "r13_rows" OFFSET 0) AS "r14_rows"
          GROUP BY
            "r4_person"
        ) AS "r17_rows"
      ) AS "r18_rows"
    ) AS "r19_rows"
  ), "numbered" AS (
    SELECT
      "contributions"."person",
      "contributions"."value_0",
      "people"."u_0",
      "people"."u_1",
      "people"."u_2",
      "people"."u_3",
      CAST(1336579814 AS BIGINT) AS "g_0",
      CAST(410250346 AS BIGINT) AS "g_1",
      CAST(1995781156 AS BIGINT) AS "g_2"
    FROM "contributions"
    INNER JOIN (SELECT
      "person",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 1 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "u_0",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 9 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "u_1",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 17 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "u_2",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 25 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "u_3"
    FROM (
      SELECT
        "person",
        MD5('73616c74p' || CAST("person" AS TEXT)) AS "digest"
      FROM (
        SELECT DISTINCT
          "person"
        FROM "contributions"
      ) AS "distinct_values"
    ) AS "digests" OFFSET 0) AS "people"
      ON "contributions"."person" = "people"."person"
  ), "drawn" AS (
    SELECT
      *,
      (
        (
          "u_0" * (
            (
              (
                CAST(1 AS BIGINT) * 48271
              ) + "value_0"
            ) % 2147483647
          )
        ) + "u_3"
      ) % 2147483647 AS "t_row",
      (
        (
          "u_0" * "g_0"
        ) + "u_1"
      ) % 2147483647 AS "t_high",
      (
        (
          "u_1" * "g_1"
        ) + "u_2"
      ) % 2147483647 AS "t_low"
    FROM "numbered"
  ), "ranked" AS (
    SELECT
      *,
      (
        "t_row" * (
          "t_row" + "u_1"
        )
      ) % 2147483647 AS "row_rank",
      (
        (
          (
            "t_high" * (
              "t_high" + "u_2"
            )
          ) % 2147483647
        ) * 2147483648
      ) + (
        (
          "t_low" * (
            "t_low" + "u_3"
          )
        ) % 2147483647
      ) AS "group_rank"
    FROM "drawn"
  ), "listed" AS (
    SELECT
      "person",
      "value_0",
      "group_rank",
      "row_rank",
      DENSE_RANK() OVER (PARTITION BY "person" ORDER BY "group_rank" ASC NULLS FIRST) AS "group_place"
    FROM "ranked"
  ), "placed" AS (
    SELECT
      "person",
      "value_0",
      ROW_NUMBER() OVER (
        PARTITION BY "person", "group_rank"
        ORDER BY "row_rank" ASC NULLS FIRST, "value_0" ASC NULLS FIRST
      ) AS "row_place"
    FROM "listed"
    WHERE
      "group_place" <= 1
  )
  SELECT
    "person",
    "value_0",
    "row_place"
  FROM "placed"
  WHERE
    "row_place" <= 1
) AS "kept"
HAVING
  COUNT(*) > 0
