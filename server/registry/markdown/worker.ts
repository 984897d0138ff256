import { answerQuestions } from '../../platform/threads/worker.ts'
import { highlight, loadLanguages, maxLanguages, spentCpu } from './highlight.ts'
import { escapeCode, highlightLimits, type CodeBlock, type Language, splitLines } from './languages.ts'
import { linkResolver, type Links } from './links.ts'
import { renderDocument } from './render.ts'

/** The input of the worker thread, which returns HTML: a Markdown text, or code, of which every line is a line of the result. */
export type Task = TextTask | CodeTask
/** With `withoutColors`, code blocks are not highlighted. */
export type TextTask = { source: string; links: Links; withoutColors?: true }
export type CodeTask = { source: string; language: Language }

// Loading the highlighter and the grammar of most code blocks is part of the start, which has no deadline.
highlight(await loadLanguages(['dart']), 'final a = 1;', 'dart')
answerQuestions((task: Task) => ('links' in task ? renderTask(task) : highlightCode(task)))

const renderTask = ({ source, links, withoutColors }: TextTask): Promise<string> =>
  renderDocument(source, linkResolver(links), withoutColors ? null : highlightBlocks)

async function highlightCode({ source, language }: CodeTask): Promise<string> {
  const loaded = await loadLanguages([language])
  return highlight(loaded, source, language, spentCpu() + highlightLimits.milliseconds).join('\n')
}

/** Highlights the code blocks of a document. All of them together have the time of one file; blocks after that have no colors. */
async function highlightBlocks(blocks: CodeBlock[]): Promise<string[]> {
  const languages = new Set([...new Set(blocks.map(({ language }) => language))].slice(0, maxLanguages))
  const loaded = await loadLanguages(languages)
  const deadline = spentCpu() + highlightLimits.milliseconds
  return blocks.map(({ code, language }) => {
    const lines = languages.has(language) ? highlight(loaded, code, language, deadline) : splitLines(code).map(escapeCode)
    return `${lines.join('\n')}\n`
  })
}
