-- Which server arguments differ between runs of the store, and their values.
SELECT name, count(DISTINCT value) AS different_values, list(DISTINCT value ORDER BY value) AS seen
FROM server_arg
GROUP BY name
HAVING count(DISTINCT value) > 1
ORDER BY different_values DESC, name;
