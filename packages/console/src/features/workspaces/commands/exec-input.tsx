import type { Exec } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { client, get, send } from "../../../api/client.ts";
import { usePlace } from "../../../api/place.ts";
import { useAction } from "../../../api/use-action.ts";
import { Button } from "../../../ui/button.tsx";
import { inputClass } from "../../../ui/field.tsx";

/** A line for a command that reads its standard input; Enter sends it with its end. */
export function ExecInput({ path }: { path: string }): ReactNode {
  const place = usePlace();
  const [line, setLine] = useState("");
  const [write] = useState(() =>
    client.openInput(`${path}/stdin`, place, async () => (await get<Exec>(path, place)).stdin.bytes),
  );
  const sendLine = useAction<string, void>((_place, text) => write(text), { onDone: () => setLine("") });
  const close = useAction((where) => send("POST", `${path}/stdin/close`, { body: where }));
  return (
    <form
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        sendLine.mutate(`${line}\n`);
      }}
    >
      <input
        aria-label="Standard input"
        placeholder="Standard input"
        autoComplete="off"
        spellCheck={false}
        value={line}
        onChange={({ target }) => setLine(target.value)}
        className={`${inputClass} min-w-40 flex-1 font-mono`}
      />
      <Button type="submit" isBusy={sendLine.isPending}>
        Send line
      </Button>
      <Button isBusy={close.isPending} onClick={() => close.mutate()}>
        End input
      </Button>
    </form>
  );
}
