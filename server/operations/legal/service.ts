import { audit } from '../../accounts/audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { renderText } from '../../registry/markdown/service.ts'
import type { Services } from '../../services.ts'
import { LegalDocument, type LegalKind } from './entity.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Maximum size of a legal page, in bytes of UTF-8. */
export const maxLegalBytes = 256 * 1024

/** A legal page. `updatedAt` is null for the built-in text. */
export type LegalText = { kind: LegalKind; markdown: string; isCustom: boolean; updatedAt: Date | null }

export const titles: Record<LegalKind, string> = { privacy: 'privacy policy', terms: 'terms of use' }

/** Returns a legal page: the owner's text, or else the built-in one. */
export async function readLegalDocument({ database }: Pick<Services, 'database'>, kind: LegalKind): Promise<LegalText> {
  const row = await database.reads.recall(textOf, kind)
  return row ? { kind, isCustom: true, ...row } : builtIn(kind)
}

const textOf = prepared((kind: LegalKind) =>
  db.selectFrom('legal_documents').select(['markdown', 'updated_at as updatedAt']).where('kind', '=', kind),
)

/** Replaces the text of a legal page. An empty text restores the built-in one. An unchanged text has no effect. */
export async function updateLegalDocument(context: SignedInContext, kind: LegalKind, markdown: string): Promise<LegalText> {
  if (markdown === '') return resetLegalDocument(context, kind)
  const { em, viewer, ip, now } = context
  return em.fork().transactional(async (inner) => {
    const before = await inner.findOne(LegalDocument, { kind })
    const updatedAt = before?.markdown === markdown ? before.updatedAt : now()
    if (updatedAt !== before?.updatedAt) {
      await inner.upsert(LegalDocument, { kind, markdown, updatedAt })
      const summary = `${viewer.displayName} changed the ${titles[kind]}`
      audit(inner, { kind: 'server.legal_updated', actor: viewer, summary, ip })
    }
    return { kind, markdown, isCustom: true, updatedAt }
  })
}

/** Restores the built-in text of a legal page. */
export async function resetLegalDocument({ em, viewer, ip }: SignedInContext, kind: LegalKind): Promise<LegalText> {
  await em.fork().transactional(async (inner) => {
    if (!(await inner.nativeDelete(LegalDocument, { kind }))) return
    const summary = `${viewer.displayName} restored the built-in ${titles[kind]}`
    audit(inner, { kind: 'server.legal_updated', actor: viewer, summary, ip })
  })
  return builtIn(kind)
}

/** Renders a legal page as sanitized HTML. Relative links are resolved within the site; links to other sites must be absolute. */
export const renderLegal = (context: Context, markdown: string, options?: { persist: boolean }): Promise<string> =>
  renderText(context, { source: markdown, links: { kind: 'site', serverUrl: context.config.SERVER_URL } }, options)

const builtIn = (kind: LegalKind): LegalText => ({ kind, markdown: defaultMarkdown(kind), isCustom: false, updatedAt: null })

/** Returns the built-in text of a legal page, which is shown until the owner replaces it. */
export const defaultMarkdown = (kind: LegalKind): string => builtInTexts[kind]

const readBuiltIn = (kind: LegalKind): string => readFileSync(join(import.meta.dirname, `${kind}.md`), 'utf8')
const builtInTexts: Record<LegalKind, string> = { privacy: readBuiltIn('privacy'), terms: readBuiltIn('terms') }
