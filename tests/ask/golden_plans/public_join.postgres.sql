SELECT
  "key_0",
  COUNT(*) AS "people",
  COUNT(*) AS "total_0",
  CAST(SUM(CAST("value_1" AS DECIMAL)) AS BIGINT) AS "total_1"
FROM (
  SELECT
    "r17_key" AS "key_0",
    COALESCE("r19_number", CAST(0 AS BIGINT)) AS "value_1"
  FROM (SELECT
    *,
    CAST(FLOOR("r16_clamped") AS BIGINT) AS "r17_key"
  FROM (SELECT
    *,
    CASE
      WHEN "r15_term" < CAST('-9007199254740992.0' AS DOUBLE PRECISION)
      THEN CAST('-9007199254740992.0' AS DOUBLE PRECISION)
      WHEN "r15_term" > CAST('9007199254740992.0' AS DOUBLE PRECISION)
      THEN CAST('9007199254740992.0' AS DOUBLE PRECISION)
      ELSE "r15_term"
    END AS "r16_clamped"
  FROM (
    SELECT
      *,
      FLOOR("r14_beds" / NULLIF(CAST('10.0' AS DOUBLE PRECISION), CAST('0.0' AS DOUBLE PRECISION))) * CAST('10.0' AS DOUBLE PRECISION) AS "r15_term",
      CAST(FLOOR((
        "r18_cost" / CAST('0.0009765625' AS DOUBLE PRECISION)
      ) + CAST('0.5' AS DOUBLE PRECISION)) AS BIGINT) AS "r19_number"
    FROM (
      SELECT
        *,
        CASE
          WHEN "r7_beds" < CAST('-9007199254740992.0' AS DOUBLE PRECISION)
          THEN CAST('-9007199254740992.0' AS DOUBLE PRECISION)
          WHEN "r7_beds" > CAST('9007199254740992.0' AS DOUBLE PRECISION)
          THEN CAST('9007199254740992.0' AS DOUBLE PRECISION)
          ELSE "r7_beds"
        END AS "r14_beds",
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
        END AS "r18_cost"
      FROM (
        SELECT
          "r12_left"."r1_ward",
          "r12_left"."r2_cost",
          "r13_right"."r7_beds"
        FROM (
          SELECT
            "r1_ward",
            "r2_cost",
            "r5_on"
          FROM (
            SELECT
              *,
              "r1_ward" AS "r5_on"
            FROM (
              SELECT
                "ward" COLLATE "C" AS "r1_ward",
                "cost" AS "r2_cost"
              FROM "sfumato"."rows"
            ) AS "r8_rows"
          ) AS "r9_rows"
        ) AS "r12_left"
        LEFT JOIN (
          SELECT
            "r6_on",
            "r4_beds" AS "r7_beds"
          FROM (
            SELECT
              *,
              "r3_ward" AS "r6_on"
            FROM (
              SELECT
                "ward" COLLATE "C" AS "r3_ward",
                CAST("beds" AS DOUBLE PRECISION) AS "r4_beds"
              FROM "sfumato"."wards"
            ) AS "r10_rows"
          ) AS "r11_rows"
        ) AS "r13_right"
          ON "r12_left"."r5_on" = "r13_right"."r6_on"
      ) AS "r20_rows"
    ) AS "r21_rows"
  ) AS "r22_rows" OFFSET 0) AS "r23_rows" OFFSET 0) AS "r24_rows"
) AS "kept"
GROUP BY
  "key_0"
