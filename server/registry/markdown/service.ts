import type { EntityManager } from '@mikro-orm/sql'
import escapeHtml from 'escape-html'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '../../platform/access/context.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { isRejectedForMove } from '../../platform/db/unavailable.ts'
import { turnOf } from '../../platform/http/limits.ts'
import { yieldToEventLoop } from '../../platform/threads/slices.ts'
import { nullIfFailed, openTaskQueue, type TaskQueue } from '../../platform/threads/task-queue.ts'
import type { Services } from '../../services.ts'
import { RenderedText } from './entity.ts'
import { escapeCode, highlightLimits, type Language, languageOfFile, splitLines } from './languages.ts'
import type { CodeTask, Task, TextTask } from './worker.ts'

/** Increment on every change of the renderer's output. */
const rendererVersion = 7
/** Maximum size of a rendered text in bytes. */
const maxHtmlBytes = 2 * 1024 ** 2

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Rendered HTML, keyed by the hash of the source. */
    texts: string
  }
}

declare module '../../services.ts' {
  interface State {
    /** Texts that are being rendered, by the hash of the source. */
    renderings?: Map<string, Promise<string>>
    /** Number of texts that were cached. */
    renderedTexts?: number
    renderingQueue?: TaskQueue
  }
}

type Caller = Pick<Context, 'caches' | 'database' | 'log' | 'now' | 'state' | 'viewer' | 'ip' | 'budget'>

/**
 * Renders a Markdown text as sanitized HTML. Each text is rendered once, in a worker thread with a timeout, and cached in the database by its
 * content. A text that takes too long or becomes too large is returned as plain text. With `persist: false`, for drafts, the result is cached in
 * memory only.
 * @throws ApiError ServiceUnavailable when the queue is full or the text waits too long.
 */
export const renderText = (caller: Caller, task: TextTask, { persist = true } = {}): Promise<string> => cachedHtml(caller, task, persist)

/**
 * Highlights a source file or a part of it. Returns the HTML of each line, without line breaks: escaped text, in which tokens are `<span>` elements
 * with classes such as `hl-k` (`web/document.css` has their colors). The language follows from the name of the file in `path`, unless it is given.
 * Files of an unknown language, and files that are too large or take too long, have no colors. Cached by content, like rendered texts.
 * @throws ApiError ServiceUnavailable when the queue is full or the file waits too long.
 */
export async function highlightLines(caller: Caller, { source, path, language = languageOfFile(path) }: SourceFile): Promise<string[]> {
  if (language === null || source.length > highlightLimits.characters) return splitLines(source).map(escapeCode)
  return (await cachedHtml(caller, { source, language }, true)).split('\n')
}
type SourceFile = { source: string; path: string; language?: Language | null }

async function cachedHtml(caller: Caller, task: Task, persist: boolean): Promise<string> {
  const hash = keyOf(task)
  let html = caller.caches.texts.get(hash)
  if (html !== undefined) {
    caller.budget?.spendText(Buffer.byteLength(html))
    return html
  }
  const renderings = (caller.state.renderings ??= new Map<string, Promise<string>>())
  let current = renderings.get(hash)
  if (!current) {
    current = renderOnce(caller, hash, task, persist).finally(() => renderings.delete(hash))
    renderings.set(hash, current)
  }
  const mine = yieldAfterLong(current)
  html = await (caller.budget?.uncounted(mine) ?? mine)
  caller.budget?.spendText(Buffer.byteLength(html))
  caller.caches.texts.set(hash, html)
  return html
}

const keyOf = (task: Task): string =>
  createHash('sha256')
    .update(JSON.stringify([rendererVersion, 'links' in task ? task.links : task.language]))
    .update(task.source)
    .digest('hex')

/** Many requests can wait for the same text, and sending a long one takes milliseconds: resume them one after the other. */
async function yieldAfterLong(rendering: Promise<string>): Promise<string> {
  const html = await rendering
  if (html.length > longLength) await yieldToEventLoop()
  return html
}
const longLength = 64 * 1024

