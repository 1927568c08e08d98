import type { ChosenGrant, DeviceAuthorization } from "@keelson/contract";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useState, type ReactNode } from "react";
import { get, send } from "../../api/client.ts";
import { approveDevice, denyDevice, getDeviceStatus } from "../../api/routes/signing-in.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { TextField } from "../../ui/field.tsx";
import { formValues } from "../../ui/form-values.ts";
import { LonePage } from "../../ui/lone-page.tsx";
import { ChooseGrant } from "../oauth/choose-grant.tsx";
import { WhoAsks } from "../oauth/who-asks.tsx";
import { SignedInOnly } from "../login/signed-in-only.tsx";

const codeOfAddress = (): string => new URLSearchParams(location.hash.slice(1)).get("user_code") ?? "";

/** A person approves, or denies, the sign-in of a device that shows them a code (RFC 8628, section 3.3). */
export function DevicePage(): ReactNode {
  const returnTo = `/device#${new URLSearchParams({ user_code: codeOfAddress() }).toString()}`;
  return (
    <LonePage title="Sign in a device">
      <SignedInOnly returnTo={returnTo}>
        <Authorization />
      </SignedInOnly>
    </LonePage>
  );
}

function Authorization(): ReactNode {
  const find = useMutation({
    mutationFn: (code: string) => get(getDeviceStatus, { user_code: code }),
  });
  const findByAddress = useEffectEvent(() => {
    if (codeOfAddress() !== "") find.mutate(codeOfAddress());
  });
  useEffect(() => findByAddress(), []);
  if (find.data?.status === "pending")
    return find.data.client === null ? <Answer device={find.data} /> : <AnswerClient device={find.data} />;
  if (find.data !== undefined)
    return <p role="status">This sign-in was {find.data.status} before. Start a new one on the device.</p>;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => find.mutate(formValues(event).text("code"))}>
      <TextField
        label="Code shown on the device"
        name="code"
        autoComplete="off"
        placeholder="XXXX-XXXX"
        defaultValue={codeOfAddress()}
        className="font-mono text-lg tracking-widest uppercase"
        required
      />
      {find.error !== null && <ErrorPanel error={find.error} />}
      <Button type="submit" kind="primary" isBusy={find.isPending}>
        Continue
      </Button>
    </form>
  );
}

const TOLD = {
  approve: "Approved. The device continues automatically; you can close this page.",
  deny: "Denied. The device is not signed in.",
};

function Answer({ device }: { device: DeviceAuthorization }): ReactNode {
  const [told, setTold] = useState<string | null>(null);
  const answer = useMutation({
    mutationFn: async (verb: "approve" | "deny") => {
      await send(verb === "approve" ? approveDevice : denyDevice, { body: { user_code: device.user_code } });
      setTold(TOLD[verb]);
    },
  });
  if (told !== null) return <p role="status">{told}</p>;
  return (
    <div className="flex flex-col gap-4">
      <p>
        <strong>{device.client_id ?? "A device"}</strong> asks to act as you. Approve it only if you started
        this and it shows the code
      </p>
      <p className="text-center font-mono text-2xl tracking-widest">{device.user_code}</p>
      {answer.error !== null && <ErrorPanel error={answer.error} />}
      <div className="flex gap-2">
        <Button kind="primary" isBusy={answer.isPending} onClick={() => answer.mutate("approve")}>
          Approve
        </Button>
        <Button kind="danger" isBusy={answer.isPending} onClick={() => answer.mutate("deny")}>
          Deny
        </Button>
      </div>
    </div>
  );
}

const TOLD_OF_CLIENT = {
  approve: "Approved. The client continues automatically; you can close this page.",
  deny: "Denied. The client is not connected.",
};

/** A client asks by a code for what it would ask in a browser otherwise. */
function AnswerClient({ device }: { device: DeviceAuthorization }): ReactNode {
  const { user_code, client } = device;
  const answer = useMutation({
    mutationFn: async (grant: ChosenGrant | null) => {
      if (grant === null) await send(denyDevice, { body: { user_code } });
      else await send(approveDevice, { body: { user_code, grant } });
      return TOLD_OF_CLIENT[grant === null ? "deny" : "approve"];
    },
  });
  if (answer.data !== undefined) return <p role="status">{answer.data}</p>;
  if (client === null) return null;
  return (
    <div className="flex flex-col gap-4">
      <WhoAsks client={client}>It shows the code</WhoAsks>
      <p className="text-center font-mono text-2xl tracking-widest">{user_code}</p>
      <ChooseGrant
        asked={client.access}
        answer={{ isBusy: answer.isPending, error: answer.error, give: (grant) => answer.mutate(grant) }}
      />
    </div>
  );
}
