import type { Exec } from "@keelson/contract";
import { Play } from "lucide-react";
import { useState, type ChangeEvent, type ReactNode } from "react";
import { send } from "../../../api/client.ts";
import { useAction } from "../../../api/use-action.ts";
import { at } from "../../../api/route.ts";
import { createExec } from "../../../api/routes/execs.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { inputClass, TextAreaField, TextField } from "../../../ui/field.tsx";
import { EMPTY_FORM, parseVariables, toCreateExec, type CommandForm } from "./command-form.ts";

/** Runs a line of a shell in the workspace, which is put on a machine for it. */
export function RunCommand({
  workspaceId,
  onStarted,
}: {
  workspaceId: string;
  onStarted: (exec: Exec) => void;
}): ReactNode {
  const [form, setForm] = useState<CommandForm>(EMPTY_FORM);
  const parsed = parseVariables(form.variables);
  const problem = "problem" in parsed ? parsed.problem : null;
  const start = useAction<void, Exec>(
    (place) => {
      const env = "env" in parsed ? parsed.env : {};
      const body = toCreateExec(form, env, crypto.randomUUID());
      return send(at(createExec, { workspace_id: workspaceId }), { body: { ...place, ...body } });
    },
    { isShownInPlace: true, onDone: onStarted },
  );
  const field = (name: keyof CommandForm) => ({
    value: form[name],
    autoComplete: "off",
    spellCheck: false,
    onChange: ({ target }: { target: { value: string } }) => setForm({ ...form, [name]: target.value }),
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === null && form.line.trim() !== "") start.mutate();
      }}
    >
      <div className="flex gap-2">
        <input
          aria-label="Command"
          placeholder="Command, run by sh -c, such as: npm test"
          required
          {...field("line")}
          className={`${inputClass} font-mono`}
        />
        <Button type="submit" kind="primary" icon={<Play size={14} aria-hidden />} isBusy={start.isPending}>
          Run
        </Button>
      </div>
      <CommandOptions field={field} problem={problem} />
      {start.error !== null && <ErrorPanel error={start.error} />}
    </form>
  );
}

type FieldOf = (name: keyof CommandForm) => {
  value: string;
  onChange(event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>): void;
};

function CommandOptions({ field, problem }: { field: FieldOf; problem: string | null }): ReactNode {
  return (
    <details>
      <summary className="text-sm text-quiet">Folder, environment variables, input and time limit</summary>
      <div className="mt-3 grid gap-3 md:grid-cols-2">
        <TextField
          label="Folder"
          hint="A folder of the workspace. Leave empty for the root."
          {...field("cwd")}
        />
        <TextField
          label="Time limit"
          hint="A duration such as 90s or 10m. Leave empty for no limit."
          {...field("timeout")}
        />
        <TextAreaField
          label="Environment"
          hint="One NAME=value per line. Only the names can be read again."
          rows={3}
          error={problem}
          {...field("variables")}
        />
        <TextAreaField
          label="Standard input"
          hint="The complete standard input. Leave empty to keep it open and write while the command runs."
          rows={3}
          {...field("stdin")}
        />
      </div>
    </details>
  );
}
