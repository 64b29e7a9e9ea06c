"""Count the triangles of a network, and find its best connected member."""

import redpoll as rp

edges = rp.sample("karate").astype(rp.int64)
i, j, k = "i", "j", "k"
triangles = rp.sum(edges.at(i, j) * edges.at(j, k) * edges.at(i, k)) // 6
degrees = rp.sum(edges, axis=1)
rp.compute(triangles, degrees)
print(f"{int(triangles)} triangles; member {int(rp.argmax(degrees))} has {int(rp.max(degrees))} friends")
