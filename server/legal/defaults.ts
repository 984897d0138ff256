import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LegalKind } from './entity.ts'

const texts = new Map<LegalKind, string>()

/** The built-in text of a legal page, until the owner writes another. */
export function defaultMarkdown(kind: LegalKind): string {
  let text = texts.get(kind)
  if (text === undefined) texts.set(kind, (text = readFileSync(join(import.meta.dirname, `${kind}.md`), 'utf8')))
  return text
}
