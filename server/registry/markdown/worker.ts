import { answerQuestions } from '../../platform/threads/worker.ts'
import { linkResolver, type Links } from './links.ts'
import { renderMarkdown } from './render.ts'

/** The input of the worker thread, which returns HTML. */
export type Task = { source: string; links: Links }

answerQuestions(({ source, links }: Task) => renderMarkdown(source, linkResolver(links)))
