/** A value as JSON has it. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

type JsonScalar = string | number | boolean | null;

/** Values that the SDK refuses at run time, or that JSON has no text for. */
type NotJson =
  | bigint
  | symbol
  | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | Promise<unknown>;

type WithToJson = { toJSON(...args: never[]): unknown };

type IsAny<T> = 0 extends 1 & T ? true : false;
type Flat<T> = { [K in keyof T]: T[K] };

/** JSON leaves out properties that hold a function or a symbol. */
type IsLeftOut<T> = [T] extends [symbol | ((...args: never[]) => unknown) | undefined] ? true : false;
type MayBeLeftOut<T> = IsAny<T> extends true ? false : undefined extends T ? true : false;

type KeptKeys<T> = {
  [K in keyof T]-?: K extends symbol
    ? never
    : unknown extends T[K]
      ? K
      : IsLeftOut<T[K]> extends true
        ? never
        : K;
}[keyof T];
type OptionalKeys<T> = {
  [K in KeptKeys<T>]: unknown extends T[K] ? never : MayBeLeftOut<T[K]> extends true ? K : never;
}[KeptKeys<T>];

/** Whether a property was declared with `?` or may hold undefined decides alike: JSON has no undefined. */
type JsonObject<T> = Flat<
  { [K in keyof T as K extends Exclude<KeptKeys<T>, OptionalKeys<T>> ? K : never]: JsonOf<T[K]> } & {
    [K in keyof T as K extends OptionalKeys<T> ? K : never]?: JsonOf<Exclude<T[K], undefined>>;
  }
>;

/**
 * The type of a value that has passed through JSON: a step's result, the output of a run, a record. A `Date` is a string
 * there, a value with `toJSON` is what that returns, and an undefined property is absent. A value that the SDK refuses, such
 * as a `Map` or a `bigint`, has the type `never`. `void` stays `void`: nobody reads it.
 */
export type JsonOf<T> =
  IsAny<T> extends true
    ? T
    : unknown extends T
      ? T
      : T extends JsonScalar
        ? T
        : T extends WithToJson
          ? JsonOf<ReturnType<T["toJSON"]>>
          : T extends NotJson
            ? never
            : T extends undefined
              ? null
              : T extends readonly unknown[]
                ? { [K in keyof T]: JsonOf<T[K]> }
                : T extends Error
                  ? Record<string, unknown>
                  : T extends ArrayBufferView
                    ? Record<string, number>
                    : T extends object
                      ? JsonObject<T>
                      : T;

/**
 * What a caller may send where `T` is received: `T`, with `never` in place of each type that JSON cannot carry. A `Date`
 * arrives as a string, so nobody can send one; declare `z.coerce.date()` or a string.
 */
export type JsonInput<T> =
  IsAny<T> extends true
    ? T
    : unknown extends T
      ? T
      : T extends JsonScalar | undefined
        ? T
        : T extends WithToJson | NotJson
          ? never
          : T extends object
            ? { [K in keyof T]: JsonInput<T[K]> }
            : T;
