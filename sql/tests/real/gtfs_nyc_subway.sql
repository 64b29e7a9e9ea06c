-- Joins of real tables: `tables/gtfs_nyc_subway`.
-- table: trips = trips.csv.zst
-- table: routes = routes.csv.zst
-- table: stops = stops.csv.zst
-- table: transfers = transfers.csv.zst

-- query: trips by route
SELECT r.route_long_name, count(*), count(DISTINCT t.service_id) FROM trips t JOIN routes r ON t.route_id = r.route_id GROUP BY 1;

-- query: transfers by name
SELECT a.stop_name, count(*) FROM transfers t JOIN stops a ON t.from_stop_id = a.stop_id JOIN stops b ON t.to_stop_id = b.stop_id WHERE a.stop_id <> b.stop_id GROUP BY 1;
