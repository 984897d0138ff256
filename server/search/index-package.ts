import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { type DocumentTerms, documentTerms } from './terms.ts'

/** What search shows and finds of a package: the texts of its latest version. */
export type SearchDocument = {
  packageId: string
  name: string
  description: string
  topics: readonly string[]
  readme: string | null
  createdAt: Date
  updatedAt: Date
}

/**
 * Puts a package into the index, or its new texts in place of the old ones, in the transaction of `em`. The package's own row must be
 * flushed before. The cost depends on the texts alone, not on how many packages there are.
 */
export async function indexPackage(em: EntityManager, document: SearchDocument): Promise<void> {
  const { packageId, name, description, topics, readme, createdAt, updatedAt } = document
  const [row] = await em.execute<{ id: number | string }[]>(
    `insert into package_search_documents (package_id, name, created_at, updated_at) values (?, ?, ?, ?)
     on conflict (package_id) do update set updated_at = excluded.updated_at returning id`,
    [packageId, name, createdAt.getTime(), updatedAt.getTime()],
  )
  if (!row) throw new Error(`No search document for ${name}`)
  const terms = documentTerms(name, description, topics, readme ?? '')
  await (em.getPlatform() instanceof BasePostgreSqlPlatform ? storeVectors(em, row.id, terms) : storeTexts(em, row.id, name, terms))
}

/** Tells the index that a package changed without its latest version doing so. */
export async function touchIndex(em: EntityManager, packageId: string, updatedAt: Date): Promise<void> {
  await em.execute('update package_search_documents set updated_at = ? where package_id = ?', [updatedAt.getTime(), packageId])
}

/** Takes a package out of the index. Deleting the package itself does so, too. */
export async function removeFromIndex(em: EntityManager, packageId: string): Promise<void> {
  await em.execute('delete from package_search_documents where package_id = ?', [packageId])
}

async function storeTexts(
  em: EntityManager,
  id: number | string,
  name: string,
  { words, parts, description, topics, all }: DocumentTerms,
): Promise<void> {
  const brief = [words, parts, description, topics].map((terms) => terms.join(' '))
  await em.execute('insert or replace into package_search_brief (rowid, words, parts, description, topics) values (?, ?, ?, ?, ?)', [
    id,
    ...brief,
  ])
  await em.execute('insert or replace into package_search_full (rowid, terms) values (?, ?)', [id, all.join(' ')])
  await em.execute('insert or replace into package_search_trigrams (rowid, name) values (?, ?)', [id, name])
}

async function storeVectors(em: EntityManager, id: number | string, terms: DocumentTerms): Promise<void> {
  for (const [table, vector] of [
    ['package_search_brief', labelled(terms)],
    ['package_search_full', terms.all.map(quoted).join(' ')],
  ]) {
    await em.execute(
      `insert into ${table} as stored (id, terms) values (?, ?::tsvector)
       on conflict (id) do update set terms = excluded.terms where stored.terms <> excluded.terms`,
      [id, vector],
    )
  }
}

const quoted = (term: string) => `'${term}'`

/** Every term with its position and the label of its text (server/search/dialects.ts). */
function labelled({ words, parts, description, topics }: DocumentTerms): string {
  const terms = [words, description, topics, parts].flatMap((list, text) => list.map((term) => ({ term, label: 'ACDB'[text] })))
  return terms
    .slice(0, 16_000)
    .map(({ term, label }, index) => `'${term}':${index + 1}${label}`)
    .join(' ')
}
