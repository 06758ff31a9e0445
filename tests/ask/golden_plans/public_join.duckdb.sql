SELECT
  "key_0",
  COUNT(*) AS "people",
  COUNT(*) AS "total_0",
  CAST(SUM(CAST("value_1" AS HUGEINT)) AS BIGINT) AS "total_1"
FROM (
  SELECT
    "r22_whole" AS "key_0",
    COALESCE("r24_number", CAST(0 AS BIGINT)) AS "value_1"
  FROM (SELECT
    *,
    CAST(FLOOR("r21_clamped") AS BIGINT) AS "r22_whole"
  FROM (
    SELECT
      *,
      CASE
        WHEN "r20_term" < CAST('-9.223372036854776e+18' AS DOUBLE)
        THEN CAST('-9.223372036854776e+18' AS DOUBLE)
        WHEN "r20_term" > CAST('9.223372036854775e+18' AS DOUBLE)
        THEN CAST('9.223372036854775e+18' AS DOUBLE)
        ELSE "r20_term"
      END AS "r21_clamped",
      CAST(FLOOR((
        "r23_cost" / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) AS BIGINT) AS "r24_number"
    FROM (
      SELECT
        *,
        FLOOR(CAST("r13_beds" AS DOUBLE) / NULLIF(CAST('10.0' AS DOUBLE), CAST('0.0' AS DOUBLE))) * CAST('10.0' AS DOUBLE) AS "r20_term",
        CASE
          WHEN ISNAN("r2_cost")
          THEN CAST(NULL AS DOUBLE)
          WHEN "r2_cost" < CAST('0.0' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          WHEN "r2_cost" > CAST('100.0' AS DOUBLE)
          THEN CAST('100.0' AS DOUBLE)
          WHEN ABS("r2_cost") < CAST('1e-30' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          ELSE "r2_cost"
        END AS "r23_cost"
      FROM (
        SELECT
          "r18_left"."r1_ward",
          "r18_left"."r2_cost",
          "r19_right"."r13_beds"
        FROM (
          SELECT
            "r1_ward",
            "r2_cost",
            "r11_on"
          FROM (
            SELECT
              *,
              "r1_ward" AS "r11_on"
            FROM (
              SELECT
                "ward" COLLATE "binary" AS "r1_ward",
                "cost" AS "r2_cost"
              FROM "sfumato"."rows"
            ) AS "r14_rows"
          ) AS "r15_rows"
        ) AS "r18_left"
        LEFT JOIN (
          SELECT
            "r12_on",
            "r4_beds" AS "r13_beds"
          FROM (
            SELECT
              *,
              "r3_ward" AS "r12_on"
            FROM (
              SELECT
                "r3_ward",
                "r4_beds"
              FROM (
                SELECT
                  "r3_ward",
                  "r4_beds",
                  ROW_NUMBER() OVER (PARTITION BY "r5_on" ORDER BY "r6_beds" ASC NULLS FIRST) AS "r7_place"
                FROM (
                  SELECT
                    *,
                    "r3_ward" AS "r5_on",
                    "r4_beds" AS "r6_beds"
                  FROM (
                    SELECT
                      "ward" COLLATE "binary" AS "r3_ward",
                      CAST("beds" AS BIGINT) AS "r4_beds"
                    FROM "sfumato"."wards"
                  ) AS "r8_rows"
                ) AS "r9_rows"
              ) AS "r10_numbered"
              WHERE
                "r7_place" <= 1
            ) AS "r16_rows"
          ) AS "r17_rows"
        ) AS "r19_right"
          ON "r18_left"."r11_on" = "r19_right"."r12_on"
      ) AS "r25_rows"
    ) AS "r26_rows"
  ) AS "r27_rows") AS "r28_rows"
) AS "kept"
GROUP BY
  "key_0"
