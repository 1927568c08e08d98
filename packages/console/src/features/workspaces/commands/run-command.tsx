import type { Exec } from "@keelson/contract";
import { Play } from "lucide-react";
import { useState, type ReactNode } from "react";
import { send } from "../../../api/client.ts";
import { useAction } from "../../../api/use-action.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { inputClass, TextAreaField, TextField } from "../../../ui/field.tsx";
import { workspacePath } from "../workspace-data.ts";
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
      return send("POST", workspacePath(workspaceId, "/execs"), { body: { ...place, ...body } });
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
      <details>
        <summary className="text-sm text-quiet">Folder, environment, input and time limit</summary>
        <div className="mt-3 grid gap-3 md:grid-cols-2">
          <TextField label="Folder" hint="Of the workspace. Empty: its root." {...field("cwd")} />
          <TextField label="Time limit" hint="Such as 90s or 10m. Empty: none." {...field("timeout")} />
          <TextAreaField
            label="Environment"
            hint="NAME=value, one a line. Only the names can be read back."
            rows={3}
            error={problem}
            {...field("variables")}
          />
          <TextAreaField
            label="Standard input"
            hint="All of it. Empty: it stays open, and you can write to it while the command runs."
            rows={3}
            {...field("stdin")}
          />
        </div>
      </details>
      {start.error !== null && <ErrorPanel error={start.error} />}
    </form>
  );
}
