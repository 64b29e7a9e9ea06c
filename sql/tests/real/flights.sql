-- Joins of real tables: `tables/flights`.
-- table: planes = planes.csv.zst
-- table: airports = airports.csv.zst
-- table: weather = weather.csv.zst

-- query: zones
SELECT a.tz, count(*), avg(b.alt) FROM airports a JOIN airports b ON a.tzone = b.tzone GROUP BY a.tz;

-- query: models
SELECT a.manufacturer, count(*), max(b.seats) FROM planes a JOIN planes b ON a.model = b.model AND a.year = b.year GROUP BY a.manufacturer;
