import { EXIT, ExitError } from "./exit-codes.ts";

/** Who types an external id in the place of an id lacks only the option. */
export function checkIsId(noun: string, prefix: string, text: string): void {
  if (text.startsWith(`${prefix}_`)) return;
  throw new ExitError(
    EXIT.notFound,
    `There is no ${noun} with the id ${JSON.stringify(text)}: ids begin with ${prefix}_. If it is an external id, add -x.`,
  );
}
