import { answerQuestions } from '../../platform/threads/worker.ts'
import { highlight, loadLanguages } from './highlight.ts'
import { highlightLimits, type Language } from './languages.ts'
import { linkResolver, type Links } from './links.ts'
import { renderMarkdown } from './render.ts'

/** The input of the worker thread, which returns HTML: a Markdown text, or code, of which every line is a line of the result. */
export type Task = TextTask | CodeTask
export type TextTask = { source: string; links: Links }
export type CodeTask = { source: string; language: Language }

answerQuestions((task: Task) => ('links' in task ? renderMarkdown(task.source, linkResolver(task.links)) : highlightCode(task)))

async function highlightCode({ source, language }: CodeTask): Promise<string> {
  const loaded = await loadLanguages([language])
  return highlight(loaded, source, language, performance.now() + highlightLimits.milliseconds).join('\n')
}
