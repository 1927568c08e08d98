import { useNavigate } from "@tanstack/react-router";
import { BookOpen, LogOut, Monitor, Moon, Plug, Sun } from "lucide-react";
import type { ReactNode } from "react";
import { Menu } from "../ui/menu.tsx";
import { showToast } from "../ui/toast-store.ts";
import { signOut } from "./session.ts";
import { chooseTheme, THEMES, useTheme, type Theme } from "./theme.ts";

const THEME_ICONS: Record<Theme, ReactNode> = {
  system: <Monitor size={15} aria-hidden />,
  light: <Sun size={15} aria-hidden />,
  dark: <Moon size={15} aria-hidden />,
};

/** Opens at once: whoever asked for its code asked for it. */
export function AccountMenuItems({ trigger }: { trigger: ReactNode }): ReactNode {
  const theme = useTheme();
  const navigate = useNavigate();
  return (
    <Menu
      trigger={trigger}
      isOpenAtFirst
      items={[
        ...THEMES.map((name) => ({
          label: `${name === "system" ? "System" : name === "light" ? "Light" : "Dark"} theme${name === theme ? " ✓" : ""}`,
          icon: THEME_ICONS[name],
          onSelect: () => chooseTheme(name),
        })),
        {
          label: "Connected clients",
          icon: <Plug size={15} aria-hidden />,
          onSelect: () => void navigate({ to: "/connected-clients" }),
        },
        {
          label: "API reference",
          icon: <BookOpen size={15} aria-hidden />,
          onSelect: () => void window.open("/docs", "_blank", "noopener"),
        },
        {
          label: "Sign out",
          icon: <LogOut size={15} aria-hidden />,
          onSelect: () => void signOut().catch((error: unknown) => showToast({ error })),
        },
      ]}
    />
  );
}
