import { clearLine, cursorTo } from 'node:readline'

// Progress is written to stderr, so that the stdout of a command can be parsed.
const { isTTY: isTerminal } = process.stderr
/** Update interval. Outside of a terminal, each update is a new line, so they are less frequent. */
const everyMs = isTerminal ? 250 : 10_000
const plan = { total: 0, begun: 0 }

/** Prints the planned steps. Their number is shown with each step. */
export function announceSteps(titles) {
  plan.total = titles.length
  if (titles.length > 0) console.error(`Preparing: ${titles.join(', ')}. This takes a few minutes the first time.`)
}

/**
 * Shows a step with its progress and duration: on a terminal in one line that is updated, otherwise in a new line at intervals. `work` receives a
 * function that sets the progress text. Returns the result of `work`, which includes an exit code.
 */
export async function showStep(title, work) {
  plan.begun += 1
  const heading = plan.total > 0 ? `[${plan.begun}/${plan.total}] ${title}` : title
  const started = Date.now()
  const seconds = (digits) => `${((Date.now() - started) / 1000).toFixed(digits)} s`
  let state = ''
  const show = () => write([heading, state, seconds(0)].filter(Boolean).join(' · '))
  write(heading)
  const timer = setInterval(show, everyMs)
  let end = `${heading} · failed`
  try {
    const result = await work((text) => (state = text || state))
    if (result.code === 0) end = `${heading} · done in ${seconds(1)}`
    return result
  } finally {
    clearInterval(timer)
    write(end)
    if (isTerminal) process.stderr.write('\n')
  }
}

function write(line) {
  if (!isTerminal) return process.stderr.write(`${line}\n`)
  cursorTo(process.stderr, 0)
  clearLine(process.stderr, 1)
  process.stderr.write(line.slice(0, (process.stderr.columns || 80) - 1))
}
