/** What chooses a page or an order; everything else in a query is a filter. */
const NO_FILTERS: readonly string[] = ["limit", "cursor", "order", "organizationId"];

/**
 * What a person reads in the place of an empty table.
 * @param nouns what the list would hold, in the plural
 * @param query what the list was asked for: with filters there may be others
 * @param first how to get the first one, as a sentence with a command
 */
export function describeEmpty(nouns: string, query: object, first: string): string {
  const isFiltered = Object.entries(query).some(
    ([name, value]) => value !== undefined && !NO_FILTERS.includes(name),
  );
  return isFiltered
    ? `No ${nouns} match these options. Leave options out to see more.`
    : `No ${nouns} yet. ${first}`;
}
