// Command lines of `keelson`, read by the command's own tree: an unknown command, option or value is refused as it would be
// for a user, and nothing is done.

import { tmpdir } from "node:os";
import { PassThrough, Readable } from "node:stream";
import { createProgram } from "../../packages/cli/src/program.ts";

type Command = Awaited<ReturnType<typeof createProgram>>["program"];
/** What the parser throws; help that was asked for is one too. */
type Refusal = { code?: string; exitCode?: number; message: string };

async function createParser(argv: readonly string[]): Promise<Command> {
  const silent = (): NodeJS.WriteStream => new PassThrough().resume() as unknown as NodeJS.WriteStream;
  const { program } = await createProgram(
    {
      env: {},
      cwd: tmpdir(),
      stdin: Readable.from([]) as unknown as NodeJS.ReadStream,
      stdout: silent(),
      stderr: silent(),
      signal: new AbortController().signal,
      endInOrder: () => undefined,
    },
    argv,
  );
  const disarm = (command: Command): void => {
    if (command.commands.length === 0) command.action(() => undefined);
    command.commands.forEach(disarm);
  };
  disarm(program);
  return program;
}

/** A value whose middle is left out cannot be looked at; the commands and options around it can. */
function isPlaceholder({ code = "" }: Refusal, argv: readonly string[]): boolean {
  const isOfValue = !code.startsWith("commander.") || code === "commander.invalidArgument";
  return isOfValue && argv.some((argument) => argument.includes("…"));
}

/** What `keelson` would say against the arguments; null when it would take them. */
export async function checkKeelson(argv: readonly string[]): Promise<string | null> {
  const program = await createParser(argv);
  try {
    await program.parseAsync([...argv], { from: "user" });
    return null;
  } catch (error) {
    const refusal = error as Refusal;
    return refusal.exitCode === 0 || isPlaceholder(refusal, argv) ? null : refusal.message;
  }
}

/** Whether a text as `keelson task start` begins with the names of a command. */
export async function checkCommandName(words: readonly string[]): Promise<string | null> {
  let command = await createParser([]);
  for (const word of words) {
    if (command.commands.length === 0 || word.startsWith("-")) return null;
    const next = command.commands.find(
      (candidate) => candidate.name() === word || candidate.aliases().includes(word),
    );
    if (next === undefined) return `\`${command.name()}\` has no command ${word}`;
    command = next;
  }
  return null;
}
