import type { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { formatDuration } from "../../packages/contract/src/index.ts";
import { EXIT, EXIT_MEANINGS } from "../../packages/cli/src/exit-codes.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { code, table } from "./markdown.ts";

type Command = Awaited<ReturnType<typeof createProgram>>["program"];
type Argument = Command["registeredArguments"][number];
type Option = Command["options"][number];

const nowhere = (): NodeJS.WriteStream => new PassThrough() as unknown as NodeJS.WriteStream;

async function commandTree(): Promise<Command> {
  const { program } = await createProgram(
    {
      env: {},
      cwd: "/",
      stdin: new PassThrough() as unknown as NodeJS.ReadStream,
      stdout: nowhere(),
      stderr: nowhere(),
      signal: new AbortController().signal,
      endInOrder: () => undefined,
    },
    [],
  );
  return program;
}

/** Commands with something to run, each with its whole name; a noun alone only prints its help. */
function* runnable(command: Command, above = ""): Generator<[name: string, command: Command]> {
  const name = `${above}${command.name()}`;
  if (command.commands.length === 0) yield [name, command];
  for (const below of command.commands) yield* runnable(below, `${name} `);
}

const argumentText = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

/** What commander says in its help: the words, the default, the choices. */
function optionMeaning({
  flags,
  description,
  defaultValue,
  defaultValueDescription,
  argChoices,
}: Option): string {
  const isDuration = flags.includes("<duration>") && typeof defaultValue === "number";
  const shown = isDuration ? formatDuration(defaultValue) : JSON.stringify(defaultValue);
  const further = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(", ")}`]),
    ...(defaultValue === undefined || defaultValue === false
      ? []
      : [`default ${defaultValueDescription ?? shown}`]),
  ];
  return further.length === 0 ? description : `${description} (${further.join("; ")})`;
}

/** The examples that stand under a command's help. */
function examples(command: Command): string | null {
  let text = "";
  (command as unknown as EventEmitter).emit("afterHelp", {
    error: false,
    command,
    write: (part: string) => (text += part),
  });
  const lines = [...text.matchAll(/^ {2}\$ (.*)$/gm)].map((match) => match[1]);
  return lines.length === 0 ? null : `\`\`\`sh\n${lines.join("\n")}\n\`\`\``;
}

function section([name, command]: [string, Command]): string {
  const given = command.registeredArguments.map((argument) => [
    code(argumentText(argument)),
    argument.description,
  ]);
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map((option) => [code(option.flags), optionMeaning(option)]);
  const rows = [...given, ...options];
  return [
    `### ${name}`,
    `${command.description()}.`,
    ...(rows.length === 0 ? [] : [table([["argument or option", "meaning"], ...rows])]),
    ...[examples(command)].filter((text) => text !== null),
  ].join("\n\n");
}

/** Every command with its arguments, options and examples. */
export async function commandSections(): Promise<string> {
  const program = await commandTree();
  const general = program.options.map((option) => [code(option.flags), optionMeaning(option)]);
  return [
    "These options go with every command:",
    table([["option", "meaning"], ...general]),
    ...program.commands.flatMap((command) => [...runnable(command, "keelson ")].map(section)),
  ].join("\n\n");
}

export const exitCodes = (): string =>
  table([
    ["code", "meaning"],
    ...Object.entries(EXIT).map(([name, number]) => [
      String(number),
      EXIT_MEANINGS[name as keyof typeof EXIT],
    ]),
  ]);
