-- Joins of real tables: `tables/ldbc_snb_sf0.1`.
-- table: person = Person.csv.zst
-- table: knows = Person_knows_Person.csv.zst
-- table: interest = Person_hasInterest_Tag.csv.zst
-- table: located = Person_isLocatedIn_Place.csv.zst
-- table: part = Place_isPartOf_Place.csv.zst
-- table: tag = Tag.csv.zst

-- query: friends of friends
SELECT a."Person_src", count(*) FROM knows a JOIN knows b ON a."Person_dst" = b."Person_src" GROUP BY 1;

-- query: triangles of friends
SELECT count(*) FROM knows a, knows b, knows c WHERE a."Person_dst" = b."Person_src" AND b."Person_dst" = c."Person_dst" AND a."Person_src" = c."Person_src";

-- query: tags that friends share
SELECT x."Tag_dst", count(*) FROM knows k, interest x, interest y WHERE k."Person_src" = x."Person_src" AND k."Person_dst" = y."Person_src" AND x."Tag_dst" = y."Tag_dst" GROUP BY 1;

-- query: browsers by place
SELECT part."Place_dst", person."browserUsed", count(*), min(person.birthday), max(person.birthday) FROM person, located, part WHERE person.id = located."Person_src" AND located."Place_dst" = part."Place_src" GROUP BY 1, 2;
