/**
 * Browsers lay out no element higher than some ten million pixels. A longer content is scrolled by an element of a height that
 * they take: small moves are moves of the content, one for one; large ones, by the bar, go to the same share of it.
 */
export const MAX_ELEMENT_PX = 8_000_000;

export type ScaledScroll = { contentPx: number; viewPx: number };

export const elementHeight = ({ contentPx }: ScaledScroll): number => Math.min(contentPx, MAX_ELEMENT_PX);

const lastTop = ({ contentPx, viewPx }: ScaledScroll): number => Math.max(0, contentPx - viewPx);
const lastElementTop = (scroll: ScaledScroll): number => Math.max(0, elementHeight(scroll) - scroll.viewPx);
const clamp = (value: number, last: number): number => Math.max(0, Math.min(value, last));

/** Where the element must be scrolled to for the content to be at `top`. */
export function toElementTop(scroll: ScaledScroll, top: number): number {
  if (scroll.contentPx <= MAX_ELEMENT_PX) return clamp(top, lastTop(scroll));
  return (clamp(top, lastTop(scroll)) / lastTop(scroll)) * lastElementTop(scroll);
}

/** Where the content is now, which was at `top` while the element was at `elementBefore`, and now is at `elementTop`. */
export function toContentTop(
  scroll: ScaledScroll,
  { top, elementBefore, elementTop }: { top: number; elementBefore: number; elementTop: number },
): number {
  if (scroll.contentPx <= MAX_ELEMENT_PX) return clamp(elementTop, lastTop(scroll));
  if (elementTop <= 0) return 0;
  if (elementTop >= lastElementTop(scroll) - 1) return lastTop(scroll);
  const moved = elementTop - elementBefore;
  if (Math.abs(moved) <= 3 * scroll.viewPx) return clamp(top + moved, lastTop(scroll));
  return (elementTop / lastElementTop(scroll)) * lastTop(scroll);
}
