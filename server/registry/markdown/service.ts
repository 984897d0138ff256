import escapeHtml from 'escape-html'
import { createHash } from 'node:crypto'
import type { Context } from '../../platform/access/context.ts'
import { turnKey } from '../../platform/http/limits/limits.ts'
import { nextSlice } from '../../platform/threads/slices.ts'
import { findCachedHtml, cacheHtml } from './html-cache.ts'
import { renderInThread } from './threads.ts'
import type { Task } from './worker.ts'

/** Increment on every change of the renderer's output. */
const rendererVersion = 1
/** Maximum size of a rendered text in bytes. */
const maxHtmlBytes = 2 * 1024 ** 2

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Rendered HTML, keyed by the hash of the source. */
    texts: string
  }
}

type Caller = Pick<Context, 'caches' | 'database' | 'log' | 'now' | 'viewer' | 'ip' | 'budget'>

/**
 * Renders a Markdown text as sanitized HTML. Each text is rendered once, in a worker thread with a timeout, and cached in the database by its
 * content. A text that takes too long or becomes too large is returned as plain text. With `persist: false`, for drafts, the result is cached in
 * memory only.
 * @throws ApiError ServiceUnavailable when the queue is full or the text waits too long.
 */
export async function renderText(caller: Caller, task: Task, { persist = true } = {}): Promise<string> {
  const hash = keyOf(task)
  let html = caller.caches.texts.get(hash)
  if (html !== undefined) {
    caller.budget?.spendText(Buffer.byteLength(html))
    return html
  }
  let current = inProgress.get(hash)
  if (!current) {
    current = renderOnce(caller, hash, task, persist).finally(() => inProgress.delete(hash))
    inProgress.set(hash, current)
  }
  const mine = yieldAfterLong(current)
  html = await (caller.budget?.uncounted(mine) ?? mine)
  caller.budget?.spendText(Buffer.byteLength(html))
  caller.caches.texts.set(hash, html)
  return html
}

/** Returns the cache key of a text. The text may be long, so it is only hashed. */
const keyOf = ({ source, links }: Task): string =>
  createHash('sha256')
    .update(JSON.stringify([rendererVersion, links]))
    .update(source)
    .digest('hex')

/** Many requests can wait for the same text, and sending a long one takes milliseconds: resume them one after the other. */
async function yieldAfterLong(rendering: Promise<string>): Promise<string> {
  const html = await rendering
  if (html.length > longLength) await nextSlice()
  return html
}
const longLength = 64 * 1024

const inProgress = new Map<string, Promise<string>>()

async function renderOnce(caller: Caller, hash: string, task: Task, persist: boolean): Promise<string> {
  const kept = persist ? await findCachedHtml(caller, hash) : undefined
  if (kept !== undefined) return kept ?? asPlainText(task.source)
  const rendered = await renderInThread(caller.viewer?.id ?? turnKey(caller.ip), task)
  const html = rendered !== null && Buffer.byteLength(rendered) <= maxHtmlBytes ? rendered : null
  if (persist) await cacheHtml(caller, hash, html)
  return html ?? asPlainText(task.source)
}

const asPlainText = (source: string): string =>
  `<p><em>This text takes too long to render, so it is shown as plain text.</em></p>\n<pre><code>${escapeHtml(source)}</code></pre>\n`
