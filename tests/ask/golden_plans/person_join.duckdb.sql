SELECT
  COUNT(DISTINCT "person") AS "people",
  COUNT(*) AS "total_0"
FROM (
  WITH "contributions" AS (
    SELECT
      "r4_person" AS "person"
    FROM (
      SELECT
        "r38_left"."r4_person",
        "r38_left"."r1_ward",
        "r38_left"."r2_cost",
        "r38_left"."r3_age",
        "r39_right"."r33_other"
      FROM (
        SELECT
          "r4_person",
          "r1_ward",
          "r2_cost",
          "r3_age",
          "r31_on"
        FROM (
          SELECT
            *,
            "r1_ward" AS "r31_on"
          FROM (
            SELECT
              "r4_person",
              "r1_ward",
              "r2_cost",
              "r3_age"
            FROM (
              SELECT
                "r4_person",
                "r1_ward",
                "r2_cost",
                "r3_age",
                ROW_NUMBER() OVER (
                  PARTITION BY "r4_person"
                  ORDER BY (
                    CAST('0x' || SUBSTRING(
                      MD5(
                        '73616c74r' || COALESCE(CAST("r4_person" AS TEXT), CHR(30)) || CHR(31) || COALESCE("r1_ward", CHR(30)) || CHR(31) || COALESCE(CAST("r9_number" AS TEXT), CHR(30)) || CHR(31) || COALESCE(CAST("r11_number" AS TEXT), CHR(30))
                      ),
                      1,
                      8
                    ) AS BIGINT) % 2147483646
                  ) + 1 ASC NULLS FIRST, "r12_ward" ASC NULLS FIRST, "r14_cost" ASC NULLS FIRST, "r15_age" ASC NULLS FIRST
                ) AS "r16_place"
              FROM (
                SELECT
                  *,
                  CAST(FLOOR((
                    "r8_cost" / CAST('9.313225746154785e-10' AS DOUBLE)
                  ) + CAST('0.5' AS DOUBLE)) AS BIGINT) AS "r9_number",
                  CAST(FLOOR("r10_age" + CAST('0.5' AS DOUBLE)) AS BIGINT) AS "r11_number",
                  CASE
                    WHEN "r13_cost" = CAST('0.0' AS DOUBLE)
                    THEN CAST('0.0' AS DOUBLE)
                    ELSE "r13_cost"
                  END AS "r14_cost"
                FROM (
                  SELECT
                    *,
                    CASE
                      WHEN ISNAN("r2_cost")
                      THEN CAST(NULL AS DOUBLE)
                      WHEN "r2_cost" < CAST('-2147483648.0' AS DOUBLE)
                      THEN CAST('-2147483648.0' AS DOUBLE)
                      WHEN "r2_cost" > CAST('2147483648.0' AS DOUBLE)
                      THEN CAST('2147483648.0' AS DOUBLE)
                      WHEN ABS("r2_cost") < CAST('1e-30' AS DOUBLE)
                      THEN CAST('0.0' AS DOUBLE)
                      ELSE "r2_cost"
                    END AS "r8_cost",
                    CASE
                      WHEN CAST("r3_age" AS DOUBLE) < CAST('-9007199254740992.0' AS DOUBLE)
                      THEN CAST('-9007199254740992.0' AS DOUBLE)
                      WHEN CAST("r3_age" AS DOUBLE) > CAST('9007199254740992.0' AS DOUBLE)
                      THEN CAST('9007199254740992.0' AS DOUBLE)
                      ELSE CAST("r3_age" AS DOUBLE)
                    END AS "r10_age",
                    "r1_ward" AS "r12_ward",
                    CASE
                      WHEN ISNAN("r2_cost")
                      THEN CAST(NULL AS DOUBLE)
                      WHEN "r2_cost" < CAST('-1e+30' AS DOUBLE)
                      THEN CAST('-1e+30' AS DOUBLE)
                      WHEN "r2_cost" > CAST('1e+30' AS DOUBLE)
                      THEN CAST('1e+30' AS DOUBLE)
                      WHEN ABS("r2_cost") < CAST('1e-30' AS DOUBLE)
                      THEN CAST('0.0' AS DOUBLE)
                      ELSE "r2_cost"
                    END AS "r13_cost",
                    "r3_age" AS "r15_age"
                  FROM (
                    SELECT
                      "who" AS "r4_person",
                      "ward" COLLATE "binary" AS "r1_ward",
                      "cost" AS "r2_cost",
                      CAST("age" AS BIGINT) AS "r3_age"
                    FROM "sfumato"."visits"
                    WHERE
                      NOT (
                        "who" IS NULL
                      )
                  ) AS "r17_rows"
                ) AS "r18_rows"
              ) AS "r19_rows"
            ) AS "r20_numbered"
            WHERE
              "r16_place" <= 1000
          ) AS "r34_rows"
        ) AS "r35_rows"
      ) AS "r38_left"
      INNER JOIN (
        SELECT
          "r7_person",
          "r32_on",
          "r6_cost" AS "r33_other"
        FROM (
          SELECT
            *,
            "r5_ward" AS "r32_on"
          FROM (
            SELECT
              "r7_person",
              "r5_ward",
              "r6_cost"
            FROM (
              SELECT
                "r7_person",
                "r5_ward",
                "r6_cost",
                ROW_NUMBER() OVER (
                  PARTITION BY "r7_person"
                  ORDER BY (
                    CAST('0x' || SUBSTRING(
                      MD5(
                        '73616c74r' || COALESCE(CAST("r7_person" AS TEXT), CHR(30)) || CHR(31) || COALESCE("r5_ward", CHR(30)) || CHR(31) || COALESCE(CAST("r22_number" AS TEXT), CHR(30))
                      ),
                      1,
                      8
                    ) AS BIGINT) % 2147483646
                  ) + 1 ASC NULLS FIRST, "r23_ward" ASC NULLS FIRST, "r25_cost" ASC NULLS FIRST
                ) AS "r26_place"
              FROM (
                SELECT
                  *,
                  CAST(FLOOR((
                    "r21_cost" / CAST('9.313225746154785e-10' AS DOUBLE)
                  ) + CAST('0.5' AS DOUBLE)) AS BIGINT) AS "r22_number",
                  CASE
                    WHEN "r24_cost" = CAST('0.0' AS DOUBLE)
                    THEN CAST('0.0' AS DOUBLE)
                    ELSE "r24_cost"
                  END AS "r25_cost"
                FROM (
                  SELECT
                    *,
                    CASE
                      WHEN ISNAN("r6_cost")
                      THEN CAST(NULL AS DOUBLE)
                      WHEN "r6_cost" < CAST('-2147483648.0' AS DOUBLE)
                      THEN CAST('-2147483648.0' AS DOUBLE)
                      WHEN "r6_cost" > CAST('2147483648.0' AS DOUBLE)
                      THEN CAST('2147483648.0' AS DOUBLE)
                      WHEN ABS("r6_cost") < CAST('1e-30' AS DOUBLE)
                      THEN CAST('0.0' AS DOUBLE)
                      ELSE "r6_cost"
                    END AS "r21_cost",
                    "r5_ward" AS "r23_ward",
                    CASE
                      WHEN ISNAN("r6_cost")
                      THEN CAST(NULL AS DOUBLE)
                      WHEN "r6_cost" < CAST('-1e+30' AS DOUBLE)
                      THEN CAST('-1e+30' AS DOUBLE)
                      WHEN "r6_cost" > CAST('1e+30' AS DOUBLE)
                      THEN CAST('1e+30' AS DOUBLE)
                      WHEN ABS("r6_cost") < CAST('1e-30' AS DOUBLE)
                      THEN CAST('0.0' AS DOUBLE)
                      ELSE "r6_cost"
                    END AS "r24_cost"
                  FROM (
                    SELECT
                      "who" AS "r7_person",
                      "ward" COLLATE "binary" AS "r5_ward",
                      "cost" AS "r6_cost"
                    FROM "sfumato"."visits"
                    WHERE
                      NOT (
                        "who" IS NULL
                      )
                  ) AS "r27_rows"
                ) AS "r28_rows"
              ) AS "r29_rows"
            ) AS "r30_numbered"
            WHERE
              "r26_place" <= 1000
          ) AS "r36_rows"
        ) AS "r37_rows"
      ) AS "r39_right"
        ON (
          "r38_left"."r31_on" = "r39_right"."r32_on"
        )
        AND (
          "r38_left"."r4_person" = "r39_right"."r7_person"
        )
    ) AS "r40_rows"
  ), "numbered" AS (
    SELECT
      "contributions"."person",
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
        CAST('0x' || SUBSTRING("digest", 1, 8) AS BIGINT) % 2147483646
      ) + 1 AS "u_0",
      (
        CAST('0x' || SUBSTRING("digest", 9, 8) AS BIGINT) % 2147483646
      ) + 1 AS "u_1",
      (
        CAST('0x' || SUBSTRING("digest", 17, 8) AS BIGINT) % 2147483646
      ) + 1 AS "u_2",
      (
        CAST('0x' || SUBSTRING("digest", 25, 8) AS BIGINT) % 2147483646
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
    ) AS "digests") AS "people"
      ON "contributions"."person" = "people"."person"
  ), "drawn" AS (
    SELECT
      *,
      (
        (
          "u_0" * (
            (
              (
                "g_2" * 48271
              ) + 1
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
      ROW_NUMBER() OVER (PARTITION BY "person" ORDER BY "row_rank" ASC NULLS FIRST) AS "row_place"
    FROM "ranked"
  )
  SELECT
    "person",
    "row_place"
  FROM "placed"
  WHERE
    "row_place" <= 3
) AS "kept"
HAVING
  COUNT(*) > 0
