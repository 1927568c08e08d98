import { CircleUser } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { useUser } from "./session.ts";

const Items = lazy(async () => ({ default: (await import("./account-menu-items.tsx")).AccountMenuItems }));

/** The menu's code is loaded when it is first opened: the first picture of a page does not wait for it. */
export function AccountMenu(): ReactNode {
  const user = useUser();
  const [isWanted, setIsWanted] = useState(false);
  const trigger = (
    <IconButton label={`Account of ${user.email}`} aria-haspopup="menu" onClick={() => setIsWanted(true)}>
      <CircleUser size={18} aria-hidden />
    </IconButton>
  );
  if (!isWanted) return trigger;
  return (
    <Suspense fallback={trigger}>
      <Items trigger={trigger} />
    </Suspense>
  );
}
