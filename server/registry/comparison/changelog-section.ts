import type { Context } from '../../platform/access/context.ts'
import { compareParsed, known } from '../../platform/pub/version.ts'
import { findDocument, readSource, renderDocument } from '../packages/versions/documents.ts'
import { changelogBetween, type ChangelogExcerpt } from './changelog.ts'
import type { Comparison } from './service.ts'

export type ChangelogSection = ChangelogExcerpt & { path: string; render: (context: Context) => Promise<string> }

/** Returns the part of the higher version's changelog about the versions between the two, or null. */
export async function changelogOf(context: Context, { from, to }: Comparison): Promise<ChangelogSection | null> {
  const [lower, higher] = compareParsed(known(from.version), known(to.version)) < 0 ? [from, to] : [to, from]
  const document = await findDocument(context, higher, 'changelog')
  if (!document) return null
  const excerpt = changelogBetween(await readSource(context, document), lower.version, higher.version)
  return excerpt && { ...excerpt, path: document.path, render: (reader) => renderDocument(reader, document, excerpt.source) }
}
