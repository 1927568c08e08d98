import { useState, type ReactNode } from "react";
import { get, openInput, send } from "../../../api/client.ts";
import { usePlace } from "../../../api/place.ts";
import { useAction } from "../../../api/use-action.ts";
import { at, type ParamsOf } from "../../../api/route.ts";
import { closeExecStdin, getExec, writeExecStdin } from "../../../api/routes/execs.ts";
import { Button } from "../../../ui/button.tsx";
import { inputClass } from "../../../ui/field.tsx";

/** A line for a command that reads its standard input; Enter sends it with its end. */
export function ExecInput({ params }: { params: ParamsOf<typeof getExec> }): ReactNode {
  const place = usePlace();
  const [line, setLine] = useState("");
  const [write] = useState(() =>
    openInput(
      at(writeExecStdin, params),
      place,
      async () => (await get(at(getExec, params), place)).stdin.bytes,
    ),
  );
  const sendLine = useAction<string, void>((_place, text) => write(text), { onDone: () => setLine("") });
  const close = useAction((where) => send(at(closeExecStdin, params), { body: where }));
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
