import { PROCESS_SIGNALS, type ProcessSignal } from "@keelson/contract/plain";
import { Square } from "lucide-react";
import { useState, type ReactNode } from "react";
import { send } from "../../../api/client.ts";
import { useAction } from "../../../api/use-action.ts";
import { at, type ParamsOf } from "../../../api/route.ts";
import { signalExec } from "../../../api/routes/execs.ts";
import { Button } from "../../../ui/button.tsx";
import { inputClass } from "../../../ui/field.tsx";

/** Asks the command and all that it started to end, or sends them another signal. */
export function ExecSignals({ params }: { params: ParamsOf<typeof signalExec> }): ReactNode {
  const [signal, setSignal] = useState<ProcessSignal>("SIGTERM");
  const sendSignal = useAction((place) => send(at(signalExec, params), { body: { ...place, signal } }));
  return (
    <>
      <select
        aria-label="Signal"
        value={signal}
        onChange={({ target }) => setSignal(target.value as ProcessSignal)}
        className={inputClass}
        style={{ width: "auto" }}
      >
        {PROCESS_SIGNALS.toSorted().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <Button
        kind="danger"
        icon={<Square size={14} aria-hidden />}
        isBusy={sendSignal.isPending}
        onClick={() => sendSignal.mutate()}
      >
        Send
      </Button>
    </>
  );
}
