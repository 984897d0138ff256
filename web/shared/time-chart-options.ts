import uPlot from 'uplot'
import { type ChartShape, type ColoredSeries, sortForDrawing, stackedValues, timeLabels, timeTicks } from './time-chart.ts'

interface Drawing {
  shape: ChartShape
  series: readonly ColoredSeries[]
  width: number
  height: number
  /** Returns the value of a CSS custom property. */
  colorOf: (property: string) => string
}

const daySeconds = 86_400

export function plotData(times: readonly Date[], series: readonly ColoredSeries[], stacked: boolean): uPlot.AlignedData {
  const drawn = sortForDrawing(series)
  const values = stacked ? stackedValues(drawn) : drawn.map((one) => [...one.values])
  return [times.map((time) => time.getTime() / 1000), ...values]
}

export function plotOptions({ shape, series, width, height, colorOf }: Drawing): uPlot.Options {
  const text = colorOf('--ui-text-muted')
  const grid = { stroke: colorOf('--ui-border'), width: 1 }
  const axis = { stroke: text, grid, ticks: { show: false }, font: '12px ui-sans-serif, system-ui, sans-serif' }
  return {
    width,
    height,
    padding: [8, 12, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: shape.kind !== 'bars', size: 6 } },
    scales: {
      x: { range: (_plot, min, max) => xRange(shape, min, max) },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        splits: (_plot, _axis, min, max) => timeTicks(min, max, Math.floor((width - 60) / tickSpace)),
        values: (_plot, splits) => timeLabels(splits),
      },
      {
        ...axis,
        size: yAxisSize,
        ...(shape.whole ? { incrs: wholeIncrements } : {}),
        values: (_plot, splits) => splits.map((value) => shape.format(value)),
      },
    ],
    series: [{}, ...sortForDrawing(series).map((one) => seriesOptions(one, shape, colorOf(one.color)))],
  }
}

function seriesOptions({ line, dashed, hidden }: ColoredSeries, { kind, stacked }: ChartShape, color: string): uPlot.Series {
  const isLine = line === true || kind === 'lines'
  const fill = stacked || kind === 'bars' ? color : color.replace(/\)$/, ' / 18%)')
  return {
    show: !hidden,
    stroke: color,
    width: isLine || kind === 'areas' ? 1.5 : 0,
    points: { show: false },
    ...(dashed ? { dash: [6, 4] } : {}),
    ...(isLine ? {} : { fill }),
    ...(kind === 'bars' && !isLine ? { paths: uPlot.paths.bars?.({ size: [0.8, 48], radius: 0.1 }) } : {}),
  }
}

/** Adds half a period at both ends for the bars, and around a single time. */
function xRange({ kind, period }: ChartShape, min: number, max: number): [number, number] {
  const half = ((period === 'week' ? 7 : 1) * daySeconds) / 2
  return kind === 'bars' || min === max ? [min - half, max + half] : [min, max]
}

/** 1, 2, 5, 10, 20, 50 and so on. */
const wholeIncrements = Array.from({ length: 15 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

/** Pixels that a label of the x axis needs. */
const tickSpace = 48

/** Makes the y axis as wide as its longest label. */
function yAxisSize(plot: uPlot, values: string[] | null): number {
  plot.ctx.font = '12px ui-sans-serif, system-ui, sans-serif'
  return Math.max(28, ...(values ?? []).map((value) => plot.ctx.measureText(value).width)) + 14
}
