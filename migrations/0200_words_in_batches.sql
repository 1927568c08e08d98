-- What the loop adds to the index of words goes into its list of pending entries first, and from there to its place as soon as a
-- batch of runs is written: a word that all of them have is changed once then, and not once for each. A server from before leaves
-- its entries in the list until another one, or VACUUM, puts them to their places; searches find them there too.
ALTER INDEX run_search_words SET (fastupdate = on);