async function renderOnce(caller: Caller, hash: string, task: Task, persist: boolean): Promise<string> {
  const kept = persist ? await findCachedHtml(caller, hash) : undefined
  if (kept !== undefined) return kept ?? asPlainText(task)
  const rendered = await renderInThread(caller, task)
  if (rendered === null && 'links' in task && /^ *(```|~~~)/m.test(task.source)) {
    // Without colors, a document takes less time. The result is not persisted, because a document near the limit may have colors the next time.
    const plain = await renderInThread(caller, { ...task, withoutColors: true })
    if (plain !== null && Buffer.byteLength(plain) <= maxHtmlBytes) return plain
  }
  const html = rendered !== null && Buffer.byteLength(rendered) <= maxHtmlBytes ? rendered : null
  if (persist) await cacheHtml(caller, hash, html)
  return html ?? asPlainText(task)
}

const asPlainText = (task: Task): string => ('links' in task ? plainDocument(task) : plainCode(task))
const plainCode = ({ source }: CodeTask): string => splitLines(source).map(escapeCode).join('\n')
const plainDocument = ({ source }: TextTask): string =>
  `<p><em>This text takes too long to render, so it is shown as plain text.</em></p>\n<pre><code>${escapeHtml(source)}</code></pre>\n`

// A thread takes about 50 MB with the grammars of a README. Normal texts take milliseconds to render. Of the deadline, up to a second is for the
// grammars of a text with many languages, and up to 0.9 s for its colors.
const queueOf = ({ state }: Pick<Context, 'state'>): TaskQueue =>
  (state.renderingQueue ??= openTaskQueue(new URL('./worker.ts', import.meta.url), {
    deadlineMs: 3000,
    idleMs: 30_000,
    heapMb: 192,
    waiting: 1000,
    // The number of texts that a single GraphQL query can request within its cost limit. The bytes per query are limited separately.
    waitingPerKey: 500,
    maxWaitMs: 10_000,
    full: 'Too many texts are waiting to be rendered. Try again in a moment.',
    failed: 'The text could not be rendered. Try again in a minute.',
  }))

/**
 * Renders Markdown in a worker thread. Callers take turns, and each text has a timeout, so that a slow text does not delay others. Returns null for a
 * text that takes too long or too much memory.
 * @throws ApiError ServiceUnavailable when the queue is full, the text waits too long, or no thread can be started.
 */
const renderInThread = async (caller: Caller, task: Task): Promise<string | null> =>
  z
    .string()
    .nullable()
    .parse(await queueOf(caller).run(turnOf(caller), task).catch(nullIfFailed))

type Store = Pick<Services, 'database' | 'log' | 'now' | 'state'>

/** Maximum size of the cached HTML. Beyond it, the oldest entries are deleted; rendering a text again takes milliseconds. */
const maxBytes = 256 * 1024 ** 2
/** Number of new texts after which the total size is checked. */
const trimEvery = 100
/** Time after which a text that took too long is rendered again, because CPU times vary. */
const retryMs = 24 * 3_600_000

/** Returns the cached HTML of a text. Returns null for a text that recently took too long, and undefined for a text that is not cached. */
export async function findCachedHtml({ database, now }: Pick<Store, 'database' | 'now'>, hash: string): Promise<string | null | undefined> {
  const row = await database.reads.get(htmlOf, hash)
  if (!row || row.html !== null) return row?.html
  return row.created_at.getTime() + retryMs > now().getTime() ? null : undefined
}
const htmlOf = prepared((hash: string) => db.selectFrom('rendered_texts').select(['html', 'created_at']).where('hash', '=', hash))

/** Caches the HTML of a text. Failures are only logged, because the text can be rendered again. */
export async function cacheHtml(store: Store, hash: string, html: string | null): Promise<void> {
  const { database, log, now, state } = store
  try {
    const em = database.fork()
    await em.upsert(RenderedText, { hash, html, bytes: html === null ? 0 : Buffer.byteLength(html), createdAt: now() })
    state.renderedTexts = (state.renderedTexts ?? 0) + 1
    if (state.renderedTexts % trimEvery === 0) await trimRendered(em, maxBytes)
  } catch (error) {
    if (!isRejectedForMove(error)) log.warning(`a rendered text could not be cached: ${String(error)}`)
  }
}

/** Deletes the oldest entries until at most `limit` bytes are cached. */
export async function trimRendered(em: EntityManager, limit: number): Promise<void> {
  const newest = db
    .selectFrom('rendered_texts')
    .select('hash')
    .select(({ fn }) =>
      fn
        .sum<number>('bytes')
        .over((over) => over.orderBy('created_at', 'desc').orderBy('hash'))
        .as('held'),
    )
  const excess = db.selectFrom(newest.as('newest')).select('hash').where('held', '>', limit)
  await changeRows(em, db.deleteFrom('rendered_texts').where('hash', 'in', excess))
}
