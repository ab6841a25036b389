import { useCallback, useEffect, useRef, type RefCallback } from 'react';

type FocusTarget = () => HTMLElement | null | undefined;

/**
 * Moves the focus when the focused element is removed, such as a form that was sent: to `to`, or else to the heading of the surrounding panel.
 * Browsers drop the focus instead, so the next Tab would start at the top of the page.
 */
export function useFocusHandoff(to?: FocusTarget): RefCallback<HTMLElement> {
  const place = useRef(to);
  useEffect(() => {
    place.current = to;
  });
  return useCallback((part: HTMLElement | null) => {
    if (part === null) return;
    // The element is still in the document when its ref is cleaned up.
    return () => {
      if (!part.contains(document.activeElement)) return;
      const around = headingAround(part);
      // The replacement is mounted in the same commit, but after this.
      queueMicrotask(() => {
        // Another element has taken the focus, such as a field of a dialog.
        if (document.activeElement !== document.body) return;
        const next = [place.current?.(), around].find((one) => one?.isConnected && one !== document.body);
        if (next) focus(next);
      });
    };
  }, []);
}

const headingAround = (part: HTMLElement): HTMLElement | null => document.getElementById(part.closest('section')?.getAttribute('aria-labelledby') ?? '');

function focus(place: HTMLElement): void {
  // Headings and rows are focusable by script, but not by Tab.
  if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
  place.focus();
}
