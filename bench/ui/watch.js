// Runs in the page before anything of its own: what the browser measures by itself, kept for whoever asks (watching.py).
(() => {
  const seen = { tasks: [], frames: [], paints: [], events: [], texts: 0, marks: 0, reached: {} };

  const observed = [];
  const observe = (type, take, more) => {
    if (!PerformanceObserver.supportedEntryTypes.includes(type)) return;
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(take));
    observer.observe({ type, buffered: true, ...more });
    observed.push([observer, take]);
  };
  observe('longtask', ({ startTime, duration }) => seen.tasks.push([startTime, duration]));
  observe('largest-contentful-paint', ({ startTime, size }) => seen.paints.push([startTime, size]));
  observe('event', ({ startTime, duration, name }) => seen.events.push([startTime, duration, name]), { durationThreshold: 48 });
  // Says what a long frame was spent on, which a long task does not.
  observe('long-animation-frame', ({ startTime, duration, renderStart, styleAndLayoutStart, scripts }) =>
    seen.frames.push({
      at: startTime, duration, render: renderStart && startTime + duration - renderStart, layout: styleAndLayoutStart && startTime + duration - styleAndLayoutStart,
      scripts: scripts.map(({ invoker, sourceURL, sourceFunctionName, duration: took, forcedStyleAndLayoutDuration: forced }) => ({
        invoker, source: sourceURL.split('/').at(-1), function: sourceFunctionName, took, forced,
      })),
    }),
  );

  // How often something new arrives over a stream of events: they are read as text, and nothing else of the page is.
  const { read } = ReadableStreamDefaultReader.prototype;
  ReadableStreamDefaultReader.prototype.read = function counted() {
    const answer = read.call(this);
    answer.then(({ value }) => typeof value === 'string' && (seen.texts += 1), () => {});
    return answer;
  };

  // When something is first there, to the frame.
  const wanted = [];
  const look = (now) => {
    for (let at = wanted.length - 1; at >= 0; at -= 1) {
      const [name, is] = wanted[at];
      if (!is()) continue;
      seen.reached[name] = now;
      wanted.splice(at, 1);
    }
    if (wanted.length > 0) requestAnimationFrame(() => look(performance.now()));
  };
  addEventListener('submit', () => (seen.reached.submitted ??= performance.now()), { capture: true });

  globalThis.weirBench = {
    await(name, is) {
      wanted.push([name, is]);
      if (wanted.length === 1) look(performance.now());
    },
    now: () => performance.now(),
    // Names this moment, for a trace.
    mark() {
      const name = `weir-bench-${(seen.marks += 1)}`;
      performance.mark(name);
      return name;
    },
    // The part of the page with this heading, found without a look at everything else: looking takes the page's time, too.
    section: (title) => [...document.querySelectorAll('section > div > h2')].find(({ textContent }) => textContent === title)?.closest('section'),
    read() {
      for (const [observer, take] of observed) observer.takeRecords().forEach(take);
      return seen;
    },
  };
})();
