/** `created_at` as `createdAt`. */
type CamelKey<K> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelKey<Tail>>}` : K;

/**
 * An object of the wire as the SDK spells it. It stops at what users made: JSON is `unknown` in the types of the wire, and the
 * keys of a map are names.
 */
export type CamelCased<T> = unknown extends T
  ? T
  : T extends readonly (infer Item)[]
    ? CamelCased<Item>[]
    : T extends object
      ? { [K in keyof T as CamelKey<K>]: CamelCased<T[K]> }
      : T;

declare const wire: unique symbol;

/**
 * Which properties of the wire's `T` hold objects of the wire again, by their names on the wire. All other values are passed
 * on as they are. `*` stands for the values of a map, whose keys are names. A list has the shape of its items.
 */
export type Shape<T = unknown> = { readonly [key: string]: Shape; readonly [wire]?: T };

/** The wire's object of each object that was made of it. */
export type WireObjects = WeakMap<object, object>;

type Step = { name: string; shape: Shape | undefined };
type Spelling = (key: string) => string;

const camelKey: Spelling = (key) =>
  key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const wireKey: Spelling = (key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** More keys than an object of ours has: a server that made them up would fill the memory. */
const MAX_STEPS = 256;

const stepsOf = new WeakMap<Shape, Map<string, Step>>();

/** What becomes of a key; the same object has the same keys again and again. */
function stepOf(steps: Map<string, Step>, shape: Shape, key: string): Step {
  const known = steps.get(key);
  if (known !== undefined) return known;
  const step = { name: camelKey(key), shape: Object.hasOwn(shape, key) ? shape[key] : undefined };
  if (steps.size < MAX_STEPS) steps.set(key, step);
  return step;
}

function readMap(value: object, shape: Shape, wireObjects: WireObjects | undefined): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, readValue(item, shape, wireObjects)]),
  );
}

function readValue(value: unknown, shape: Shape, wireObjects: WireObjects | undefined): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => readValue(item, shape, wireObjects));
  const ofMap = shape["*"];
  if (ofMap !== undefined) return readMap(value, ofMap, wireObjects);
  let steps = stepsOf.get(shape);
  if (steps === undefined) stepsOf.set(shape, (steps = new Map<string, Step>()));
  const result: Record<string, unknown> = {};
  const source = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(source)) {
    const step = stepOf(steps, shape, key);
    const item = source[key];
    result[step.name] = step.shape === undefined ? item : readValue(item, step.shape, wireObjects);
  }
  wireObjects?.set(result, value);
  return result;
}

/**
 * A value of the wire, in the SDK's spelling. A key that the shape does not know, of a newer server, is spelled by the same
 * rule, and its value stays as it is: it may be a user's.
 */
export const fromWire = <T>(shape: Shape<T>, value: unknown, wireObjects?: WireObjects): CamelCased<T> =>
  readValue(value, shape, wireObjects) as CamelCased<T>;

function writeValue(value: unknown, shape: Shape): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => writeValue(item, shape));
  const ofMap = shape["*"];
  const write = ([name, item]: [string, unknown]): [string, unknown] => {
    const key = ofMap === undefined ? wireKey(name) : name;
    const child = ofMap ?? (Object.hasOwn(shape, key) ? shape[key] : undefined);
    return [key, child === undefined ? item : writeValue(item, child)];
  };
  return Object.fromEntries(Object.entries(value).map(write));
}

/** The reverse: what a user wrote, in the spelling of the wire. What has that already stays as it is. */
export const toWire = <T>(shape: Shape<T>, value: CamelCased<T> | T): T => writeValue(value, shape) as T;
