import { useCallback, useEffect, useRef, type RefCallback } from 'react';

type Place = () => HTMLElement | null | undefined;

/**
 * For what goes away with what it does: a button that unfolds, a form that was sent. If it has the keyboard then, that goes on at `to`, else at the
 * heading of the panel around. Browsers leave it nowhere: the next Tab would begin at the top of the page.
 */
export function useHandOver(to?: Place): RefCallback<HTMLElement> {
  const place = useRef(to);
  useEffect(() => {
    place.current = to;
  });
  return useCallback((part: HTMLElement | null) => {
    if (part === null) return;
    // It is still in the page when its ref is taken back.
    return () => {
      if (!part.contains(document.activeElement)) return;
      const around = headingAround(part);
      // What comes in its place is put there in the same go, but after this.
      queueMicrotask(() => {
        // Somebody else has asked for it: a field of a dialog, say.
        if (document.activeElement !== document.body) return;
        const next = [place.current?.(), around].find((one) => one?.isConnected && one !== document.body);
        if (next) take(next);
      });
    };
  }, []);
}

const headingAround = (part: HTMLElement): HTMLElement | null => document.getElementById(part.closest('section')?.getAttribute('aria-labelledby') ?? '');

function take(place: HTMLElement): void {
  // Headings and rows are not on the way of who presses Tab, and stay off it.
  if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
  place.focus();
}
