import escapeHtml from 'escape-html'
import { createHash } from 'node:crypto'
import type { Context } from '../access/context.ts'
import { turnKey } from '../http/limits/limits.ts'
import { nextSlice } from '../threads/slices.ts'
import { findRendered, keepRendered } from './kept.ts'
import { renderInThread } from './threads.ts'
import type { Task } from './worker.ts'

/** Counts up with every change of what the renderer makes of a text. */
const rendererVersion = 1
/** No page of this server shows more HTML at once. */
const maxHtmlBytes = 2 * 1024 ** 2

declare module '../caches/caches.ts' {
  interface CachedValues {
    /** Rendered HTML, by the hash of its source. */
    texts: string
  }
}

type Caller = Pick<Context, 'caches' | 'database' | 'log' | 'now' | 'viewer' | 'ip' | 'budget'>

/**
 * A Markdown text as HTML that is safe to show. It is rendered once, off the event loop and with a deadline, and kept by its content; a text
 * that takes too long or grows too large is shown as it was written. `isKept: false` is for drafts, which are remembered for a while only.
 * @throws ApiError ServiceUnavailable when so many texts wait to be rendered that its turn does not come in time.
 */
export async function renderText(caller: Caller, task: Task, { isKept = true } = {}): Promise<string> {
  const hash = keyOf(task)
  let html = caller.caches.texts.get(hash)
  if (html !== undefined) {
    caller.budget?.spendText(Buffer.byteLength(html))
    return html
  }
  let current = underWay.get(hash)
  if (!current) {
    current = renderOnce(caller, hash, task, isKept).finally(() => underWay.delete(hash))
    underWay.set(hash, current)
  }
  const mine = letOthersIn(current)
  html = await (caller.budget?.uncounted(mine) ?? mine)
  caller.budget?.spendText(Buffer.byteLength(html))
  caller.caches.texts.set(hash, html)
  return html
}

/** What the text is kept under. It may be long: nothing is made of it but the hash. */
const keyOf = ({ source, links }: Task): string =>
  createHash('sha256')
    .update(JSON.stringify([rendererVersion, links]))
    .update(source)
    .digest('hex')

/** Many may wait for the same text, and to send a long one takes milliseconds: they go on one after the other. */
async function letOthersIn(rendering: Promise<string>): Promise<string> {
  const html = await rendering
  if (html.length > longFrom) await nextSlice()
  return html
}
const longFrom = 64 * 1024

const underWay = new Map<string, Promise<string>>()

async function renderOnce(caller: Caller, hash: string, task: Task, isKept: boolean): Promise<string> {
  const kept = isKept ? await findRendered(caller, hash) : undefined
  if (kept !== undefined) return kept ?? asWritten(task.source)
  const rendered = await renderInThread(caller.viewer?.id ?? turnKey(caller.ip), task)
  const html = rendered !== null && Buffer.byteLength(rendered) <= maxHtmlBytes ? rendered : null
  if (isKept) await keepRendered(caller, hash, html)
  return html ?? asWritten(task.source)
}

const asWritten = (source: string): string =>
  `<p><em>This text takes too long to format, so it is shown as it was written.</em></p>\n<pre><code>${escapeHtml(source)}</code></pre>\n`
