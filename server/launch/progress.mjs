import { clearLine, cursorTo } from 'node:readline'

// Progress goes to stderr: what programs read of a command goes to stdout.
const { isTTY: isTerminal } = process.stderr
/** Where no line can be rewritten, another one is written now and then. */
const everyMs = isTerminal ? 250 : 10_000
const plan = { total: 0, begun: 0 }

/** Announces the steps to come, so that each can tell its place among them. */
export function announceSteps(titles) {
  plan.total = titles.length
  if (titles.length > 0) console.error(`Getting ready: ${titles.join(', ')}. The first time, this takes a few minutes.`)
}

/**
 * Shows what is being done, how far it is and how long it has taken: on a terminal in one line that is rewritten, elsewhere in lines now and
 * then. `work` gets a function to tell how far it is. Gives what `work` gives: an exit code, and what else there is.
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
