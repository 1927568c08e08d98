-- Links to a person are counted in rate_counts: no query looks for open ones by address any more.

DROP INDEX magic_links_email;
