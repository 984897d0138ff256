import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LegalKind } from './entity.ts'

const texts = new Map<LegalKind, string>()

/** Returns the built-in text of a legal page, which is shown until the owner replaces it. */
export function defaultMarkdown(kind: LegalKind): string {
  let text = texts.get(kind)
  if (text === undefined) texts.set(kind, (text = readFileSync(join(import.meta.dirname, `${kind}.md`), 'utf8')))
  return text
}
