import { EXIT, ExitError } from "./exit-codes.ts";

/** `hint`: what else the caller may have meant. */
export function checkIsId(noun: string, prefix: string, text: string, hint = ""): void {
  if (text.startsWith(`${prefix}_`)) return;
  throw new ExitError(
    EXIT.notFound,
    `There is no ${noun} with the id ${JSON.stringify(text)}: ids begin with ${prefix}_.${hint}`,
  );
}

/** Who types an external id in the place of an id lacks only the option. */
export const checkIsNoExternalId = (noun: string, prefix: string, text: string): void =>
  checkIsId(noun, prefix, text, " If it is an external id, add -x.");
