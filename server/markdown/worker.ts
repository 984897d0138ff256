import { answerQuestions } from '../threads/answer.ts'
import { linkResolver, type Links } from './links.ts'
import { renderMarkdown } from './render.ts'

/** What the thread is asked for. It answers with the HTML. */
export type Task = { source: string; links: Links }

answerQuestions(({ source, links }: Task) => renderMarkdown(source, linkResolver(links)))
