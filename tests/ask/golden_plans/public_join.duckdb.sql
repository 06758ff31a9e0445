SELECT
  "key_0",
  COUNT(*) AS "people",
  COUNT(*) AS "total_0",
  CAST(SUM(CAST("value_1" AS HUGEINT)) AS BIGINT) AS "total_1"
FROM (
  SELECT
    "r25_key" AS "key_0",
    COALESCE("r27_number", CAST(0 AS BIGINT)) AS "value_1"
  FROM (SELECT
    *,
    CAST(FLOOR("r24_clamped") AS BIGINT) AS "r25_key"
  FROM (SELECT
    *,
    CASE
      WHEN "r23_term" < CAST('-9007199254740992.0' AS DOUBLE)
      THEN CAST('-9007199254740992.0' AS DOUBLE)
      WHEN "r23_term" > CAST('9007199254740992.0' AS DOUBLE)
      THEN CAST('9007199254740992.0' AS DOUBLE)
      ELSE "r23_term"
    END AS "r24_clamped"
  FROM (
    SELECT
      *,
      FLOOR("r22_beds" / NULLIF(CAST('10.0' AS DOUBLE), CAST('0.0' AS DOUBLE))) * CAST('10.0' AS DOUBLE) AS "r23_term",
      CAST(FLOOR((
        "r26_cost" / CAST('0.0009765625' AS DOUBLE)
      ) + CAST('0.5' AS DOUBLE)) AS BIGINT) AS "r27_number"
    FROM (
      SELECT
        *,
        CASE
          WHEN "r15_beds" < CAST('-9007199254740992.0' AS DOUBLE)
          THEN CAST('-9007199254740992.0' AS DOUBLE)
          WHEN "r15_beds" > CAST('9007199254740992.0' AS DOUBLE)
          THEN CAST('9007199254740992.0' AS DOUBLE)
          ELSE "r15_beds"
        END AS "r22_beds",
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
        END AS "r26_cost"
      FROM (
        SELECT
          "r20_left"."r1_ward",
          "r20_left"."r2_cost",
          "r21_right"."r15_beds"
        FROM (
          SELECT
            "r1_ward",
            "r2_cost",
            "r13_on"
          FROM (
            SELECT
              *,
              "r1_ward" AS "r13_on"
            FROM (
              SELECT
                "ward" COLLATE "binary" AS "r1_ward",
                "cost" AS "r2_cost"
              FROM "sfumato"."rows"
            ) AS "r16_rows"
          ) AS "r17_rows"
        ) AS "r20_left"
        LEFT JOIN (
          SELECT
            "r14_on",
            "r4_beds" AS "r15_beds"
          FROM (
            SELECT
              *,
              "r3_ward" AS "r14_on"
            FROM (
              SELECT
                "r3_ward",
                "r4_beds"
              FROM (
                SELECT
                  "r3_ward",
                  "r4_beds",
                  ROW_NUMBER() OVER (PARTITION BY "r5_on" ORDER BY "r7_beds" ASC NULLS FIRST) AS "r8_place"
                FROM (
                  SELECT
                    *,
                    CASE
                      WHEN "r6_beds" = CAST('0.0' AS DOUBLE)
                      THEN CAST('0.0' AS DOUBLE)
                      ELSE "r6_beds"
                    END AS "r7_beds"
                  FROM (
                    SELECT
                      *,
                      "r3_ward" AS "r5_on",
                      CASE
                        WHEN "r4_beds" < CAST('-9007199254740992.0' AS DOUBLE)
                        THEN CAST('-9007199254740992.0' AS DOUBLE)
                        WHEN "r4_beds" > CAST('9007199254740992.0' AS DOUBLE)
                        THEN CAST('9007199254740992.0' AS DOUBLE)
                        ELSE "r4_beds"
                      END AS "r6_beds"
                    FROM (
                      SELECT
                        "ward" COLLATE "binary" AS "r3_ward",
                        CAST("beds" AS DOUBLE) AS "r4_beds"
                      FROM "sfumato"."wards"
                    ) AS "r9_rows"
                  ) AS "r10_rows"
                ) AS "r11_rows"
              ) AS "r12_numbered"
              WHERE
                "r8_place" <= 1
            ) AS "r18_rows"
          ) AS "r19_rows"
        ) AS "r21_right"
          ON "r20_left"."r13_on" = "r21_right"."r14_on"
      ) AS "r28_rows"
    ) AS "r29_rows"
  ) AS "r30_rows") AS "r31_rows") AS "r32_rows"
) AS "kept"
GROUP BY
  "key_0"
