-- Joins of real tables: `tables/lahman`.
-- table: people = People.csv.zst
-- table: college = CollegePlaying.csv.zst
-- table: schools = Schools.csv.zst
-- table: salaries = Salaries.csv.zst

-- query: players of schools
SELECT s.state, count(*), count(DISTINCT c."playerID") FROM college c JOIN schools s ON c."schoolID" = s."schoolID" GROUP BY s.state;

-- query: salaries by school
SELECT c."schoolID", sum(m.salary), count(m.salary), max(m.salary) FROM college c JOIN salaries m ON c."playerID" = m."playerID" GROUP BY c."schoolID";

-- query: born in the same town
SELECT a."birthCountry", count(*) FROM people a JOIN people b ON a."birthCity" = b."birthCity" AND a."birthYear" = b."birthYear" WHERE a."playerID" < b."playerID" GROUP BY 1;

-- query: paid at the same time
SELECT count(*), sum(CAST(a.salary AS DOUBLE) * b.salary) FROM salaries a JOIN salaries b ON a."teamID" = b."teamID" AND a."yearID" = b."yearID";
