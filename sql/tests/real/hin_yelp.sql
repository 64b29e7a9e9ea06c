-- Joins of real tables: `tables/hin_yelp`.
-- table: rated = user_business.csv.zst
-- table: category = business_category.csv.zst
-- table: city = business_city.csv.zst

-- query: ratings by category
SELECT c.category, count(*), avg(CAST(r.rating AS DOUBLE)) FROM rated r JOIN category c ON r.business = c.business GROUP BY c.category;

-- query: users with ratings in common
SELECT a."user", count(*) FROM rated a JOIN rated b ON a.business = b.business WHERE a."user" < 300 AND b."user" < 300 GROUP BY 1;

-- query: cities with categories
SELECT city.city, count(*), count(DISTINCT c.category) FROM city JOIN category c ON city.business = c.business GROUP BY city.city;
