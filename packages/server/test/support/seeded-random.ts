/** Numbers in [0, 1) that a seed repeats: mulberry32, enough for choosing victims. */
export type Random = () => number;

/** Printed by every test that draws, so that its choices can be drawn again. */
export const newSeed = (): number =>
  Number(process.env["KEELSON_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** Whether the long form of the tests was asked for, as `npm run test:long` does. */
export const isLong = (): boolean => process.env["KEELSON_TEST_LONG"] === "1";

/** For how many seconds a test goes on. */
export const crashSeconds = (short: number, long = 60): number => (isLong() ? long : short);

/** In the short form every n-th of the items, from one that the seed decides; else all of them. */
export const fewOf = <Item>(items: readonly Item[], n: number, seed: number): readonly Item[] =>
  isLong() ? items : items.filter((_, at) => at % n === seed % n);
