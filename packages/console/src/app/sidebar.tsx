import { Link, useParams } from "@tanstack/react-router";
import { Building2, ServerCog } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "../ui/class-names.ts";
import { usePlaceRow } from "./current-place.ts";
import { ENVIRONMENT_PAGES, pageAddress } from "./navigation.ts";
import { useUser } from "./session.ts";

const LINK =
  "flex items-center gap-2 rounded-md px-2 py-1.5 text-quiet hover:bg-raised hover:text-text aria-[current=page]:bg-accent-ground aria-[current=page]:text-accent aria-[current=page]:font-medium";

export function Sidebar({ isOpen, onNavigate }: { isOpen: boolean; onNavigate: () => void }): ReactNode {
  const user = useUser();
  const place = usePlaceRow();
  const { organizationId } = useParams({ strict: false });
  const organization = organizationId ?? place?.organization.id;
  return (
    <nav
      id="sidebar"
      aria-label="Pages"
      className={cx(
        "flex-col gap-0.5 overflow-y-auto border-line bg-surface p-2 md:flex md:border-r",
        "max-md:col-span-full max-md:row-start-2 max-md:z-30",
        isOpen ? "flex" : "hidden",
      )}
    >
      {place !== null &&
        ENVIRONMENT_PAGES.map(({ label, path, icon: Icon }) => (
          <Link
            key={path}
            to={pageAddress(`/e/${place.environment.id}`, path)}
            activeOptions={{ exact: path === "" }}
            className={LINK}
            onClick={onNavigate}
          >
            <Icon size={16} aria-hidden />
            {label}
          </Link>
        ))}
      <hr className="my-2 border-line" />
      {organization !== undefined && (
        <Link to={pageAddress(`/organizations/${organization}`, "")} className={LINK} onClick={onNavigate}>
          <Building2 size={16} aria-hidden />
          Organization
        </Link>
      )}
      {user.is_admin && (
        <Link to="/system" className={LINK} onClick={onNavigate}>
          <ServerCog size={16} aria-hidden />
          System
        </Link>
      )}
    </nav>
  );
}
