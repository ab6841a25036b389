import { Box } from '@mui/material';
import { HeatmapChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent, VisualMapComponent } from 'echarts/components';
import { init, setPlatformAPI, use as register, type ECharts } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { useEffect, useRef } from 'react';

import { measured } from './measuring';
import type { Option } from './option';
import { Turns } from './turns';

register([LineChart, HeatmapChart, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

/** Where nothing can be drawn (a test without a browser) the words around the chart have to do. */
const pen = typeof ResizeObserver === 'undefined' ? null : document.createElement('canvas').getContext('2d');
if (pen) {
  const ask = (text: string, font: string): number => {
    pen.font = font;
    return pen.measureText(text).width;
  };
  setPlatformAPI({ measureText: (text, font) => ({ width: measured(text, font ?? '', ask) }) });
}

/** Of all charts there are. */
const turns = new Turns();

/** Loaded when the first chart is shown: see Chart.tsx. */
export default function Drawing({ option, height }: { option: Option; height: number }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<ECharts | null>(null);
  const seen = useRef(true);
  /** What came while nobody could see it: a page has charts below what is looked at, and they change as often. */
  const missed = useRef<Option | null>(null);
  useEffect(() => {
    const place = box.current!;
    if (!pen) return;
    const resized = {};
    const fit = (): void => {
      const made = chart.current;
      if (made && (made.getWidth() !== place.clientWidth || made.getHeight() !== place.clientHeight)) made.resize();
    };
    const observer = new ResizeObserver(() => turns.ask(resized, fit));
    observer.observe(place);
    const watcher = new IntersectionObserver((entries) => {
      seen.current = entries.at(-1)!.isIntersecting;
      const latest = missed.current;
      if (!seen.current || !latest) return;
      missed.current = null;
      turns.ask(place, () => chart.current?.setOption(latest));
    });
    watcher.observe(place);
    return () => {
      observer.disconnect();
      watcher.disconnect();
      turns.leave(resized);
      turns.leave(place);
      const made = chart.current;
      chart.current = null;
      // What is drawn over several frames goes on being drawn after `dispose`, and fails there (zrender 6.1): a new, empty picture ends it.
      made?.clear();
      made?.getZr().refreshImmediately();
      made?.dispose();
    };
  }, []);
  useEffect(() => {
    const place = box.current!;
    if (!pen) return;
    missed.current = chart.current && !seen.current ? option : null;
    if (missed.current) return;
    // Merged, and at once: what somebody points at stays pointed at when new numbers come. A chart has always the same number of series.
    const draw = (): void => chart.current?.setOption(option);
    // The first time it is a lot: axes and lines have a turn each.
    const begin = (): void => {
      chart.current?.setOption({ ...option, series: [] });
      turns.ask(place, draw);
    };
    turns.ask(place, () => {
      if (chart.current) return draw();
      chart.current = init(place);
      turns.ask(place, begin);
    });
  }, [option]);
  return <Box ref={box} sx={{ height, minWidth: 0 }} />;
}
