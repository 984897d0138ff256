import { parentPort } from 'node:worker_threads'
import { giveWay } from '../threads/low-priority.ts'
import { linkResolver, type Links } from './links.ts'
import { renderMarkdown } from './render.ts'

/** What the thread is asked for. It answers with the HTML, one text at a time. */
export type Task = { source: string; links: Links }

// Requests come before texts.
giveWay()

parentPort?.on('message', ({ source, links }: Task) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort?.postMessage(renderMarkdown(source, linkResolver(links)))
})
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
parentPort?.postMessage('ready')
