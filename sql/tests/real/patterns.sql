-- Counts of patterns in a graph `e(src, dst)`.

-- query: triangles
SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src;

-- query: ordered triangles
SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.dst AND a.src = c.src AND a.src < a.dst AND b.src < b.dst;

-- query: 4-cycles
SELECT count(*) FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = d.src AND d.dst = a.src AND a.src <> b.dst AND b.src <> c.dst;

-- query: 4-cliques
SELECT count(*) FROM e ab, e ac, e ad, e bc, e bd, e cd WHERE ab.src = ac.src AND ac.src = ad.src AND ab.dst = bc.src AND bc.src = bd.src AND ac.dst = bc.dst AND bc.dst = cd.src AND ad.dst = bd.dst AND bd.dst = cd.dst AND ab.src < ab.dst AND bc.src < bc.dst AND cd.src < cd.dst;

-- query: tailed triangles
SELECT count(*) FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src AND d.src = a.src;

-- query: diamonds
SELECT count(*) FROM e a, e b, e c, e d, e m WHERE a.src = m.src AND b.dst = m.dst AND a.dst = b.src AND c.src = m.src AND d.dst = m.dst AND c.dst = d.src AND a.dst < c.dst;

-- query: paths of 3
SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src;

-- query: stars of 3
SELECT a.src, count(*) FROM e a, e b, e c WHERE a.src = b.src AND b.src = c.src GROUP BY a.src;

-- query: 2 hops
SELECT a.src, count(*), count(DISTINCT b.dst) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src;

-- query: triangles a node
SELECT a.src, count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src GROUP BY a.src;

-- query: common neighbours
SELECT a.src, b.src, count(*) FROM e a JOIN e b ON a.dst = b.dst WHERE a.src < b.src GROUP BY a.src, b.src;

-- query: open wedges
SELECT count(*) FROM e a JOIN e b ON a.dst = b.src WHERE NOT EXISTS (SELECT 1 FROM e c WHERE c.src = a.src AND c.dst = b.dst);
