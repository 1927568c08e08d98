import type { ErrorGroup } from "@keelson/contract";
import { BellOff, Check, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { at } from "../../api/route.ts";
import { muteErrorGroup, openErrorGroup, resolveErrorGroup } from "../../api/routes/error-groups.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";

type Verb = "resolve" | "mute" | "open";
const ROUTES = { resolve: resolveErrorGroup, mute: muteErrorGroup, open: openErrorGroup } as const;
const DONE: Record<Verb, string> = {
  resolve: "Resolved. It opens again if another run fails in this way",
  mute: "Muted. It keeps counting",
  open: "Opened",
};

/** What a person says of an error. */
export function ErrorActions({ group: { id, status } }: { group: ErrorGroup }): ReactNode {
  const change = useAction<Verb, Verb>(
    async (place, verb) => {
      await send(at(ROUTES[verb], { id }), { body: place });
      return verb;
    },
    { done: (verb) => DONE[verb] },
  );
  const button = (verb: Verb, text: string, icon: ReactNode): ReactNode => (
    <Button icon={icon} isBusy={change.isPending} onClick={() => change.mutate(verb)}>
      {text}
    </Button>
  );
  return (
    <>
      {status !== "resolved" && button("resolve", "Resolve", <Check size={15} aria-hidden />)}
      {status !== "muted" && button("mute", "Mute", <BellOff size={15} aria-hidden />)}
      {status !== "open" && button("open", "Open again", <RotateCcw size={15} aria-hidden />)}
    </>
  );
}
