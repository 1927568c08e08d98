import type { AuditVerification } from "@keelson/contract";
import { useMutation } from "@tanstack/react-query";
import { Download, ShieldCheck } from "lucide-react";
import type { ReactNode } from "react";
import { get, hrefOf } from "../../api/client.ts";
import {
  adminExportAuditEvents,
  adminListAuditEvents,
  adminVerifyAuditEvents,
} from "../../api/routes/admin-audit-log.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Card } from "../../ui/page.tsx";
import { AuditLog } from "../audit-log/audit-log.tsx";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";

/** The installation's own chain: what concerns no organization. */
export function SystemAuditLogPage(): ReactNode {
  const verify = useMutation({ mutationFn: () => get(adminVerifyAuditEvents, {}) });
  return (
    <SystemPage
      title="Audit log"
      actions={
        <>
          <a
            href={hrefOf(adminExportAuditEvents, {})}
            download="audit-events.jsonl"
            className={buttonClass()}
          >
            <Download size={15} aria-hidden /> Export
          </a>
          <Button
            icon={<ShieldCheck size={15} aria-hidden />}
            isBusy={verify.isPending}
            onClick={() => verify.mutate()}
          >
            Verify the chain
          </Button>
        </>
      }
    >
      {verify.error !== null && <ErrorPanel error={verify.error} />}
      {verify.data !== undefined && <Verification verification={verify.data} />}
      <AuditLog cacheKey={SYSTEM_KEY} route={adminListAuditEvents} scope={null} />
    </SystemPage>
  );
}

function Verification({ verification }: { verification: AuditVerification }): ReactNode {
  const { valid, events, fault } = verification;
  return (
    <Card className={valid ? "" : "bg-bad-ground"}>
      <p role="status">
        {valid
          ? `${events.toLocaleString()} events are as they were written, in their order.`
          : `Event ${fault?.sequence ?? "?"} is invalid: ${fault?.message ?? ""}`}
      </p>
    </Card>
  );
}
