SELECT
  "spread_0",
  COUNT(DISTINCT "person") AS "people",
  SUM(CAST("value_0" AS DECIMAL) * CAST("value_0" AS DECIMAL)) AS "total_0"
FROM (
  WITH "contributions" AS NOT MATERIALIZED (
    SELECT
      "r4_person" AS "person",
      COALESCE("r6_number", CAST(0 AS BIGINT)) AS "value_0",
      "r6_number" AS "spread_0"
    FROM (
      SELECT
        *,
        CAST(FLOOR((
          "r5_cost" / CAST('0.0009765625' AS DOUBLE PRECISION)
        ) + CAST('0.5' AS DOUBLE PRECISION)) AS BIGINT) AS "r6_number"
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
          END AS "r5_cost"
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
        ) AS "r7_rows"
      ) AS "r8_rows"
    ) AS "r9_rows"
    WHERE
      NOT (
        "r6_number" IS NULL
      )
  ), "numbered" AS (
    SELECT
      "contributions"."person",
      "contributions"."value_0",
      "contributions"."spread_0",
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
                (
                  (
                    (
                      "g_2" * 48271
                    ) + (
                      (
                        "value_0" * "value_0"
                      ) % 2147483647
                    )
                  ) % 2147483647
                ) * 48271
              ) + "spread_0"
            ) % 2147483647
          )
        ) + "u_3"
      ) % 2147483647 AS "t_row"
    FROM "numbered"
  ), "ranked" AS (
    SELECT
      *,
      (
        "t_row" * (
          "t_row" + "u_1"
        )
      ) % 2147483647 AS "row_rank"
    FROM "drawn"
  ), "placed" AS (
    SELECT
      "person",
      "value_0",
      "spread_0",
      ROW_NUMBER() OVER (
        PARTITION BY "person"
        ORDER BY "row_rank" ASC NULLS FIRST, ABS("value_0") ASC NULLS FIRST, "spread_0" ASC NULLS FIRST
      ) AS "row_place"
    FROM "ranked"
  )
  SELECT
    "person",
    "value_0",
    "spread_0",
    "row_place"
  FROM "placed"
  WHERE
    "row_place" <= 3
) AS "kept"
GROUP BY
  "spread_0"
