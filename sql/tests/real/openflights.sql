-- Joins of real tables: `tables/openflights`.
-- table: routes = routes.csv.zst
-- table: airports = airports.csv.zst
-- table: airlines = airlines.csv.zst

-- query: one stop
SELECT a.src, b.dst, count(*) FROM routes a JOIN routes b ON a.dst = b.src WHERE a.src < 'B' AND b.dst < 'C' GROUP BY a.src, b.dst;

-- query: countries
SELECT x.country, y.country, count(*) FROM routes r JOIN airports x ON r.src = x.iata JOIN airports y ON r.dst = y.iata GROUP BY x.country, y.country;
