/**
 * A map for what comes by thousands a second and is gone after a moment: runs, leases, requests. It iterates in the order in which
 * its keys came.
 *
 * A `Map` from which as much is deleted as is added makes a new table again and again, and V8 has each old table point to the one
 * that follows it, for iterators that are under way (`OrderedHashTable::Rehash`, src/objects/ordered-hash-table.cc). Once a full
 * collection has found one of these tables, it is in the old generation, and dead: it keeps the next one through every scavenge,
 * that one the next, and all of them what they had. So most of what went through the map outlives scavenges, which are quick
 * only while little does. Here the tables have keys and numbers alone, and the values are in an array.
 */
export class TransientMap<Key extends string | number, Value> {
  readonly #slots = new Map<Key, number>();
  readonly #values: (Value | undefined)[] = [];
  /** Slots without a value. */
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.size;
  }

  has(key: Key): boolean {
    return this.#slots.has(key);
  }

  get(key: Key): Value | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#values[slot];
  }

  /** A key that is there keeps its place in the order. */
  set(key: Key, value: Value): void {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#values.length;
      this.#slots.set(key, slot);
    }
    this.#values[slot] = value;
  }

  /** @returns whether it was there */
  delete(key: Key): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    this.#slots.delete(key);
    this.#values[slot] = undefined;
    this.#free.push(slot);
    return true;
  }

  clear(): void {
    this.#slots.clear();
    this.#values.length = 0;
    this.#free.length = 0;
  }

  keys(): IterableIterator<Key> {
    return this.#slots.keys();
  }

  *values(): IterableIterator<Value> {
    for (const slot of this.#slots.values()) yield this.#values[slot] as Value;
  }
}
