import { UsageError } from "./keelson-error.ts";

/** The names of all options, each once: `{ … } satisfies OptionNames<Options>`. */
export type OptionNames<Options> = Record<keyof Options, true>;

/** Throws a UsageError for an option that does not exist: code without types would not learn that it has no effect. */
export function checkOptions(where: string, options: object, known: Readonly<Record<string, boolean>>): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new UsageError(
    `${where}: there is no option "${unknown}"; there are ${Object.keys(known).join(", ")}`,
  );
}
