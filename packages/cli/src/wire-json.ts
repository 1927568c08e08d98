/** The API's own JSON of what a client answered, which is what `--json` writes. */
export type WireJson = {
  /** Filled by the clients of the command. */
  objects: WeakMap<object, object>;
  /** The object of the wire that an answer was made of; what is no answer stays as it is. */
  of: (value: unknown) => unknown;
  /** JSON in which each answer is as the wire had it. */
  text: (value: unknown) => string;
};

export function createWireJson(): WireJson {
  const objects = new WeakMap<object, object>();
  const of = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? (objects.get(value) ?? value) : value;
  return { objects, of, text: (value) => JSON.stringify(value, (_, item: unknown) => of(item)) };
}
