import '@testing-library/jest-dom/vitest';

import { cleanup, configure } from '@testing-library/react';
import { afterEach } from 'vitest';

// Tabs are loaded when they are opened, and two cores are shared with others.
configure({ asyncUtilTimeout: 25_000 });

afterEach(cleanup);

// What jsdom lacks and MUI asks for. Tests are read as on a screen of 1280 px in the light theme.
window.matchMedia ??= (query) =>
  ({
    matches: /min-width/.test(query) && Number(/(\d+(\.\d+)?)px/.exec(query)?.[1] ?? 0) <= 1280,
    media: query, onchange: null, addListener: () => {}, removeListener: () => {}, addEventListener: () => {}, removeEventListener: () => {}, dispatchEvent: () => false,
  }) as MediaQueryList;

// It has no canvas, and complains each time that somebody asks: charts are told by their labels (shared/chart).
HTMLCanvasElement.prototype.getContext = () => null;

// It scrolls nothing.
Element.prototype.scrollIntoView ??= () => {};

// What the graph asks for: nothing has a size in jsdom, so nothing of it changes.
window.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};
