import type { CreateExec } from "@keelson/contract";

export type CommandForm = { line: string; cwd: string; variables: string; timeout: string; stdin: string };

export const EMPTY_FORM: CommandForm = { line: "", cwd: "", variables: "", timeout: "", stdin: "" };

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** `NAME=value` a line; the first line that is none is said. */
export function parseVariables(text: string): { env: Record<string, string> } | { problem: string } {
  const env: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    const name = line.slice(0, Math.max(0, at)).trim();
    if (at < 0 || !NAME.test(name))
      return {
        problem: `“${line.slice(0, 60)}” is not NAME=value, the name letters, digits and underscores`,
      };
    env[name] = line.slice(at + 1);
  }
  return { env };
}

const toBase64 = (text: string): string => {
  const bytes = new TextEncoder().encode(text);
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return btoa(characters);
};

/** The line is a shell's: people write pipes and quotes. Without input its standard input stays open. */
export function toCreateExec(
  form: CommandForm,
  env: Record<string, string>,
  idempotencyKey: string,
): CreateExec {
  const { line, cwd, timeout, stdin } = form;
  return {
    command: ["sh", "-c", line],
    ...(cwd.trim() !== "" && { cwd: cwd.trim() }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(timeout.trim() !== "" && { timeout: timeout.trim() }),
    ...(stdin !== "" && { stdin: toBase64(stdin) }),
    idempotency_key: idempotencyKey,
  };
}

/** A command as a person would type it; what `sh -c` was given stands alone. */
export function commandLine(command: readonly string[]): string {
  const [program, flag, line] = command;
  if (program === "sh" && flag === "-c" && line !== undefined && command.length === 3) return line;
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
