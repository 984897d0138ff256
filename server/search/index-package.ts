import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { changeRows, readRow, readRows } from '../db/statements.ts'
import { everyTerm, type Tag, tagTerm, unlistedTerm } from './tags.ts'
import { type DocumentTerms, documentTerms, type IndexedTexts, spellingTerms, summaryOf } from './terms.ts'

/**
 * Who may find a package: 0 nobody but who administers it, 1 whoever signed in, 2 everybody (server/search/dialects.ts, `isWithin`). What others
 * find of a public package that has 1 is its excerpt.
 */
export type ShownTo = 0 | 1 | 2

/** What search shows and finds of a package: its tags, and the texts of its latest version. */
export type SearchDocument = IndexedTexts & {
  packageId: string
  tags: readonly Tag[]
  shownTo: ShownTo
  /** The share of points that its latest version got, from 0 to 100; null without a report. */
  score?: number | null
  createdAt: Date
  updatedAt: Date
}

/**
 * Puts a document into the index, or in place of the old one, in the transaction of `em`. The package's own row must be flushed before.
 * The cost depends on the texts alone, not on how many packages there are.
 */
export async function storeDocument(em: EntityManager, document: SearchDocument): Promise<void> {
  const { packageId, name, tags, shownTo, score, createdAt, updatedAt } = document
  const terms = documentTerms(document)
  const row = await readRow<{ id: number | string }>(
    em,
    `insert into package_search_documents (package_id, name, created_at, updated_at, shown_to, score, tags, summary) values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (package_id) do update set name = excluded.name, created_at = excluded.created_at, updated_at = excluded.updated_at,
       shown_to = excluded.shown_to, score = excluded.score, tags = excluded.tags, summary = excluded.summary returning id`,
    [packageId, name, createdAt.getTime(), updatedAt.getTime(), shownTo, score ?? -1, ` ${tags.join(' ')} `, summaryOf(terms)],
  )
  if (!row) throw new Error(`No search document for ${name}`)
  await storeTerms(em, 'package_search', row.id, { terms, tags, marks: shownTo === 0 ? [unlistedTerm] : [] })
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform))
    await changeRows(em, 'insert or replace into package_search_trigrams (rowid, name) values (?, ?)', [row.id, name])
}

/** Which index: of documents, or of excerpts (excerpts.ts). */
type Index = 'package_search' | 'package_search_excerpts'

/** What is looked for in a document. `marks`: terms beyond those of its tags. */
type Indexed = { terms: DocumentTerms; tags: readonly Tag[]; marks?: readonly string[] }

/** Writes the terms of the document with this number, or in place of the old ones. */
export async function storeTerms(
  em: EntityManager,
  index: Index,
  id: number | string,
  { terms, tags, marks = [] }: Indexed,
): Promise<void> {
  const tagTerms = [everyTerm, ...marks, ...tags.map(tagTerm)]
  await (em.getPlatform() instanceof BasePostgreSqlPlatform
    ? storeVectors(em, index, id, terms, tagTerms)
    : storeTexts(em, index, id, terms, tagTerms))
}

/**
 * Locks a package's entry until the end of the transaction, with an empty one made first where there is none. Call it before reading what the
 * entry is made of: then whoever comes second reads what the first has changed. SQLite has one writer anyway.
 */
export async function lockEntry(em: EntityManager, packageId: string): Promise<void> {
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform)) return
  const lock = () => readRows(em, 'select id from package_search_documents where package_id = ? for update', [packageId])
  if ((await lock()).length > 0) return
  await changeRows(
    em,
    `insert into package_search_documents (package_id, name, created_at, updated_at, shown_to, tags)
     select id, name, 0, 0, 0, ' ' from packages where id = ? on conflict do nothing`,
    [packageId],
  )
  await lock()
}

/**
 * The same for the packages that the subquery selects, in one statement and in the order of their ids, so that two who lock several never wait
 * for each other in a circle. Gives the packages that had no entry: what it says is still to be written.
 */
export async function lockEntries(em: EntityManager, packages: string, parameters: readonly string[]): Promise<string[]> {
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform)) return []
  // An existing row is locked before PostgreSQL looks at the condition, and not written.
  const rows = await em.execute<{ package_id: string }[]>(
    `insert into package_search_documents as d (package_id, name, created_at, updated_at, shown_to, tags)
     select id, name, 0, 0, 0, ' ' from packages where id in (${packages}) order by id
     on conflict (package_id) do update set tags = d.tags where false returning package_id`,
    [...parameters],
  )
  return rows.map((row) => row.package_id)
}

/** Tells the index that a package changed without its latest version or its tags doing so. */
export async function touchIndex(em: EntityManager, packageId: string, updatedAt: Date): Promise<void> {
  await changeRows(em, 'update package_search_documents set updated_at = ? where package_id = ?', [updatedAt.getTime(), packageId])
}

/** Takes a package out of the index. Deleting the package itself does so, too. */
export async function removeFromIndex(em: EntityManager, packageId: string): Promise<void> {
  await changeRows(em, 'delete from package_search_documents where package_id = ?', [packageId])
}

async function storeTexts(em: EntityManager, index: Index, id: number | string, terms: DocumentTerms, tagTerms: string[]): Promise<void> {
  const { words, parts, description, topics, all } = terms
  const brief = [words, parts, description, topics, [...tagTerms, ...words.flatMap(spellingTerms)]].map((list) => list.join(' '))
  await changeRows(em, `insert or replace into ${index}_brief (rowid, words, parts, description, topics, tags) values (?, ?, ?, ?, ?, ?)`, [
    id,
    ...brief,
  ])
  await changeRows(em, `insert or replace into ${index}_full (rowid, terms) values (?, ?)`, [id, [...all, ...tagTerms].join(' ')])
}

async function storeVectors(em: EntityManager, index: Index, id: number | string, terms: DocumentTerms, tagTerms: string[]): Promise<void> {
  const tags = tagTerms.map(quoted).join(' ')
  const vectors = {
    [`${index}_brief`]: `${labelled(terms)} ${tags} ${terms.words.flatMap(spellingTerms).map(quoted).join(' ')}`,
    [`${index}_full`]: `${terms.all.map(quoted).join(' ')} ${tags}`,
  }
  for (const [table, vector] of Object.entries(vectors)) {
    await changeRows(
      em,
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
