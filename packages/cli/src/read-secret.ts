import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isUtf8 } from "node:buffer";
import { buffer } from "node:stream/consumers";
import type { Cli } from "./cli.ts";
import { interruption, usageError } from "./exit-codes.ts";

/**
 * A secret's value: of a file as it is, typed unseen at a terminal, or from standard input without the newline that
 * `echo` ends it with. Never from the command line, which others can see.
 */
export async function readSecret(cli: Cli, name: string, file: string | undefined): Promise<string> {
  const { stdin, cwd } = cli.host;
  const value =
    file !== undefined
      ? textOf(
          name,
          await readFile(resolve(cwd, file)).catch((error: Error) => {
            throw usageError(`Cannot read ${file}: ${error.message}`);
          }),
        )
      : stdin.isTTY
        ? await typeUnseen(cli, name)
        : textOf(name, await buffer(stdin)).replace(/\r?\n$/, "");
  if (value === "")
    throw usageError(
      `The value of ${name} is empty. Type it at a terminal, pipe it into this command, or give --from-file <file>.`,
    );
  return value;
}

/** Bytes that are no text would be others in the task. */
function textOf(name: string, bytes: Buffer): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString();
  throw usageError(
    `The value of ${name} is not text in UTF-8. Secrets are text: give it in base64, as \`base64 -w0\` prints it, and decode it in the task.`,
  );
}

function typeUnseen(cli: Cli, name: string): Promise<string> {
  const { stdin, stderr } = cli.host;
  stderr.write(`Value of ${name} (not shown): `);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  return new Promise((done, fail) => {
    let value = "";
    const finish = (settle: () => void): void => {
      stdin.setRawMode(false);
      stdin.pause();
      stdin.off("data", onData);
      stderr.write("\n");
      settle();
    };
    const onData = (typed: string): void => {
      for (const character of typed) {
        if (character === "\r" || character === "\n") return finish(() => done(value));
        if (character === "\u0003") return finish(() => fail(interruption()));
        if (character === "\u007f" || character === "\b") value = value.slice(0, -1);
        else value += character;
      }
    };
    stdin.on("data", onData);
  });
}
