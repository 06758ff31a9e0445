SELECT
  "key_0",
  COUNT(CASE WHEN "row_place" = 1 THEN 1 END) AS "people",
  COUNT(*) AS "total_0",
  CAST(SUM(CAST("value_1" AS DECIMAL)) AS BIGINT) AS "total_1"
FROM (
  WITH "contributions" AS NOT MATERIALIZED (
    SELECT
      "r4_person" AS "person",
      "r1_ward" AS "key_0",
      COALESCE("r6_number", CAST(0 AS BIGINT)) AS "value_1"
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
  ), "numbered" AS (
    SELECT
      "contributions"."person",
      "contributions"."key_0",
      "contributions"."value_1",
      "people"."u_0",
      "people"."u_1",
      "people"."u_2",
      "people"."u_3",
      "groups"."g_0",
      "groups"."g_1",
      "groups"."g_2"
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
    INNER JOIN (SELECT
      "key_0",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 1 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "g_0",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 9 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "g_1",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 17 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "g_2",
      (
        CAST(CAST('x' || SUBSTRING("digest" FROM 25 FOR 8) AS BIT(32)) AS BIGINT) % 2147483646
      ) + 1 AS "g_3"
    FROM (
      SELECT
        "key_0",
        MD5('73616c74g' || COALESCE("key_0", CHR(  30))) AS "digest"
      FROM (
        SELECT DISTINCT
          "key_0"
        FROM "contributions"
      ) AS "distinct_values"
    ) AS "digests" OFFSET 0) AS "groups"
      ON (
        COALESCE("contributions"."key_0", '') = COALESCE("groups"."key_0", '')
      )
      AND (
        (
          "contributions"."key_0" IS NULL
        ) = (
          "groups"."key_0" IS NULL
        )
      )
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
                      CAST(1 AS BIGINT) * 48271
                    ) + 1
                  ) % 2147483647
                ) * 48271
              ) + "value_1"
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
      "key_0",
      "value_1",
      "group_rank",
      "row_rank",
      DENSE_RANK() OVER (
        PARTITION BY "person"
        ORDER BY "group_rank" ASC NULLS FIRST, "key_0" ASC NULLS FIRST
      ) AS "group_place"
    FROM "ranked"
  ), "placed" AS (
    SELECT
      "person",
      "key_0",
      "value_1",
      ROW_NUMBER() OVER (
        PARTITION BY "person", "group_rank", "key_0"
        ORDER BY "row_rank" ASC NULLS FIRST, "value_1" ASC NULLS FIRST
      ) AS "row_place"
    FROM "listed"
    WHERE
      "group_place" <= 20
  )
  SELECT
    "person",
    "key_0",
    "value_1",
    "row_place"
  FROM "placed"
  WHERE
    "row_place" <= 5
) AS "kept"
GROUP BY
  "key_0"
