// Runs before all scripts of the page and keeps what the browser measures. page_probe.py reads it.
(() => {
  const seen = { tasks: [], frames: [], paints: [], events: [], messages: 0, marks: 0, firstMet: {} };

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
  // A long frame lists its scripts and layout steps; a long task does not.
  observe('long-animation-frame', ({ startTime, duration, renderStart, styleAndLayoutStart, scripts }) =>
    seen.frames.push({
      at: startTime, duration, render: renderStart && startTime + duration - renderStart, layout: styleAndLayoutStart && startTime + duration - styleAndLayoutStart,
      scripts: scripts.map(({ invoker, sourceURL, sourceFunctionName, duration: took, forcedStyleAndLayoutDuration: forced }) => ({
        invoker, source: sourceURL.split('/').at(-1), function: sourceFunctionName, took, forced,
      })),
    }),
  );

  // Counts the messages of event streams: only these are read as text.
  const { read } = ReadableStreamDefaultReader.prototype;
  ReadableStreamDefaultReader.prototype.read = function counted() {
    const answer = read.call(this);
    answer.then(({ value }) => typeof value === 'string' && (seen.messages += 1), () => {});
    return answer;
  };

  // Checks the conditions once per frame.
  const conditions = [];
  const check = (now) => {
    for (let at = conditions.length - 1; at >= 0; at -= 1) {
      const [name, isMet] = conditions[at];
      if (!isMet()) continue;
      seen.firstMet[name] = now;
      conditions.splice(at, 1);
    }
    if (conditions.length > 0) requestAnimationFrame(() => check(performance.now()));
  };
  addEventListener('submit', () => (seen.firstMet.submitted ??= performance.now()), { capture: true });

  globalThis.weirBench = {
    onceMet(name, isMet) {
      conditions.push([name, isMet]);
      if (conditions.length === 1) check(performance.now());
    },
    now: () => performance.now(),
    // Sets a mark in the trace and returns its name.
    mark() {
      const name = `weir-bench-${(seen.marks += 1)}`;
      performance.mark(name);
      return name;
    },
    // Returns the section with this heading. It searches headings only, because a full search would take CPU time of the page.
    section: (title) => [...document.querySelectorAll('section > div > h2')].find(({ textContent }) => textContent === title)?.closest('section'),
    read() {
      for (const [observer, take] of observed) observer.takeRecords().forEach(take);
      return seen;
    },
  };
})();
