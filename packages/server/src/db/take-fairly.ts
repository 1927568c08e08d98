/**
 * Takes what comes next out of a queue that holds more than is taken at once: of each group the same number, oldest
 * first, as far as it has as many. A group with a long queue waits for itself, not the others for it.
 *
 * @returns what was taken, and what is left, both in their order.
 */
export function takeFairly<Item>(
  queue: readonly Item[],
  count: number,
  groupOf: (item: Item) => string,
): { taken: Item[]; left: Item[] } {
  const sizes = new Map<string, number>();
  const ranks = queue.map((item) => {
    const group = groupOf(item);
    const rank = sizes.get(group) ?? 0;
    sizes.set(group, rank + 1);
    return rank;
  });
  const share = shareOf([...sizes.values()], count);
  let spare = count;
  for (const size of sizes.values()) spare -= Math.min(size, share);
  const taken: Item[] = [];
  const left: Item[] = [];
  for (const [index, item] of queue.entries()) {
    const rank = ranks[index] as number;
    // What does not divide goes to the groups whose next one is oldest.
    const isSpare = rank === share && spare > 0;
    if (isSpare) spare -= 1;
    (rank < share || isSpare ? taken : left).push(item);
  }
  return { taken, left };
}

/** How many each group may give, so that all give no more than the count. */
function shareOf(sizes: number[], count: number): number {
  let left = count;
  const ascending = sizes.toSorted((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return count;
}
