import { Box } from '@mui/material';
import { HeatmapChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent, VisualMapComponent } from 'echarts/components';
import { init, setPlatformAPI, use as register, type ECharts } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { useEffect, useRef } from 'react';

import { textWidth } from './textWidth';
import type { Option } from './option';
import { DrawQueue } from './drawQueue';

register([LineChart, HeatmapChart, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

/** The canvas context that measures texts. Null if there is no canvas, as in jsdom. Without a canvas, charts are not drawn. */
const pen = typeof ResizeObserver === 'undefined' ? null : document.createElement('canvas').getContext('2d');
if (pen) {
  const ask = (text: string, font: string): number => {
    pen.font = font;
    return pen.measureText(text).width;
  };
  setPlatformAPI({ measureText: (text, font) => ({ width: textWidth(text, font ?? '', ask) }) });
}

/** The draw queue that all charts share. */
const drawQueue = new DrawQueue();

/** This file is loaded when the first chart is rendered (see Chart.tsx). */
export default function EChart({ option, height }: { option: Option; height: number }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<ECharts | null>(null);
  const seen = useRef(true);
  /** The newest option of a chart outside the viewport, which is drawn once the chart is visible. */
  const missed = useRef<Option | null>(null);
  useEffect(() => {
    const place = box.current!;
    if (!pen) return;
    const resized = {};
    const fit = (): void => {
      const made = chart.current;
      if (made && (made.getWidth() !== place.clientWidth || made.getHeight() !== place.clientHeight)) made.resize();
    };
    const observer = new ResizeObserver(() => drawQueue.request(resized, fit));
    observer.observe(place);
    const watcher = new IntersectionObserver((entries) => {
      seen.current = entries.at(-1)!.isIntersecting;
      const latest = missed.current;
      if (!seen.current || !latest) return;
      missed.current = null;
      drawQueue.request(place, () => chart.current?.setOption(latest));
    });
    watcher.observe(place);
    return () => {
      observer.disconnect();
      watcher.disconnect();
      drawQueue.cancel(resized);
      drawQueue.cancel(place);
      const made = chart.current;
      chart.current = null;
      // zrender 6.1 fails if `dispose` is called during a progressive rendering, so render an empty chart before `dispose`.
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
    // Merge the new option into the old option, so that the tooltip stays open when new data arrives. A chart always has the same number of series.
    const draw = (): void => chart.current?.setOption(option);
    // The first drawing of a chart is slow, so draw axes and lines in separate frames.
    const begin = (): void => {
      chart.current?.setOption({ ...option, series: [] });
      drawQueue.request(place, draw);
    };
    drawQueue.request(place, () => {
      if (chart.current) return draw();
      chart.current = init(place);
      drawQueue.request(place, begin);
    });
  }, [option]);
  return <Box ref={box} sx={{ height, minWidth: 0 }} />;
}
